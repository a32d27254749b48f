"""Embeddings kept by content: in this process first, then in the database, computed once for a whole deployment.

Reading never waits for a model: `look_up` gives what is known and names what is not, and `embed_cached` is for those
who can wait (ingestion, jobs). The first vector stored for a text stays its vector, so that two machines whose
processors differ in the last bit still compose the same document.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ukai import store
from ukai.kit.errors import PermanentError
from ukai.llm import rows
from ukai.llm.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

REMEMBERED = 20_000
"""Vectors in this process; 384 dimensions make 30 MB of them."""
PIECE = 2_000
"""Vectors that are read at once: 3 MB, so that others get their turn."""
BATCH = 256
"""Texts that are embedded before their vectors are stored: what a crash can lose is some seconds of work."""


class WrongVector(PermanentError):
    """An embedder gave something else than one vector of finite numbers a text, of the length that it says."""


@dataclass(frozen=True, kw_only=True)
class LookUp:
    """What is known about some texts."""

    vectors: NDArray[np.float32]
    """One row a text; zeros where nothing is known."""
    missing: tuple[int, ...]
    """The rows that are zeros."""


class Cache:
    """The vectors of one embedder. One a process: `look_up` of the same text asks the database once."""

    def __init__(self, embedder: Embedder, *, remembered: int = REMEMBERED) -> None:
        self.embedder = embedder
        self._remembered = remembered
        self._near: OrderedDict[bytes, bytes] = OrderedDict()
        self._broken: set[bytes] = set()
        self._lock = Lock()

    def asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions: computed, and kept nowhere.

        Raises WrongVector.
        """
        vectors = np.asarray(self.embedder.embed(texts), np.float32)
        wanted = (len(texts), self.embedder.dimensions)
        if vectors.shape != wanted or not _is_finite(vectors).all():
            raise WrongVector(
                f"{self.embedder.model_id!r} gave vectors of shape {vectors.shape}, expected finite ones of {wanted}",
                hint="The files of the model are damaged, or belong to another one; fetch them again",
            )
        return vectors

    async def look_up(self, tx: store.Transaction, texts: Sequence[str]) -> LookUp:
        """What is known; nothing is computed. Works inside a snapshot."""
        return await self.known(tx, [content_of(text) for text in texts])

    async def known(self, tx: store.Transaction, contents: Sequence[bytes]) -> LookUp:
        """The same for texts that are named by their `content_of`."""
        vectors = await _zeros(len(contents), self.embedder.dimensions)
        is_known = np.zeros(len(contents), bool)
        # Of more than have room here nothing is kept: it would only drive out what others ask for.
        is_kept = len(contents) <= self._remembered
        if is_kept:
            recalled = self._recall(contents)
            for place, content in enumerate(contents):
                if content in recalled:
                    vectors[place], is_known[place] = np.frombuffer(recalled[content], "<f4"), True
        places = np.flatnonzero(~is_known)
        each, first, number = _distinct([contents[place] for place in places.tolist()])
        firsts, twins = places[first], places[first][number]
        for start in range(0, len(firsts), PIECE):
            asked = each[start : start + PIECE]
            found, read = await self._read(tx, _each(asked.tobytes()))
            at = firsts[start + np.searchsorted(asked, _hashes(found))]
            vectors[at], is_known[at] = read, True
            if is_kept:
                self._remember({content: vector.tobytes() for content, vector in zip(found, read, strict=True)})
        again = twins != places
        vectors[places[again]], is_known[places[again]] = vectors[twins[again]], is_known[twins[again]]
        return LookUp(vectors=vectors, missing=tuple(np.flatnonzero(~is_known).tolist()))

    async def _read(self, tx: store.Transaction, contents: Sequence[bytes]) -> tuple[list[bytes], NDArray[np.float32]]:
        """Those that the database has, and one row for each. What is no vector of this model is not there."""
        width = self.embedder.dimensions
        found, raw, others = await rows.vectors(tx, self.embedder.model_id, contents, 4 * width)
        each, read = _each(found), np.frombuffer(raw, "<f4").reshape(-1, width)
        self._broken.update(_each(others))
        is_whole = _is_finite(read)
        if is_whole.all():
            return each, read
        self._broken.update(each[at] for at in np.flatnonzero(~is_whole).tolist())
        return [each[at] for at in np.flatnonzero(is_whole).tolist()], read[is_whole]

    def broken(self) -> list[bytes]:
        """The hashes of texts whose stored vectors were met and are none, told once: `embed_cached` makes others."""
        met, self._broken = list(self._broken), set()
        return met

    async def missing(self, tx: store.Transaction, texts: Sequence[str]) -> list[str]:
        """The texts without a vector, each once, in order: what a job has to embed."""
        found = await self.look_up(tx, texts)
        return list(dict.fromkeys(texts[i] for i in found.missing))

    async def embed_cached(self, db: store.Database, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text; what is missing is computed in a thread and stored. No transaction is open meanwhile."""
        async with db.snapshot() as tx:
            found = await self.look_up(tx, texts)
        todo = list({content_of(texts[i]): texts[i] for i in found.missing}.values())
        for start in range(0, len(todo), BATCH):
            await self._compute(db, todo[start : start + BATCH])
        if not todo:
            return found.vectors
        async with db.snapshot() as tx:
            return (await self.look_up(tx, texts)).vectors

    async def _compute(self, db: store.Database, texts: Sequence[str]) -> None:
        vectors = await asyncio.to_thread(self.asked, texts)
        packed = np.ascontiguousarray(vectors, dtype="<f4")
        new = {content_of(text): packed[i].tobytes() for i, text in enumerate(texts)}
        broken = [content for content in new if content in self._broken]
        async with db.transaction() as tx:
            if broken:
                await rows.forget(tx, self.embedder.model_id, broken)
            await rows.keep(tx, self.embedder.model_id, new)
        self._broken.difference_update(broken)

    def _recall(self, contents: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            known = {content: self._near[content] for content in contents if content in self._near}
            for content in known:
                self._near.move_to_end(content)
        return known

    def _remember(self, new: dict[bytes, bytes]) -> None:
        with self._lock:
            self._near |= new
            while len(self._near) > self._remembered:
                self._near.popitem(last=False)


def _is_finite(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.logical_and.reduce(np.isfinite(vectors), axis=1)


def is_vector(raw: bytes, dimensions: int) -> bool:
    """Whether a stored vector is one of a model with so many dimensions."""
    return len(raw) == 4 * dimensions and bool(np.isfinite(np.frombuffer(raw, "<f4")).all())


def _hashes(contents: Sequence[bytes]) -> NDArray[np.bytes_]:
    return np.frombuffer(b"".join(contents), "S32")


def _each(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + 32] for at in range(0, len(hashes), 32)]


def _distinct(contents: Sequence[bytes]) -> tuple[NDArray[np.bytes_], NDArray[np.int64], NDArray[np.int64]]:
    """Each once and in order, where it stands first, and for each of `contents` the number of its own among them."""
    return np.unique(_hashes(contents), return_index=True, return_inverse=True)


async def _zeros(count: int, width: int) -> NDArray[np.float32]:
    """Memory that is there already: the first touch of much of it takes long, so that it is made in a thread."""
    made = np.empty((count, width), np.float32)
    await asyncio.to_thread(made.fill, 0) if count > PIECE else made.fill(0)
    return made


def content_of(text: str) -> bytes:
    """The sha256 under which a text's vector is kept. Half a surrogate pair counts as itself."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

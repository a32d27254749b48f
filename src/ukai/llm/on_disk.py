"""Vectors kept in a file by content, for work without a database: a text is embedded once, whoever asks again.

One file a model, `<folder>/<model>.vectors`: records of 32 bytes sha256 and the vector as little-endian float32. It
only grows, whole records at a time and under a lock; what a crash left of a record is cut off by the next writer.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukai.llm.cache import content_of
from ukai.llm.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 256
"""Texts that are embedded before their vectors are written: what a crash can lose is some seconds of work."""
_KEY = 32
Progress = Callable[[int, int], None]


def default_folder() -> Path:
    """`ukai/vectors` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ukai" / "vectors"


class OnDisk:
    """An embedder that asks another one for what its file does not hold."""

    def __init__(self, embedder: Embedder, folder: Path, *, progress: Progress | None = None) -> None:
        """`progress` is told how many of the missing texts are embedded, and of how many."""
        self._embedder = embedder
        self._progress: Progress = progress or _silent
        self._record = np.dtype([("key", f"S{_KEY}"), ("vector", "<f4", (embedder.dimensions,))])
        self._path = folder / f"{re.sub('[^A-Za-z0-9_.-]+', '_', embedder.model_id)}.vectors"
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self._read = 0

    @property
    def model_id(self) -> str:
        """That of the embedder behind."""
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        """Those of the embedder behind."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text. Texts without a vector are embedded, each once, and kept."""
        keys = [content_of(text) for text in texts]
        self._load()
        todo = list({key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}.items())
        for start in range(0, len(todo), BATCH):
            some = todo[start : start + BATCH]
            self._keep([key for key, _ in some], self._embedder.embed([text for _, text in some]))
            self._progress(start + len(some), len(todo))
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.vstack([self._known[key] for key in keys])

    def _load(self) -> None:
        """What other processes have written meanwhile counts too."""
        if not self._path.exists():
            return
        whole = self._path.stat().st_size // self._record.itemsize
        if whole > self._read:
            found = np.fromfile(
                self._path, self._record, count=whole - self._read, offset=self._read * self._record.itemsize
            )
            # A key that ends in zeros comes back without them: that is how numpy reads bytes.
            self._known |= {bytes(row["key"]).ljust(_KEY, b"\0"): row["vector"] for row in found}
            self._read = whole

    def _keep(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        rows = np.zeros(len(keys), self._record)
        rows["key"], rows["vector"] = keys, vectors
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            file.truncate(size - size % self._record.itemsize)
            file.seek(0, os.SEEK_END)
            file.write(rows.tobytes())
        self._known |= dict(zip(keys, vectors, strict=True))


def _silent(done: int, of: int) -> None:
    pass

"""Search over passages: BM25 and cosine over the ones the reader may read, mixed as z-scores.

`score = w z(BM25 + c BM25 of the surroundings) + (1 - w) z(cosine) + names`. Every statistic is taken over readable
passages only, so that no score, order or count tells of another. Source: docs/design/search.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL, OwningEdge, Record, Rights
from ukai.context import rows
from ukai.kit import bm25, words
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS, AROUND, NEIGHBOUR = 0.4, 0.4, 0.85
"""Weight of words against meaning; of the surroundings; of a neighbour's meaning (docs/design/search.md)."""
WHOLE_SCOPE = 10_000
"""Up to this many readable passages all of them are scored; above, those that share a word with the question."""
CANDIDATES = 2_000
"""How many that are."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Under whose rights is read, and along which edges these pass."""

    rights: Rights
    owning: tuple[OwningEdge, ...]

    @property
    def clause(self) -> rows.Clause:
        """True for readable rows of `node n`."""
        return self.rights.sql("n", self.owning)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage with what speaks for it. `record` is the record as the reader may see it."""

    found: rows.Found
    record: Record
    score: float
    lexical: float
    cosine: float

    @property
    def handle(self) -> str:
        return f"{self.record.handle}/{self.found.part}"


async def search(
    tx: store.Transaction,
    question: str,
    *,
    reader: Reader,
    cache: Cache | None,
    limit: int,
    types: Sequence[str] | None = None,
    near: str = "",
) -> list[Hit]:
    """The best `limit` passages for `question`, best first; ties in the order of their handles.

    `tx` is one snapshot. `types` narrows to these types, `near` to passages whose record's path has this word in it.
    """
    found = await _scope(tx, question, reader)
    if types is not None:
        found = [f for f in found if f.type in types]
    if near:
        wanted = set(words.terms(near.replace("-", " ")))
        found = [f for f in found if wanted <= set(words.terms(_place(f)))]
    readable = await _readable(tx, found, reader)
    found = [f for f in found if (r := readable.get(f.node)) is not None and f.field in r.fields]
    if not found:
        return []
    lexical = _lexical(question, found)
    cosine = await _cosine(tx, question, found, cache)
    score = WORDS * _z(lexical) + (1 - WORDS) * _z(cosine) if cosine.any() else _z(lexical)
    best = np.argsort(-score, kind="stable")[:limit]
    return [
        Hit(
            found=found[i],
            record=readable[found[i].node],
            score=float(score[i]),
            lexical=float(lexical[i]),
            cosine=float(cosine[i]),
        )
        for i in map(int, best)
    ]


async def _scope(tx: store.Transaction, question: str, reader: Reader) -> list[rows.Found]:
    clause = reader.clause
    if await rows.count_passages(tx, clause, WHOLE_SCOPE + 1) <= WHOLE_SCOPE:
        return await rows.all_passages(tx, clause)
    found = await rows.matching_passages(tx, clause, words.terms(question), CANDIDATES)
    return sorted(found, key=lambda f: (f.type, f.key, f.ordinal))


async def _readable(tx: store.Transaction, found: Sequence[rows.Found], reader: Reader) -> Mapping[UUID, Record]:
    """The records of `found` with what may be read of them; where the type decides, the passages' fields alone."""
    fixed = {t: reader.rights.reading.fixed(t) for t in {f.type for f in found}}
    result: dict[UUID, Record] = {}
    for f in found:
        fields = fixed[f.type]
        if fields is not None and (fields is ALL or f.field in fields):
            known = result.get(f.node)
            seen = {**(known.fields if known else {}), f.field: None}
            result[f.node] = Record(type=f.type, key=f.key, path=f.path, fields=seen)
    unsure = sorted({f.node for f in found if fixed[f.type] is None})
    if unsure:
        nodes = await rows.nodes(tx, unsure)
        for id, record in (await rows.records(tx, nodes, reader.owning)).items():
            visible = reader.rights.visible(record)
            if visible is not None:
                result[id] = replace(visible, owners=())
    return result


def _lexical(question: str, found: Sequence[rows.Found]) -> NDArray[np.float64]:
    asked = words.terms(question)
    own = [words.terms(f.text) for f in found]
    return bm25.Index(own).scores(asked) + AROUND * bm25.Index(_around(found, own)).scores(asked)


def _around(found: Sequence[rows.Found], own: Sequence[Sequence[str]]) -> list[list[str]]:
    """What stands around a passage: its record's place, who speaks, and its neighbours in the record."""
    around: list[list[str]] = []
    for i, f in enumerate(found):
        near = [*words.terms(_place(f)), *words.terms(f.lead)]
        near += own[i]
        if i and found[i - 1].node == f.node:
            near += own[i - 1]
        if i + 1 < len(found) and found[i + 1].node == f.node:
            near += own[i + 1]
        around.append(near)
    return around


def _place(found: rows.Found) -> str:
    return f"{found.path} {found.key}".translate(_SPACES)


_SPACES = str.maketrans(dict.fromkeys("/-_:.@", " "))


async def _cosine(
    tx: store.Transaction, question: str, found: Sequence[rows.Found], cache: Cache | None
) -> NDArray[np.float64]:
    """Cosine with the question, at least NEIGHBOUR of a neighbour's. 0 where no vector is known yet."""
    if cache is None:
        return np.zeros(len(found))
    known = (await cache.look_up(tx, [f.text for f in found])).vectors.astype(float)
    asked = cache.embedder.embed([question])[0].astype(float)
    own = known @ asked
    best = own.copy()
    for i in range(1, len(found)):
        if found[i].node == found[i - 1].node:
            best[i] = max(best[i], NEIGHBOUR * own[i - 1])
            best[i - 1] = max(best[i - 1], NEIGHBOUR * own[i])
    return best


def _z(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return (x - x.mean()) / (x.std() + 1e-9)

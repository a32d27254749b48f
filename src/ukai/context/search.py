"""Search over passages: BM25 and cosine over the ones the reader may read, mixed as z-scores.

`score = w z(BM25 + c BM25 of the surroundings) + (1 - w) z(cosine)`, and the best by meaning alone are let in too. A
question that names a record is answered from what that record owns; its name is then no word of the question. Every
statistic is taken over readable passages only, so that no score, order or count tells of another.
Source of the weights: docs/design/search.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL, Record
from ukai.context import names, rows
from ukai.context.counted import TITLES
from ukai.context.reader import Reader
from ukai.context.rows import embedded
from ukai.graph import schema
from ukai.kit import bm25, words
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS, AROUND = 0.3, 0.3
"""Weight of words against meaning, and of the surroundings."""
WHOLE_SCOPE = 10_000
"""Up to this many readable passages all of them are scored; above, those that share a word with the question."""
CANDIDATES = 2_000
OWNED = 5_000
"""Records of the named ones that are looked at."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage with what speaks for it."""

    found: rows.Found
    score: float
    lexical: float
    cosine: float
    """0 while its vector is not known, or without a model."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a search came to."""

    asked: str
    """The question without the names in it."""
    named: tuple[names.Named, ...]
    owned: tuple[UUID, ...]
    """The named records and what they own; empty when nothing was named."""
    hits: tuple[Hit, ...]
    considered: int
    """Readable passages that were scored."""


async def search(
    tx: store.Transaction,
    question: str,
    *,
    reader: Reader,
    types: Mapping[str, schema.Type],
    cache: Cache | None,
    limit: int,
    only: Sequence[str] | None = None,
) -> Result:
    """The best `limit` passages for `question`, best first; ties in the order of their handles.

    `tx` is one snapshot. `only` narrows to these types.
    """
    named = await names.named(tx, question, reader=reader, types=types)
    owned = await rows.under(tx, reader.clause, [n.node.id for n in named], reader.owning, OWNED) if named else []
    asked = names.without(question, named)
    near = await _readable(tx, await rows.passages_of(tx, reader.clause, owned), reader, only) if owned else []
    hits = await _ranked(tx, asked, near, cache, limit)
    considered = len(near)
    if len(hits) < limit:
        inside = set(owned)
        scope = await _readable(tx, await _scope(tx, question, reader.passages(types)), reader, only)
        far = [f for f in scope if f.node not in inside]
        hits += await _ranked(tx, question, far, cache, limit - len(hits))
        considered += len(far)
    return Result(asked=asked, named=tuple(named), owned=tuple(owned), hits=tuple(hits), considered=considered)


async def _scope(tx: store.Transaction, question: str, readable: rows.Clause) -> list[rows.Found]:
    """`readable` asks for the field of a passage, too: what is hidden counts nowhere and takes no place."""
    if await rows.count_passages(tx, readable, WHOLE_SCOPE + 1) <= WHOLE_SCOPE:
        return await rows.all_passages(tx, readable)
    found = await rows.matching_passages(tx, readable, words.terms(question), CANDIDATES)
    return sorted(found, key=lambda f: (f.type, f.key, f.ordinal))


async def _readable(
    tx: store.Transaction, found: Sequence[rows.Found], reader: Reader, only: Sequence[str] | None
) -> list[rows.Found]:
    """Those whose field may be read: the type says so, or else the record."""
    wanted = [f for f in found if only is None or f.type in only]
    fixed = {t: reader.rights.reading.fixed(t) for t in {f.type for f in wanted}}
    unsure = sorted({f.node for f in wanted if fixed[f.type] is None})
    seen: Mapping[UUID, Record] = await reader.seen(tx, await rows.nodes(tx, unsure)) if unsure else {}
    readable: list[rows.Found] = []
    for f in wanted:
        fields = fixed[f.type]
        if fields is None:
            record = seen.get(f.node)
            if record is not None and f.field in record.fields:
                readable.append(f)
        elif fields is ALL or f.field in fields:
            readable.append(f)
    return readable


async def _ranked(
    tx: store.Transaction, asked: str, readable: Sequence[rows.Found], cache: Cache | None, limit: int
) -> list[Hit]:
    titles = {f.node: f.text for f in readable if f.field in TITLES}
    more = {f.node for f in readable if f.field not in TITLES}
    # A title stands over its record's other passages: alone it would take a place that they need.
    found = [f for f in readable if f.field not in TITLES or f.node not in more]
    if not found or limit < 1:
        return []
    lexical = _lexical(asked, found, titles)
    cosine = await _cosine(tx, asked, found, cache)
    has_meaning = bool(cosine.any())
    score = WORDS * _z(lexical) + (1 - WORDS) * _z(cosine) if has_meaning else _z(lexical)
    order = _best_first(score)
    # Where words and meaning disagree, the mix favours words; every third place goes to the best by meaning alone.
    order = _woven(order, _best_first(cosine), limit) if has_meaning else order[:limit]
    return [
        Hit(found=found[i], score=float(score[i]), lexical=float(lexical[i]), cosine=float(cosine[i])) for i in order
    ]


def _woven(first: Sequence[int], second: Sequence[int], limit: int) -> list[int]:
    """Two of `first`, one of `second`, and so on, each once."""
    taken: dict[int, None] = {}
    a, b = iter(first), iter(second)
    while len(taken) < min(limit, len(first)):
        source = b if len(taken) % 3 == 2 else a
        taken.setdefault(next(i for i in source if i not in taken))
    return list(taken)


def _lexical(asked: str, found: Sequence[rows.Found], titles: Mapping[UUID, str]) -> NDArray[np.float64]:
    wanted = words.terms(asked)
    own = [words.terms(f.text) for f in found]
    return bm25.Index(own).scores(wanted) + AROUND * bm25.Index(_around(found, own, titles)).scores(wanted)


def _around(found: Sequence[rows.Found], own: Sequence[Sequence[str]], titles: Mapping[UUID, str]) -> list[list[str]]:
    """What stands around a passage: its record's place and title, who speaks, and its neighbours in the record."""
    around: list[list[str]] = []
    for i, f in enumerate(found):
        near = [*words.terms(f"{f.path} {f.key}".translate(_SPACES)), *words.terms(f.lead), *own[i]]
        near += words.terms(titles.get(f.node, ""))
        for j in (i - 1, i + 1):
            if 0 <= j < len(found) and found[j].node == f.node:
                near += own[j]
        around.append(near)
    return around


_SPACES = str.maketrans(dict.fromkeys("/-_:.@", " "))


async def _cosine(
    tx: store.Transaction, asked: str, found: Sequence[rows.Found], cache: Cache | None
) -> NDArray[np.float64]:
    """Cosine with the question. 0 where no vector is known yet, and everywhere when the model cannot be asked."""
    if cache is None:
        return np.zeros(len(found))
    try:
        question = cache.asked([asked])[0].astype(float)
    except Exception as error:  # whatever a model does must not cost what words find
        _log.warning("search by words alone: the embedder raised %s", type(error).__name__)
        return np.zeros(len(found))
    known = (await cache.look_up(tx, [f.text for f in found])).vectors.astype(float)
    reached = await embedded.reached(tx, cache.embedder.model_id)
    # Also one that is known of an equal text, which may be hidden, waits until embedding comes to it.
    return np.where([f.arrived <= reached for f in found], known @ question, 0.0)


def _best_first(score: NDArray[np.float64]) -> list[int]:
    return [int(i) for i in np.argsort(-score, kind="stable")]


def _z(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return (x - x.mean()) / (x.std() + 1e-9)

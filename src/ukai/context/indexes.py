"""Named, embedded sets of records for `get_index` (P1.7), read under the caller's rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ukai import store
from ukai.context import rows
from ukai.context.reader import Reader
from ukai.llm.cache import Cache

MOST = 10_000
"""Records of one index that are compared."""


async def query(
    tx: store.Transaction,
    *,
    reader: Reader,
    cache: Cache,
    type: str,
    where: Mapping[str, Any],
    text: Sequence[str],
    metadata: Sequence[str],
    vector: Sequence[float],
    top_k: int,
    filter: Mapping[str, Any] | None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The `top_k` nearest readable records as `{"metadata", "score"}`, and the texts that have no vector yet.

    A record counts with the fields of it that may be read; one whose text may not be read does not count.
    """
    # Both hold, also where both speak of one field: what a team's code asks for narrows the index that IT declared.
    wanted = [*where.items(), *(filter or {}).items()]
    nodes = await rows.listed(tx, reader.clause, type=type, limit=MOST, where=wanted)
    seen = await reader.seen(tx, nodes)
    texts: list[str] = []
    kept: list[Mapping[str, Any]] = []
    for node in nodes:
        record = seen.get(node.id)
        if record is not None and all(name in record.fields for name, _ in wanted):
            said = " ".join(str(record.fields[f]) for f in text if record.fields.get(f))
            if said:
                texts.append(said)
                kept.append({f: record.fields[f] for f in metadata if f in record.fields})
    if not texts:
        return [], []
    known = await cache.look_up(tx, texts)
    score = known.vectors @ np.asarray(vector, np.float32)
    order = np.argsort(-score, kind="stable")[: max(0, top_k)]
    missing = set(known.missing)
    matches = [{"metadata": dict(kept[i]), "score": float(score[i])} for i in map(int, order) if i not in missing]
    return matches, [texts[i] for i in known.missing]

"""What the gate needs of a graph store (W12). PostgreSQL is the one that is shipped.

Another store (the article's is Neo4j) keeps the same promise: lock everything a program names in one order, look again
after the locks in a later statement, write all or nothing, and write the changelog and the key's row with it. There:
take explicit write locks first, sorted (`MATCH (n) WHERE n.id IN $ids WITH n ORDER BY n.id SET n._lock = ..`), count in
a later statement of the same transaction, hold unique values by constraints, and begin again on transient errors. A
count has no constraint there, so that a writer beside the gate breaks it; here a claim and the locks bind all writers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ukai import store
from ukai.gate import rows


class GraphStore(Protocol):
    """Runs programs (`ukai.gate.program`), each whole or not at all."""

    async def commit(self, body: Mapping[str, Any], judge: rows.Judge | None) -> rows.Answer:
        """`{"commit", "nodes"}` when it is stored, `{"problems": [..]}` or `{"retry": why}` when nothing is.

        `judge`, if there is one, is asked once all locks are held and before anything is written, with the locked
        nodes as they stand; its problems stop the program like the store's own.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """Programs run by the functions of migration 0003: in one statement, or in two calls around the judge."""

    db: store.Database

    async def commit(self, body: Mapping[str, Any], judge: rows.Judge | None) -> rows.Answer:
        """See `GraphStore`."""
        if judge is None:
            return await rows.commit(self.db, body)
        return await rows.commit_judged(self.db, body, judge)

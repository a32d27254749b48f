"""Passages follow the graph: texts at once, vectors when somebody has the time.

Derived and never ahead: whatever is searched is checked against the graph, in the same snapshot, when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from ukai import store
from ukai.context import counted, names, passages, rows
from ukai.context.rows import embedded
from ukai.context.rows import views as listing
from ukai.context.settings import DEFAULT
from ukai.graph import schema
from ukai.llm.cache import Cache, content_of, is_vector

BATCH = 2_000
"""Changes that are followed in one transaction."""
EMBED = 256
"""Texts that are embedded between two reports of progress."""

COUNTED = 10_000
"""So far texts are counted that wait for a vector; more are many."""

INDEXED = 10_000
"""Vectors that come into the approximate index in one transaction."""

LONGEST_NAME = 1_000
"""Bytes. Nobody says more than that as a name, and a row of an index holds no more than 2,700."""

Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What catching up came to."""

    nodes: int
    passages: int


async def catch_up(db: store.Database, types: Mapping[str, schema.Type], progress: Progress | None = None) -> Followed:
    """Read the texts of all nodes that changed since the last time. `types` are the current ones, by name.

    Several processes may call it: one works, the others wait and find the work done.
    """
    node_count = passage_count = 0
    async with db.transaction() as tx:
        if not await rows.is_behind(tx):
            return Followed(nodes=0, passages=0)
    while True:
        async with db.transaction() as tx:
            after = await rows.lock_index(tx)
            changes = await rows.changed(tx, after, BATCH)
            ids = sorted({c[0] for c in changes})
            uncounted = await rows.uncounted(tx, BATCH) if len(changes) < BATCH else []
            ids = sorted({*ids, *uncounted})
            saved = await _save(tx, types, ids) if ids else 0
            settled = [(xid, seq) for _, xid, seq, is_settled in changes if is_settled]
            if settled:
                await rows.move_index(tx, settled[-1])
        node_count += len(ids)
        passage_count += saved
        if progress and ids:
            progress(node_count)
        if not uncounted and (len(changes) < BATCH or len(settled) < len(changes)):
            return Followed(nodes=node_count, passages=passage_count)


async def _save(tx: store.Transaction, types: Mapping[str, schema.Type], ids: list[UUID]) -> int:
    """Read these nodes; how many passages they have."""
    living = await rows.nodes(tx, ids)
    new = [
        (node.id, p, content_of(p.text), counted.counted(p, path=node.path, key=node.key, fields=node.fields))
        for node in living
        if node.type in types
        for p in passages.of(types[node.type], node.fields)
    ]
    await rows.save_passages(tx, ids, new)
    await rows.save_names(tx, ids, [row for node in living for row in names.rows_of(node) if _fits(row[2])])
    return len(new)


async def lag(db: store.Database, *, most: int = 10_000) -> int:
    """How many changes of the graph the passages have not followed, counted up to `most`."""
    async with db.transaction() as tx:
        return await rows.count_behind(tx, most)


async def is_behind(db: store.Database) -> bool:
    """Whether the passages have something to follow; always where the database is elsewhere."""
    async with db.transaction() as tx:
        return await rows.is_behind(tx)


async def is_elsewhere(db: store.Database) -> bool:
    """Whether the database was restored or copied into another cluster since the passages followed it."""
    async with db.transaction() as tx:
        return await rows.is_elsewhere(tx)


async def embed(db: store.Database, cache: Cache, *, limit: int | None = None, progress: Progress | None = None) -> int:
    """Embed the next passages in the order in which they came, at most `limit`. How many it were comes back.

    The model runs outside any transaction, and is asked for what is new: a text that another one equals takes its turn
    like the others, so that nobody is told that there is an equal one, but costs nothing.
    """
    await _mend(db, cache)
    done = 0
    while limit is None or done < limit:
        size = EMBED if limit is None else min(EMBED, limit - done)
        async with db.transaction() as tx:
            waiting = await embedded.waiting(tx, cache.embedder.model_id, size)
        await cache.embed_cached(db, [text for _, text in waiting])
        last = waiting[-1][0] if waiting else 0
        if last or not waiting:
            async with db.transaction() as tx:
                await embedded.reach(tx, cache.embedder.model_id, last)
        if not waiting:
            break
        done += len(waiting)
        if progress:
            progress(done)
    if done or not limit:
        await index_vectors(db, cache)
    return done


async def _mend(db: store.Database, cache: Cache) -> None:
    """Texts whose stored vectors were met and are none get others."""
    if broken := cache.broken():
        async with db.transaction() as tx:
            texts = await embedded.texts_of(tx, broken)
        await cache.embed_cached(db, texts)


async def embed_alone(db: store.Database, cache: Cache, *, progress: Progress | None = None) -> int | None:
    """The same for all that wait, by one process at a time; None where another one is at it.

    Cut off at any moment it loses the batch under way, and whoever comes next goes on behind the last one.
    """
    async with db.statements() as line:
        if not await embedded.lock_embedding(line):
            return None
        try:
            return await embed(db, cache, progress=progress)
        finally:
            await embedded.unlock_embedding(line)


async def waiting(db: store.Database, cache: Cache, *, most: int = COUNTED) -> int:
    """How many passages have no vector yet, counted up to `most`."""
    async with db.transaction() as tx:
        return await embedded.count_without_vector(tx, cache.embedder.model_id, most)


async def index_vectors(db: store.Database, cache: Cache, *, above: int = DEFAULT.exact) -> int:
    """Where more than `above` passages are searched, let the approximate index follow them; how many came in."""
    async with db.transaction() as tx:
        if await listing.count_passages(tx, above + 1) <= above:
            return 0
    after, count = (UUID(int=0), ""), 0
    while True:
        async with db.transaction() as tx:
            found = await listing.without_vector(tx, cache.embedder.model_id, after, INDEXED)
            whole = [f for f in found if is_vector(f[2], cache.embedder.dimensions)]
            await listing.add_vectors(tx, [(node, part, half(vector)) for node, part, vector in whole])
        count += len(found)
        if len(found) < INDEXED:
            break
        after = found[-1][:2]
    async with db.statements() as session:  # last: over what is there it is made much faster than one by one
        await listing.make_vector_index(session, cache.embedder.dimensions)
    return count


def half(vector: bytes) -> bytes:
    """A stored vector as a halfvec on the wire."""
    halves = np.frombuffer(vector, "<f4").astype(">f2")
    return len(halves).to_bytes(2, "big") + b"\0\0" + halves.tobytes()


async def embed_few(
    db: store.Database, cache: Cache, *, limit: int, among: int, progress: Progress | None = None
) -> int:
    """Embed up to `limit` passages where at most `among` have no vector; more are a job of their own."""
    await _mend(db, cache)
    async with db.transaction() as tx:
        missing = await embedded.count_without_vector(tx, cache.embedder.model_id, among + 1)
    return await embed(db, cache, limit=limit, progress=progress) if 0 < missing <= among else 0


def _fits(folded: str) -> bool:
    return len(folded.encode()) <= LONGEST_NAME

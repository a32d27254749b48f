"""One process of writers for `ukai bench gate`: runs one way of writing for some seconds and prints what it managed."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from ukai import gate, store
from ukai.gate.author import Author
from ukai.kit.clock import SystemClock

PROPS: dict[str, Any] = {
    "name": "Acme",
    "industry": "software",
    "employees": 1200,
    "summary": "x" * 300,
    "tags": ["a", "b", "c"],
}
BATCH = 100
AUTHOR = Author(kind="agent", id="bench")
CLOCK = SystemClock()

Write = Callable[[store.Database, int, random.Random], Awaitable[None]]


def compound(number: int, rng: random.Random, ref: str = "$f") -> list[dict[str, Any]]:
    """One change of a company, and a fact about it."""
    company = {"handle": f"Company#{number}"}
    return [
        {"kind": "update_node", "target": company, "set": {"employees": rng.randrange(10**6)}},
        {"kind": "create_node", "ref": ref, "node_type": "Fact", "set": PROPS},
        {"kind": "create_edge", "edge_type": "about", "from": {"ref": ref}, "to": company},
    ]


async def gate_one(db: store.Database, number: int, rng: random.Random) -> None:
    await _submit(db, compound(number, rng))


async def gate_batch(db: store.Database, number: int, rng: random.Random) -> None:
    numbers = _sample(number, rng)
    await _submit(db, [op for i, n in enumerate(numbers) for op in compound(n, rng, f"$f{i}")])


async def _submit(db: store.Database, ops: list[dict[str, Any]]) -> None:
    delta = {"domain": "bench", "key": str(uuid4()), "ops": ops}
    outcome = await gate.submit(db, delta, author=AUTHOR, rights=gate.ALL, clock=CLOCK)
    if isinstance(outcome, gate.Rejected):
        raise SystemExit(f"refused: {outcome.rejections[0]}")


async def raw_five(db: store.Database, number: int, rng: random.Random) -> None:
    async with db.transaction() as tx:
        await _five(tx, number)


async def raw_one(db: store.Database, number: int, rng: random.Random) -> None:
    """The five statements, and one more for the rows of changelog and idempotency."""
    async with db.transaction() as tx:
        fact, version = await _five(tx, number)
        commit = uuid4()
        await tx.execute(
            """with k as (insert into raw_idempotency (scope, key, hash, commit, at)
                          values ('agent:bench', %(key)s, %(hash)s, %(commit)s, now()))
               insert into raw_change (seq, xid, commit, op, kind, id, domain, type, handle, version,
                                       fields, before, after, at)
               values (nextval('raw_seq'), pg_current_xact_id(), %(commit)s, 'update', 'node', %(a)s, 'bench',
                       'Company', %(ha)s, %(version)s, '{employees}', '{"employees": 1200}', '{"employees": 1201}',
                       now()),
                      (nextval('raw_seq'), pg_current_xact_id(), %(commit)s, 'create', 'node', %(b)s, 'bench', 'Fact',
                       %(hb)s, 1, '{name,industry,employees,summary,tags}', null, %(props)s, now()),
                      (nextval('raw_seq'), pg_current_xact_id(), %(commit)s, 'create', 'edge', %(c)s, 'bench', 'about',
                       %(hc)s, 1, '{}', null, '{}', now())""",
            {
                "key": str(commit),
                "hash": "h" * 64,
                "commit": commit,
                "a": uuid4(),
                "b": uuid4(),
                "c": uuid4(),
                "ha": f"Company#{number}",
                "hb": f"Fact#{fact}",
                "hc": f"Fact#{fact} -about-> Company#{number}",
                "version": version + 1,
                "props": Jsonb(PROPS),
            },
        )


async def _five(tx: store.Transaction, number: int) -> tuple[int, int]:
    version = await tx.value("select version from raw_node where id = %s for update", (number,))
    await tx.execute(
        "update raw_node set props = props || %s, version = version + 1, updated_at = now()"
        " where id = %s and version = %s",
        (Jsonb({"employees": 1201}), number, version),
    )
    fact = await tx.value("insert into raw_node (type, props) values ('Fact', %s) returning id", (Jsonb(PROPS),))
    await tx.execute("insert into raw_edge (src, dst, type) values (%s, %s, 'about')", (fact, number))
    await tx.execute("insert into raw_audit (author, delta) values ('agent:bench', %s)", (Jsonb(DELTA),))
    return fact, version


DELTA = {"ops": compound(1, random.Random(0))[:1], "reason": "y" * 200}


async def raw_batch(db: store.Database, number: int, rng: random.Random) -> None:
    numbers = sorted(_sample(number, rng))
    async with db.transaction() as tx:
        rows = await tx.fetch("select id, version from raw_node where id = any (%s) order by id for update", (numbers,))
        await tx.execute(
            """update raw_node n set props = n.props || d.p, version = n.version + 1, updated_at = now()
               from unnest(%s::bigint[], %s::jsonb[], %s::int[]) d(id, p, v) where n.id = d.id and n.version = d.v""",
            ([i for i, _ in rows], [Jsonb({"employees": 1201})] * len(rows), [v for _, v in rows]),
        )
        facts = await tx.fetch(
            "insert into raw_node (type, props) select 'Fact', unnest(%s::jsonb[]) returning id",
            ([Jsonb(PROPS)] * len(rows),),
        )
        cursor = tx.connection.cursor()
        async with cursor.copy("copy raw_edge (src, dst, type) from stdin") as copy:
            for (fact,), company in zip(facts, numbers, strict=True):
                await copy.write_row((fact, company, "about"))
        async with cursor.copy("copy raw_audit (author, delta) from stdin") as copy:
            for _ in rows:
                await copy.write_row(("agent:bench", Jsonb(DELTA)))
        await _batch_changes(tx, numbers, [f for (f,) in facts])


async def _batch_changes(tx: store.Transaction, numbers: list[int], facts: list[int]) -> None:
    commit, xid, at = uuid4(), await tx.value("select pg_current_xact_id()::text"), CLOCK.now()
    await tx.execute(
        "insert into raw_idempotency (scope, key, hash, commit, at) values ('agent:bench', %s, %s, %s, now())",
        (str(commit), "h" * 64, commit),
    )
    seqs = [s for (s,) in await tx.fetch("select nextval('raw_seq') from generate_series(1, %s)", (3 * len(facts),))]
    columns = "seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at"
    async with tx.connection.cursor().copy(f"copy raw_change ({columns}) from stdin") as copy:
        for i, (company, fact) in enumerate(zip(numbers, facts, strict=True)):
            one, two, three = seqs[3 * i : 3 * i + 3]
            hc, hf = f"Company#{company}", f"Fact#{fact}"
            old, new, props = Jsonb({"employees": 1200}), Jsonb({"employees": 1201}), Jsonb(PROPS)
            for row in (
                (one, "update", "node", "Company", hc, 2, ["employees"], old, new),
                (two, "create", "node", "Fact", hf, 1, list(PROPS), None, props),
                (three, "create", "edge", "about", f"{hf} -about-> {hc}", 1, [], None, Jsonb({})),
            ):
                seq, op, kind, type, named, version, fields, before, after = row
                head = (seq, xid, commit, op, kind, uuid4(), "bench", type, named)
                await copy.write_row((*head, version, fields, before, after, at))


def _sample(count: int, rng: random.Random) -> list[int]:
    return rng.sample(range(1, count + 1), BATCH)


WAYS: dict[str, Write] = {
    "gate_one": gate_one,
    "raw_one": raw_one,
    "raw_five": raw_five,
    "gate_batch": gate_batch,
    "raw_batch": raw_batch,
}


async def main(url: str, way: str, writers: int, seconds: float, nodes: int, hot: bool, seed: int) -> dict[str, Any]:
    write, rng = WAYS[way], random.Random(seed)
    taken: list[float] = []
    async with store.connect(url, max_size=writers, min_size=writers) as db:
        for _ in range(3):
            await write(db, nodes if "batch" in way else rng.randint(1, nodes), rng)
        until = time.monotonic() + seconds

        async def writer() -> None:
            while time.monotonic() < until:
                number = nodes if "batch" in way else 1 if hot else rng.randint(1, nodes)
                start = time.perf_counter()
                await write(db, number, rng)
                taken.append(time.perf_counter() - start)

        start, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(writer() for _ in range(writers)))
        spent = time.monotonic() - start
    return {"commits": len(taken), "seconds": spent, "taken": taken, "cpu": time.process_time() - cpu}


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(main(**options))))

"""What a composition takes: a generated tree with a vector for each text, a scope of a tenth, questions embedded live.

Options: --nodes 100000, --questions 60, --scope 10 (percent), --exact 10000, --seed 7, --url (a database that is empty
or holds just this tree), --data (a folder that keeps the tree for the next run). Without the last two a server of its
own is started, with the settings that people get, and thrown away.

Every question is another one. The first one in a scope reads the scope once (`first_ms`) and meanwhile holds up other
callers for `first_held_ms` of processor time at most; the next ones find it in this process while the store says that
nothing has changed (`p50_ms`, `p95_ms`); the same question again of an unchanged graph is `warm`: of it
`warm_retrieval` is what the cache answers, the rest reads the shown bodies under the rights of that moment, cuts and
renders. `after_write_outside` and `after_write_inside` are the next question after somebody changed a record.
`cpu_p50_ms` is this process alone, and steadier where others work beside it.

In a scope above `exact` the same questions are asked once more by somebody whom `access/` grants `approximate`: the
figures that begin with `hnsw_`. `ann_recall` says what share of the nearest items the approximate index gives: little,
since questions and generated vectors have nothing to do with each other. What it is on texts that people wrote stands
in docs/design/composer.md.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

import numpy as np
from psycopg import sql

from benchmarks._server import server
from ukai import access, context, gate, store
from ukai.app.bench import Report
from ukai.context import index, making, rows
from ukai.context.counted import counted
from ukai.context.passages import Passage
from ukai.context.reader import Reader
from ukai.context.reading import Library
from ukai.context.rows import compositions, embedded
from ukai.context.settings import Settings
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import document, heap, words
from ukai.kit.clock import SystemClock
from ukai.llm import minilm
from ukai.llm.cache import Cache, content_of
from ukai.store import migrations

DOMAIN = b"""
domain: bench
types:
  - type: Page
    key: number
    path: "corpus/{area}/{shelf}/{number}"
    readers: {from: readers}
    text: [body]
    fields:
      - {key: number, kind: string, required: true}
      - {key: area, kind: string, required: true}
      - {key: shelf, kind: string, required: true}
      - {key: title, kind: string}
      - {key: body, kind: text}
      - {key: owner, kind: string}
      - {key: readers, kind: string, list: true, required: true}
edges:
  - {edge: see_also, from: Page, to: Page, on_delete: {from: unset, to: unset}}
"""
ACCESS = {
    "groups.yaml": b"groups:\n  staff: {members: [ann@example.com, gus@example.com]}\n"
    b"  granted: {members: [gus@example.com]}\n  board: {members: [zoe@example.com]}\n",
    "policies.yaml": b"""
policies:
  - {id: near, allow: approximate, to: ["group:granted"]}
  - {id: use, allow: invoke, agents: ["*"], to: ["group:staff"]}
  - {id: read, allow: read, records: {types: [Page]}, to: ["group:staff"]}
  - {id: not-sealed, deny: read, records: {paths: ["corpus/*/sealed/**"]}, to: ["group:staff"]}
""",
}
ANN, GRANTED = "ann@example.com", "gus@example.com"
AREAS, SHELVES, TOPICS = 100, 20, 400
BATCH = 5_000
AUTHOR = Author(kind="connector", id="service:bench")
CLOCK = SystemClock()
COMMON = words.words("""
    the rollout waits because procurement wants a review before the contract renews and the team asked for single sign
    on while the depot keeps its scanner offline every morning until support answers with a plan for the gateway and
    its keys so that invoices reach the ledger in time and nobody has to count boxes twice on a friday
""")


def run(options: Mapping[str, str]) -> Report:
    """See the module."""
    with server(options.get("url", ""), options.get("data", "")) as url:
        figures = asyncio.run(_measured(url, options))
    notes = ("p50 < 60 ms, p95 < 150 ms, warm < 5 ms at 100,000 nodes; at most twice that at 1,000,000",)
    return Report(figures=figures, notes=notes)


async def _measured(url: str, options: Mapping[str, str]) -> dict[str, float]:
    nodes, seed = int(options.get("nodes", "100000")), int(options.get("seed", "7"))
    share = int(options.get("scope", "10"))
    await asyncio.to_thread(migrations.run, url)
    domain, findings = domain_file.read(DOMAIN, name="bench.yaml")
    assert domain is not None, findings
    settings = Settings(exact=int(options.get("exact", str(Settings().exact))))
    cache = Cache(minilm.default())
    async with store.connect(url) as db:
        started = time.perf_counter()
        await domains.upload(db, domain, author=AUTHOR, at=CLOCK.now())
        await loaded(db, nodes=nodes, seed=seed, model=cache.embedder.model_id)
        figures = {"nodes": float(nodes), "load_s": time.perf_counter() - started}
        started = time.perf_counter()
        await index.index_vectors(db, cache, above=settings.exact if nodes * share // 100 > settings.exact else nodes)
        figures["vector_index_s"] = time.perf_counter() - started
        said = questions(seed, int(options.get("questions", "60")))
        asked = _Asked(db=db, domain=domain, cache=cache, settings=settings, share=share)
        figures |= await asked.figures(said)
        if figures["matched"] > settings.exact:
            granted = _Asked(db=db, domain=domain, cache=cache, settings=settings, share=share, who=GRANTED)
            figures |= await granted.by_index(said)
        return figures


class _Asked:
    """One caller in one scope."""

    def __init__(
        self,
        *,
        db: store.Database,
        domain: schema.Domain,
        cache: Cache,
        settings: Settings,
        share: int,
        who: str = ANN,
    ) -> None:
        rules = _rules(domain)
        self.db, self.settings = db, settings
        self.reader = Reader(rights=rules.rights(rules.caller(who), "bench", None, "cli"), edges=domain.edges)
        self.scope = context.Scope(globs=tuple(f"corpus/a{n:02}/**" for n in range(share * AREAS // 100)))
        self.library = Library(types={t.type: t for t in domain.types}, cache=cache)
        self.last: context.Composition | None = None

    async def ask(self, question: str) -> float:
        started = time.perf_counter()
        request = context.Request(question=question, scope=self.scope)
        self.last = await context.compose(
            self.db, request, library=self.library, reader=self.reader, clock=CLOCK, settings=self.settings
        )
        return (time.perf_counter() - started) * 1e3

    async def figures(self, questions: Sequence[str]) -> dict[str, float]:
        self.library.cache.embedder.embed(["the model is loaded"])  # pyright: ignore[reportOptionalMemberAccess]
        making.counter().count("the vocabulary is loaded")
        heap.settle()  # as `ukai serve` does before it answers
        beats: list[float] = []
        heart = asyncio.create_task(_beating(beats))
        first = await self.ask(questions[0])
        heart.cancel()
        for question in questions[1:8]:
            await self.ask(question)
        each: list[float] = []
        busy: list[float] = []
        parts: dict[str, list[float]] = {}
        for question in questions[8:]:
            began = time.process_time()
            each.append(await self.ask(question))
            busy.append((time.process_time() - began) * 1e3)
            assert self.last is not None
            for name, ms in self.last.ms.items():
                parts.setdefault(name, []).append(ms)
        await self.ask(questions[-1])
        warm: list[float] = []
        found: list[float] = []
        for _ in range(20):
            warm.append(await self.ask(questions[-1]))
            assert self.last is not None
            found.append(self.last.ms["view"] + self.last.ms.get("strategies", 0.0))
        outside = [await self._after(f"a{AREAS - 1:02}", q) for q in questions[8:14]]
        inside = [await self._after("a00", q) for q in questions[8:14]]
        assert self.last is not None
        figures = {
            "first_ms": first,
            "first_held_ms": max(beats, default=0.0),
            "p50_ms": _at(each, 0.5),
            "p95_ms": _at(each, 0.95),
            "cpu_p50_ms": _at(busy, 0.5),
            "warm_p50_ms": _at(warm, 0.5),
            "warm_p95_ms": _at(warm, 0.95),
            "warm_retrieval_p50_ms": _at(found, 0.5),
            "after_write_outside_p50_ms": _at(outside, 0.5),
            "after_write_inside_p50_ms": _at(inside, 0.5),
            "matched": float(self.last.report.matched),
            "shown": float(len(self.last.report.shown)),
            "document_characters": float(len(self.last.text)),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        return figures | {f"part_{n}_p50_ms": _at(v, 0.5) for n, v in sorted(parts.items())}

    async def by_index(self, questions: Sequence[str]) -> dict[str, float]:
        """What questions take that the approximate index answers."""
        for question in questions[:8]:
            await self.ask(question)
        each = [await self.ask(question) for question in questions[8:]]
        assert self.last is not None
        assert any(step.way == "approximate" for step in self.last.report.graph)
        figures = {"hnsw_p50_ms": _at(each, 0.5), "hnsw_p95_ms": _at(each, 0.95)}
        return figures | await self._recall(questions[14:20])

    async def _recall(self, questions: Sequence[str]) -> dict[str, float]:
        """What share of the exact answer the approximate index gives."""
        self.settings = replace(self.settings, ann_sample=1.0)
        began = CLOCK.now()
        for question in questions:
            await self.ask(question)
        async with self.db.transaction() as tx:
            mean = (await compositions.ann_recall(tx, began))[1]
        return {} if mean is None else {"ann_recall": mean}

    async def _after(self, area: str, question: str) -> float:
        """The question after somebody changed a record of the area."""
        async with self.db.transaction() as tx:
            key = await tx.value(
                "select key from node where path like %s order by key limit 1", (f"corpus/{area}/s01/%",)
            )
        change = {"kind": "update_node", "target": {"handle": f"Page#{key}"}, "set": {"owner": question[:20]}}
        done = await gate.submit(
            self.db, {"domain": "bench", "ops": [change]}, author=AUTHOR, rights=gate.ALL, clock=CLOCK
        )
        assert isinstance(done, gate.Committed), done
        await index.catch_up(self.db, self.library.types)
        return await self.ask(question)


async def loaded(db: store.Database, *, nodes: int, seed: int, model: str) -> None:
    """The tree, generated unless the database holds it already, which the mark says that is left last."""
    mark = f"ukai bench context: {nodes} nodes, seed {seed}, {model}"
    async with db.transaction() as tx:
        found = await tx.value("select obj_description('node'::regclass)")
        assert found == mark or not await tx.value("select exists (select 1 from node)"), (
            f"it holds {found}, not {mark}"
        )
    if found != mark:
        await generate(db, nodes=nodes, seed=seed, model=model)
        async with db.transaction() as tx:
            await tx.execute(sql.SQL("comment on table node is {}").format(mark))


async def generate(db: store.Database, *, nodes: int, seed: int, model: str) -> None:
    """Pages with two passages each, a vector for each text, and edges: written to the tables themselves."""
    for pages, vectors in batches(nodes=nodes, seed=seed):
        async with db.transaction() as tx:
            await _copied(tx, pages, vectors, model)
    async with db.transaction() as tx:
        await tx.execute("update passage_cursor set xid = pg_current_xact_id(), seq = 0")
    async with db.statements() as tx:
        await tx.execute("set statement_timeout = 0")
        for table in ("node", "edge", "passage", "embedding", "called"):
            await tx.execute(f"vacuum analyze {table}")
        await tx.execute("set statement_timeout = '60s'")


def batches(*, nodes: int, seed: int) -> Iterator[tuple[list[dict[str, Any]], Any]]:
    """The pages of the tree and a vector for each text, some thousand at a time."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    topics = numbers.standard_normal((TOPICS, minilm.DIMENSIONS)).astype(np.float32)
    for first in range(0, nodes, BATCH):
        pages = [_page(rng, n) for n in range(first, min(first + BATCH, nodes))]
        noise = numbers.standard_normal((len(pages), minilm.DIMENSIONS))
        vectors: Any = topics[[p["topic"] for p in pages]] + 0.8 * noise
        yield pages, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")


def _page(rng: random.Random, number: int) -> dict[str, Any]:
    topic = rng.randrange(TOPICS)
    area, shelf = f"a{number % AREAS:02}", "sealed" if rng.random() < 0.03 else f"s{rng.randrange(SHELVES):02}"
    rare = [f"t{topic}w{int(rng.expovariate(0.3))}" for _ in range(14)]
    body = rng.choices(COMMON, k=50) + rare
    rng.shuffle(body)
    title = f"{rng.choice(COMMON)} {rng.choice(rare)} {number}".capitalize()
    readers = ["group:staff"] if rng.random() < 0.95 else ["group:board"]
    fields = {"number": f"p{number}", "area": area, "shelf": shelf, "title": title, "body": " ".join(body)}
    return {
        "id": UUID(int=rng.getrandbits(128), version=4),
        "topic": topic,
        "path": f"corpus/{area}/{shelf}/p{number}",
        "readers": readers,
        "fields": fields | {"owner": f"person{rng.randrange(400)}", "readers": readers},
    }


async def _copied(tx: store.Transaction, pages: Sequence[dict[str, Any]], vectors: Any, model: str) -> None:
    async def copy(statement: str, rows: Iterator[Sequence[Any]]) -> None:
        async with tx.connection.cursor() as cursor, cursor.copy(statement.encode()) as sink:
            for row in rows:
                await sink.write_row(row)

    await copy(
        "copy node (id, domain, type, key, path, readers, props) from stdin",
        (
            (p["id"], "bench", "Page", p["fields"]["number"], p["path"], p["readers"], json.dumps(p["fields"]))
            for p in pages
        ),
    )
    ids = [p["id"] for p in pages]
    pairs = [(a, b) for apart in (1, 7) for a, b in zip(ids, ids[apart:], strict=False)]
    await copy(
        "copy edge (id, domain, type, src, dst) from stdin",
        ((uuid5(a, b.hex), "bench", "see_also", a, b) for a, b in pairs),
    )
    said = [Passage(part="body", field="body", ordinal=0, lead="", text=p["fields"]["body"]) for p in pages]
    new = [
        (p["id"], s, content_of(s.text), counted(s, path=p["path"], key=p["fields"]["number"], fields=p["fields"]))
        for s, p in zip(said, pages, strict=True)
    ]
    await rows.save_passages(tx, [], new)
    by_content = {content_of(s.text): v.tobytes() for s, v in zip(said, vectors, strict=True)}
    await tx.execute(
        "insert into embedding (model, content, vector) select %s, * from unnest(%s::bytea[], %s::bytea[]) "
        "on conflict do nothing",
        (model, list(by_content), list(by_content.values())),
    )
    await embedded.reach(tx, model, await tx.value("select arrived from passage_cursor"))


def questions(seed: int, count: int) -> list[str]:
    rng = random.Random(seed + 1)
    asked = ("why does the", "when will the", "what is said about the", "who owns the", "how was the")
    found: list[str] = []
    for _ in range(count + 8):
        topic = rng.randrange(TOPICS)
        rare = " and ".join(f"t{topic}w{rng.randrange(6)}" for _ in range(2))
        found.append(f"{rng.choice(asked)} {' '.join(rng.sample(COMMON, 4))} {rare}?")
    return found


async def _beating(beats: list[float]) -> None:
    """How long others waited each time, in milliseconds of processor time of the thread that answers all."""
    while True:
        began = time.thread_time()
        await asyncio.sleep(0.002)
        beats.append((time.thread_time() - began) * 1e3)


def _rules(domain: schema.Domain) -> access.Access:
    docs: dict[str, document.Document | None] = {n: document.read(raw, name=n)[0] for n, raw in ACCESS.items()}
    found, findings = access.read(docs, types={t.type: frozenset(t.by_key) for t in domain.types})
    assert findings == [], findings
    return found


def _at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

"""`ukai bench stored`: the public retrieval sets brought in by connectors, and answered by `context.compose`.

Options: `--sets` (those of `ukai bench recall`), `--cases`, `--vectors`, `--every` (as there), `--words` (nothing is
embedded), `--columns whole` (with their types and comments, as files have them; else by name alone), `--url` (an empty
database).

`ukai bench recall` scores, cuts and renders items in memory. Here the same items are files that a connector reads into
the store through the gate: tables and columns as records of their own, what was said in one place as the passages of
one record, documents as records with a text. Each question is composed under a reader's rights, and both ways count
tokens as the product does. A required thing is usable by the same rule: its text stands in the document; of a table,
the name of every column; and the report shows it. `stored` stands over `memory` in the ratios.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import recall
from benchmarks._server import server
from ukai import access, context, gate, store
from ukai.app import recall as in_memory
from ukai.app.bench import Report
from ukai.connect import definition, pull
from ukai.connect.source import Site
from ukai.context import index
from ukai.context.item import Item
from ukai.context.reader import Reader
from ukai.context.reading import Library
from ukai.context.recall import outside
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import document, handle
from ukai.kit.clock import SystemClock
from ukai.llm import minilm, on_disk
from ukai.llm.cache import Cache
from ukai.measure import at_budgets
from ukai.store import migrations

ANN = "ann@example.com"
ACCESS = {
    "groups.yaml": b"groups:\n  staff: {members: [ann@example.com]}\n",
    "policies.yaml": b"""
policies:
  - {id: use, allow: invoke, agents: ["*"], to: ["group:staff"]}
  - {id: read, allow: read, records: {paths: ["**"]}, to: ["group:staff"]}
""",
}
TURNS = {"from": "turns", "text": "text", "speaker": "who"}
CLOCK = SystemClock()


def run(options: Mapping[str, str]) -> Report:
    """See the module."""
    names = options.get("sets", ",".join(recall.SETS)).split(",")
    figures: dict[str, dict[str, dict[int, float]]] = {}
    with recall.cases_of(options) as cases:
        for place in dict.fromkeys(recall.SETS[name][0] for name in names):
            wanted = [name for name in names if recall.SETS[name][0] == place]
            with server(options.get("url", "")) as url:
                figures |= asyncio.run(_of_place(url, cases, wanted, options))
    body = [
        [name, way, *(f"{v:.3f}" for v in found.values())]
        for name, both in figures.items()
        for way, found in both.items()
    ]
    table = at_budgets.markdown(["set", "usable", *(f"@{b:,}" for b in in_memory.BUDGETS)], body)
    return Report(
        figures={f"{n}.{way}@{b}": v for n, both in figures.items() for way, f in both.items() for b, v in f.items()},
        ratios={
            f"{n}.stored_over_memory@{b}": round(both["stored"][b] / v, 3)
            for n, both in figures.items()
            for b, v in both["memory"].items()
            if v
        },
        notes=tuple(table.splitlines()),
    )


@dataclass(kw_only=True)
class Records:
    """What a connector reads: a file and a type for each kind of thing, and what an item is called in the store."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    depths: dict[str, int] = field(default_factory=dict[str, int])
    called: dict[str, str] = field(default_factory=dict[str, str])
    """Item id -> handle."""

    def add(self, kind: str, path: str, told: Mapping[str, Any]) -> str:
        """One record at `path`; its handle."""
        segments = path.split("/")
        type = f"{kind.title()}{len(segments)}"
        self.depths[type] = len(segments)
        self.rows.setdefault(type, []).append({**{f"p{n}": s for n, s in enumerate(segments)}, **told})
        return f"{type}#{handle.key_of(segments)}"

    def domain(self) -> dict[str, Any]:
        """The schema of them all."""
        return {"domain": "bench", "types": [self._type(t, n) for t, n in self.depths.items()]}

    def _type(self, type: str, depth: int) -> dict[str, Any]:
        key = [f"p{n}" for n in range(depth)]
        fields = dict.fromkeys(key, "string") | {"name": "string", "body": "text", "turns": "json"}
        fields["data_type"] = "string"
        made = {"type": type, "key": key, "path": "/".join(f"{{{p}}}" for p in key), "text": ["name", "body"]}
        shapes = [{"key": k, "kind": v, "required": k in key} for k, v in fields.items()]
        return made | {"passages": TURNS, "fields": shapes}

    def connector(self, type: str) -> dict[str, Any]:
        """It reads the file of that type."""
        told = sorted({k for row in self.rows[type] for k in row})
        key = [f"row.p{n}" for n in range(self.depths[type])]
        return {
            "connector": type.lower(),
            "source": {"kind": "jsonl", "files": f"{type}.jsonl"},
            "into": {"domain": "bench", "node_type": type},
            "map": {"key": key, "set": {k: f"row.{k}" for k in told}},
            "provenance": {"asserted_by": "'bench'"},
        }


def records(items: Iterable[Item], columns: str = "") -> Records:
    """Parts of one place as the turns of one record; everything else as a record of its own. `columns`: the option."""
    made = Records()
    sittings: dict[str, list[Item]] = {}
    for item in items:
        name = item.path.rpartition("/")[2]
        if item.is_part:
            sittings.setdefault(item.path.rpartition("/")[0], []).append(item)
        elif item.kind == "column" and columns == "whole":
            told = {"name": name, "body": item.text, "data_type": item.fields.get("data_type", "")}
            made.called[item.id] = made.add(item.kind, item.path, {k: v for k, v in told.items() if v})
        elif item.kind in ("table", "column"):  # what a table is made of stands in its columns
            made.called[item.id] = made.add(item.kind, item.path, {"name": name})
        else:
            made.called[item.id] = made.add(item.kind, item.path, {"name": item.title or name, "body": item.text})
    for path, parts in sittings.items():
        ordered = sorted(parts, key=lambda i: i.order)
        said = [{"who": i.lead, "text": i.text} for i in ordered]
        whole = made.add("sitting", path, {"name": path.replace("/", " "), "turns": said})
        made.called |= {i.id: f"{whole}/turn/{n}" for n, i in enumerate(ordered, 1)}
    return made


async def _of_place(
    url: str, cases: Path, names: Sequence[str], options: Mapping[str, str]
) -> dict[str, dict[str, dict[int, float]]]:
    """Set -> `memory` and `stored` -> usable by budget, of all sets over one corpus."""
    folder = on_disk.default_folder() if "vectors" not in options else Path(options["vectors"])
    every = int(options.get("every", 1))
    place = cases / recall.SETS[names[0]][0]
    corpus, findings = outside.read_corpus(_lines(place / "items.jsonl"), name=place.name)
    assert findings == [], findings
    await asyncio.to_thread(migrations.run, url)
    cache = None if "words" in options else Cache(on_disk.OnDisk(minilm.Lazy(), folder))
    figures: dict[str, dict[str, dict[int, float]]] = {}
    async with store.connect(url) as db:
        made = records(corpus.items, options.get("columns", ""))
        domain, findings = domain_file.read(json.dumps(made.domain()).encode(), name="bench.yaml")
        assert domain is not None, findings
        await _brought_in(db, made, domain)
        await index.catch_up(db, {t.type: t for t in domain.types})
        if cache is not None:
            await index.embed(db, cache)
        asker = Asker(db=db, domain=domain, cache=cache, made=made, items=corpus.items)
        for name in names:
            asked = place / f"{recall.SETS[name][1]}.jsonl"
            wanted = in_memory.Wanted(counter="o200k", vectors=folder, every=every, seeds=1, words_only=cache is None)
            ours = await asyncio.to_thread(in_memory.recall, place / "items.jsonl", asked, wanted)
            memory = {int(b): float(v) for b, v in ours.figures["usable"].items()}
            found, findings = outside.read_cases(_lines(asked), name=name, corpus=corpus)
            assert findings == [], findings
            each = [{b: await asker.usable(case, b) for b in in_memory.BUDGETS} for case in found[::every]]
            figures[name] = {
                "memory": memory,
                "stored": {b: fmean(e[b] for e in each) for b in in_memory.BUDGETS},
            }
    return figures


async def _brought_in(db: store.Database, made: Records, domain: schema.Domain) -> None:
    await domains.upload(db, domain, author=Author(kind="human", id="bench"), at=CLOCK.now())
    with tempfile.TemporaryDirectory() as scratch:
        bench = pull.Bench(db=db, rights=gate.ALL, clock=CLOCK, site=Site(root=Path(scratch)))
        for type, rows in made.rows.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            await asyncio.to_thread((Path(scratch) / f"{type}.jsonl").write_text, text, "utf-8")
            doc, _ = document.read(json.dumps(made.connector(type)).encode(), name=f"connectors/{type.lower()}.yaml")
            assert doc is not None
            connector, findings = definition.read(doc)
            assert connector is not None, findings
            report = await pull.run(bench, connector, full=False)
            assert not report.findings, report.findings[:3]


class Asker:
    """Somebody who may read everything and asks one question after another."""

    def __init__(
        self, *, db: store.Database, domain: schema.Domain, cache: Cache | None, made: Records, items: Sequence[Item]
    ) -> None:
        docs = {n: document.read(raw, name=n)[0] for n, raw in ACCESS.items()}
        rules, findings = access.read(docs, types={t.type: frozenset(t.by_key) for t in domain.types})
        assert findings == [], findings
        self._db, self._called = db, made.called
        self._reader = Reader(rights=rules.rights(rules.caller(ANN), "bench", None, "cli"), edges=domain.edges)
        self._library = Library(types={t.type: t for t in domain.types}, cache=cache)
        self._items = {i.id: i for i in items}
        self._columns: dict[str, list[str]] = {}
        for item in items:
            if item.parent is not None and not item.is_part:
                self._columns.setdefault(item.parent, []).append(item.path.rpartition("/")[2])

    async def usable(self, case: outside.Case, budget: int) -> float:
        """The share of what the case requires that can be used."""
        scope = context.Scope(globs=case.scope.globs if case.scope else ("**",), static_ids=tuple(self._pinned(case)))
        request = context.Request(question=case.question, scope=scope, budget_tokens=budget)
        made = await context.compose(self._db, request, library=self._library, reader=self._reader, clock=CLOCK)
        text = _flat(made.text)
        return sum(self._is_usable(r, made.report.shown, text) for r in case.required) / len(case.required)

    def _pinned(self, case: outside.Case) -> Iterator[str]:
        yield from (self._called[id] for id in (case.scope.static_ids if case.scope else ()))

    def _is_usable(self, id: str, shown: Mapping[str, Any], text: str) -> bool:
        called = self._called[id]
        # A long passage is cut into pieces: each of them must be there.
        if called not in shown and f"{called}/1" not in shown:
            return False
        if id in self._columns:
            return all(re.search(rf"(?<!\w){re.escape(c)}(?!\w)", text) for c in self._columns[id])
        return _flat(self._items[id].text) in text


def _flat(text: str) -> str:
    return " ".join(text.split())


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")

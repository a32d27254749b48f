"""`ukai bench peers`: LlamaIndex and Haystack beside Ukai: recall on the public sets, speed on the generated tree.

Options: --part (recall,speed), --sets (those of `ukai bench recall`), --cases, --vectors (as there), --every (1),
--table (a file for the tables); --nodes, --questions, --scope, --seed, --data (as `ukai bench context` has them).

Needs requirements/peers.txt, in an environment of its own (docs/reference/recall.md); without it nothing is measured.

Recall: the same items, question and text vectors, scopes and budgets, and the same rule for what is usable. An index
holds the scope only. A node is an item with its elements left out, searched with its title or speaker; in the document
stands what is cheapest and still counts: a table as its name and the names of its columns, a turn behind its speaker.
Nodes are taken in order, and one that does not fit is passed over. Turns are also found as chunks of what was said one
after another. Ours are the pinned figures.

Speed: the same pages, vectors, scope and questions, embedded live by the same model, until the document is rendered to
the same budget. `filter`: one index, narrowed by metadata; `scoped`: an index that holds the scope only, which somebody
would have to keep for each. Neither knows who asks, checks in a store what is current, or saves a report.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks import _peers, context, recall
from ukai.app import files
from ukai.app.bench import Report
from ukai.context import subject
from ukai.context.recall import measured, memory, outside
from ukai.context.scope import BUDGET_TOKENS
from ukai.kit import heap
from ukai.llm import minilm, on_disk, tokens
from ukai.measure import at_budgets

BUDGETS = (2_500, 5_000, 10_000, 15_000)
MERGED = ("locomo", "tau_banking")
"""Sets with a place between the item and the scope, into which found items may be merged."""
CHUNKED = ("locomo", "locomo-pooled", "qmsum", "qmsum-pooled")
"""Sets of turns, which are also found as chunks of what was said after another."""
CHUNK = 1_000
"""Characters of a chunk: about as much as the embedding model reads."""
BETWEEN = "\n\n"
WARM_UP = 8
"""Questions that are asked before the clock runs, as in `ukai bench context`."""
DEPTH = 300
"""Of the generated pages, more than twice as many as the document holds."""


def run(options: Mapping[str, str]) -> Report:
    """See the module."""
    if not _peers.are_installed():
        return Report(figures={}, notes=("not measured: LlamaIndex and Haystack come with requirements/peers.txt",))
    parts = {"recall": _recall, "speed": _speed}
    wanted = options.get("part", ",".join(parts)).split(",")
    reports = [parts[name](options) for name in wanted]
    notes = [line for r in reports for line in r.notes]
    if "table" in options:
        files.write(Path(options["table"]), "\n".join(notes) + "\n")
    return Report(
        figures={k: v for r in reports for k, v in r.figures.items()},
        ratios={k: v for r in reports for k, v in r.ratios.items()},
        notes=(*notes, *(f"{k} is {v}" for k, v in _peers.versions().items())),
    )


def _recall(options: Mapping[str, str]) -> Report:
    names = options.get("sets", ",".join(recall.SETS)).split(",")
    every = int(options.get("every", 1))
    folder = on_disk.default_folder() if "vectors" not in options else Path(options["vectors"])
    embed = on_disk.OnDisk(minilm.Lazy(), folder).embed
    pinned, findings = at_budgets.pinned(recall.BASELINE.read_bytes(), name=recall.BASELINE.name)
    assert findings == [], findings
    figures: dict[str, float] = {}
    ratios: dict[str, float] = {}
    body: list[list[str]] = []
    with recall.cases_of(options) as cases:
        for name in names:
            ours = pinned[name].usable
            body.append([name, "Ukai", *(f"{v:.3f}" for v in ours.values())])
            for pipeline, found in _of_set(cases, name, every, embed):
                usable = found["usable"]
                body.append(["", pipeline, *(f"{v:.3f}" for v in usable.values())])
                figures |= {f"{name}.{pipeline}.usable@{b}": v for b, v in usable.items()}
                figures |= {f"{name}.{pipeline}.recall@{b}": v for b, v in found["recall"].items()}
                ratios |= {f"{name}.over_{pipeline}@{b}": round(ours[b] / v, 3) for b, v in usable.items() if v}
    table = at_budgets.markdown(["set", "usable", *(f"@{b:,}" for b in BUDGETS)], body)
    partly = () if every == 1 else ("ours of all cases, theirs of some: no comparison",)
    return Report(figures=figures, ratios=ratios, notes=(*table.splitlines(), *partly))


def _of_set(cases: Path, name: str, every: int, embed: memory.Embed) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pipeline -> its means over the cases."""
    place, file = recall.SETS[name]
    corpus, findings = outside.read_corpus(_lines(cases / place / "items.jsonl"), name=name)
    asked, more = outside.read_cases(_lines(cases / place / f"{file}.jsonl"), name=name, corpus=corpus)
    assert [*findings, *more] == []
    pipelines = {k: each_budget(v) for k, v in _peers.PIPELINES.items()}
    pipelines["LlamaIndex, by scores"] = each_budget(_peers.by_scores)
    if name in CHUNKED:
        pipelines |= {f"{k}, chunks": each_budget(v) for k, v in _peers.PIPELINES.items()}
    if name in MERGED:
        pipelines["LlamaIndex, merging"] = merging
    for pipeline, build in pipelines.items():
        nodes = chunks if pipeline.endswith("chunks") else single
        rows = list(measured_rows(corpus, asked[::every], embed=embed, build=build, nodes=nodes))
        yield pipeline, at_budgets.summary(rows, BUDGETS)


Build = Callable[[Sequence[_peers.Node]], Callable[[str, list[float]], dict[int, list[str]]]]
"""Nodes -> question and its vector -> by budget, what is found."""


def each_budget(pipeline: Callable[..., _peers.Retrieve]) -> Build:
    """One order for all budgets: of either retriever three times as many as fill the largest."""

    def build(nodes: Sequence[_peers.Node]) -> Callable[[str, list[float]], dict[int, list[str]]]:
        retrieve = pipeline(nodes, depth=round(3 * max(BUDGETS) / _mean_tokens(nodes)))
        return lambda question, vector: dict.fromkeys(BUDGETS, retrieve(question, vector))

    return build


def merging(nodes: Sequence[_peers.Node]) -> Callable[[str, list[float]], dict[int, list[str]]]:
    """As many nodes as fill the budget, before they are merged: of all nodes every parent would be made."""
    retrieve = {b: _peers.auto_merging(nodes, depth=round(b / _mean_tokens(nodes)) + 1) for b in BUDGETS}
    return lambda question, vector: {b: r(question, vector) for b, r in retrieve.items()}


def _mean_tokens(nodes: Sequence[_peers.Node]) -> float:
    return max(1.0, fmean(n.shown for n in nodes))


def measured_rows(
    corpus: outside.Corpus, cases: Sequence[outside.Case], *, embed: memory.Embed, build: Build, nodes: Nodes
) -> Iterator[measured.Row]:
    """One row a case, by scope; `ms` is what retrieval took."""
    groups: dict[Any, list[outside.Case]] = {}
    for case in cases:
        groups.setdefault((case.scope, case.principal), []).append(case)
    for some in groups.values():
        subjects = {s.item.id: s for s in subject.of(corpus.visible(some[0]))}
        made = nodes(list(subjects.values()), embed)
        retrieve = build(made)
        members = _members(made)
        for case in some:
            vector = embed([case.question])[0].tolist()
            started = time.perf_counter()
            found = retrieve(case.question, vector)
            ms = (time.perf_counter() - started) * 1e3
            held = measured.held(
                case, {b: Pile(subjects, order, members=members, budget=b) for b, order in found.items()}
            )
            yield measured.Row(
                id=case.id,
                visible=len(subjects),
                required=len(case.required),
                held=held,
                random=measured.Held(recall={}, usable={}),
                end_to_end=sum(r in subjects for r in case.required) / len(case.required),
                missing=(),
                ms=ms,
            )


class Pile:
    """What was found, one under another, as far as the budget reaches: characters over four."""

    def __init__(
        self,
        subjects: Mapping[str, subject.Subject],
        found: Sequence[str],
        *,
        members: Mapping[str, Sequence[str]],
        budget: int,
    ) -> None:
        """`members`: the items of what is no item itself."""
        self._subjects = subjects
        self._told: dict[str, str] = {}
        left = budget * 4 + len(BETWEEN)
        for id in found:
            told = {m: shown(subjects[m]) for m in ((id,) if id in subjects else members[id]) if m not in self._told}
            cost = sum(len(text) + len(BETWEEN) for text in told.values())
            if cost <= left:
                left -= cost
                self._told |= told

    def mentions(self, id: str) -> bool:
        """Whether it was found and fits."""
        return id in self._told

    def holds(self, id: str) -> bool:
        """Whether what stands of it can be used, by our own rule."""
        return id in self._told and measured.is_usable(
            self._subjects[id].item, self._subjects[id].names, self._told[id]
        )


def shown(one: subject.Subject) -> str:
    """What stands of it in a document."""
    item = one.item
    if item.kind == "table" and one.names:
        return f"{item.title}({', '.join(one.names)})"
    head = item.title or item.lead
    return f"{head}: {item.text}" if head else item.text


def _searched(one: subject.Subject) -> str:
    item = one.item
    said = [v for v in item.fields.values() if isinstance(v, str)] if item.is_part else []
    return "\n".join(t for t in (", ".join([item.title or item.lead, *said]), item.text) if t)


Nodes = Callable[[Sequence[subject.Subject], memory.Embed], list[_peers.Node]]


def single(subjects: Sequence[subject.Subject], embed: memory.Embed) -> list[_peers.Node]:
    """A node an item."""
    vectors = embed([memory.said(s) for s in subjects])
    return [
        _peers.Node(id=s.item.id, text=_searched(s), vector=v, parent=s.place, shown=len(shown(s)) / 4)
        for s, v in zip(subjects, vectors, strict=True)
    ]


def chunks(subjects: Sequence[subject.Subject], embed: memory.Embed) -> list[_peers.Node]:
    """A node for what was said after another in one place, as long as a chunk may be."""
    found: list[list[subject.Subject]] = []
    room, place = 0, ""
    for one in subjects:
        size = len(shown(one))
        if one.place != place or size > room:
            found.append([])
            room, place = CHUNK, one.place
        found[-1].append(one)
        room -= size
    texts = ["\n".join(shown(s) for s in some) for some in found]
    return [
        _peers.Node(
            id=f"chunk {n}",
            text=text,
            vector=vector,
            shown=len(text) / 4,
            members=tuple(s.item.id for s in some),
        )
        for n, (some, text, vector) in enumerate(zip(found, texts, embed(texts), strict=True))
    ]


def _members(nodes: Sequence[_peers.Node]) -> dict[str, list[str]]:
    """Of chunks, and of the places that nodes may be merged into."""
    found: dict[str, list[str]] = {n.id: list(n.members) for n in nodes if n.members}
    for node in nodes:
        if node.parent:
            found.setdefault(node.parent, []).append(node.id)
    return found


def _speed(options: Mapping[str, str]) -> Report:
    same = {k: options[k] for k in ("nodes", "questions", "scope", "seed", "url", "data") if k in options}
    ours = context.run(same).figures
    share = int(options.get("scope", "10"))
    areas = [f"a{n:02}" for n in range(share * context.AREAS // 100)]
    seed = int(options.get("seed", "7"))
    pages = _pages(int(options.get("nodes", "100000")), seed)
    asked = context.questions(seed, int(options.get("questions", "60")))
    figures = {f"Ukai.{k}": ours[k] for k in ("p50_ms", "p95_ms", "warm_p50_ms", "first_ms", "document_characters")}
    for name, pipeline in _peers.PIPELINES.items():
        figures |= _timed(f"{name}, filter", lambda p=pipeline: p(pages, depth=DEPTH, areas=areas), pages, asked)
        inside = [p for p in pages if p.area in areas]
        figures |= _timed(f"{name}, scoped", lambda p=pipeline, i=inside: p(i, depth=DEPTH), inside, asked)
    ratios = {
        f"Ukai.{q}_over_{name}": round(ours[q] / figures[f"{name}.{q}"], 3)
        for name in _settings(figures)
        for q in ("p50_ms", "p95_ms")
        if name != "Ukai"
    }
    body = [[name, *(f"{figures[f'{name}.{q}']:.0f} ms" for q in ("p50_ms", "p95_ms"))] for name in _settings(figures)]
    table = at_budgets.markdown(["", "p50", "p95"], body)
    return Report(figures=figures, ratios=ratios, notes=tuple(table.splitlines()))


def _settings(figures: Mapping[str, float]) -> list[str]:
    return list(dict.fromkeys(k.rpartition(".")[0] for k in figures))


def _pages(nodes: int, seed: int) -> list[_peers.Node]:
    """The generated tree."""
    count = tokens.counter().count
    found: list[_peers.Node] = []
    for pages, vectors in context.batches(nodes=nodes, seed=seed):
        for page, vector in zip(pages, vectors, strict=True):
            fields = page["fields"]
            text = f"{fields['title']}\n{fields['body']}"
            found.append(
                _peers.Node(
                    id=fields["number"], text=text, vector=vector, area=fields["area"], shown=count(text + BETWEEN)
                )
            )
    return found


def _timed(
    name: str, build: Callable[[], _peers.Retrieve], pages: Sequence[_peers.Node], asked: Sequence[str]
) -> dict[str, float]:
    """From the question to the rendered document, as `ukai bench context` times its own."""
    started = time.perf_counter()
    retrieve = build()
    load_s = time.perf_counter() - started
    by_id = {p.id: p for p in pages}
    model = minilm.default()
    heap.settle()
    each: list[float] = []
    characters: list[int] = []
    for question in asked:
        started = time.perf_counter()
        document = _rendered(by_id, retrieve(question, model.embed([question])[0].tolist()))
        each.append((time.perf_counter() - started) * 1e3)
        characters.append(len(document))
    del retrieve
    gc.unfreeze()
    gc.collect()
    p50, p95 = np.quantile(each[WARM_UP:], (0.5, 0.95), method="higher").tolist()
    return {
        f"{name}.p50_ms": p50,
        f"{name}.p95_ms": p95,
        f"{name}.load_s": load_s,
        f"{name}.document_characters": fmean(characters),
    }


def _rendered(by_id: Mapping[str, _peers.Node], found: Sequence[str]) -> str:
    left, pieces = BUDGET_TOKENS, list[str]()
    for id in found:
        page = by_id[id]
        if page.shown <= left:
            left -= page.shown
            pieces.append(page.text)
    return BETWEEN.join(pieces)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")

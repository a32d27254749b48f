"""`ukai bench checks`: how long all checks take over saved runs with a lot of evidence (P8, X5).

Options: `--runs` (1000), `--kib` of evidence a run (100), `--seed`, `--workers` (all cores). Everything is generated
from the seed: sixty items a call, prose and JSON, answers of twelve sentences with figures, names, a quote, citations,
a rewrite and firings. Once with the figures read when the calls were saved, once without; half as many runs give the
growth.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ukai import record
from ukai.app.bench import Report
from ukai.kit import canonical
from ukai.measure import CHECKS, batch
from ukai.record import draft, seal

AT = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
_WORDS = [
    "account",
    "renewal",
    "usage",
    "seller",
    "support",
    "ticket",
    "owner",
    "stage",
    "deal",
    "risk",
    "plan",
    "invoice",
    "region",
    "quarter",
    "pricing",
    "evidence",
    "review",
    "note",
    "outcome",
    "signal",
    "adoption",
    "contract",
    "rollout",
    "onboarding",
    "training",
    "budget",
    "approval",
    "legal",
    "finance",
    "security",
    "integration",
    "export",
    "backlog",
    "sponsor",
    "champion",
    "timeline",
    "delay",
    "migration",
    "audit",
    "scope",
    "price",
    "seat",
    "licence",
    "discount",
]
_NAMES = [
    "Okafor",
    "Reyes",
    "Lindt",
    "Tanaka",
    "Nair",
    "Whitlock",
    "Fischer",
    "Moreau",
    "Silva",
    "Novak",
    "Berg",
    "Castillo",
    "Dunn",
    "Ekman",
    "Farrell",
]


def run(options: Mapping[str, str]) -> Report:
    """Generate, weigh with all checks, report seconds."""
    count, kib, seed = (int(options.get(k, v)) for k, v in (("runs", 1000), ("kib", 100), ("seed", 7)))
    workers = int(options.get("workers", os.cpu_count() or 1))
    lines = batch.pooled(_made, [(seed, i, kib) for i in range(count)], workers=workers)
    saved, bare = [line for line, _ in lines], [line for _, line in lines]
    half = _seconds(saved[: count // 2], workers)
    whole = _seconds(saved, workers)
    scratch = _seconds(bare, workers)
    figures = {
        "saved_s": whole,
        "scratch_s": scratch,
        "saved_half_s": half,
        "runs": float(count),
        "evidence_kib": float(kib),
        "record_kib": sum(map(len, saved)) / len(saved) / 1024,
        "workers": float(workers),
        "cpu_ms_a_run_saved": _cpu_ms(saved[:40]),
        "cpu_ms_a_run_scratch": _cpu_ms(bare[:40]),
    }
    return Report(
        figures=figures,
        ratios={"growth_when_doubled": whole / half / 2, "scratch_to_saved": scratch / whole},
        notes=("reading the JSON of the records is counted", "growth 1 is linear in runs, 2 quadratic"),
    )


def _seconds(lines: Sequence[str], workers: int) -> float:
    start = time.perf_counter()
    batch.weighed(lines, list(CHECKS), name="bench", workers=workers)
    return time.perf_counter() - start


def _cpu_ms(lines: Sequence[str]) -> float:
    """In this process, which other work on the machine does not touch."""
    batch.weighed(lines[:2], list(CHECKS), name="warm")
    start = time.process_time()
    batch.weighed(lines, list(CHECKS), name="bench")
    return (time.process_time() - start) / len(lines) * 1_000


def _made(given: tuple[int, int, int]) -> tuple[str, str]:
    """One run as JSON, with and without its figures."""
    seed, i, kib = given
    made = _run(random.Random(f"{seed}/{i}"), i, kib * 1024)
    bare = replace(made, calls=tuple(replace(call, figures=None) for call in made.calls))
    return seal.dumps(made), seal.dumps(bare)


def _run(rng: random.Random, i: int, size: int) -> record.Run:
    calls: list[record.Call] = []
    written = 0
    while written < size:
        items = tuple(_item(rng, len(calls), k) for k in range(60))
        written += sum(len(item.words) for item in items)
        call = record.Call(
            call_id=f"c{len(calls)}",
            tool=rng.choice(("search_records", "read_record", "query")),
            args_canonical=canonical.dumps({"account": rng.choice(_NAMES)}),
            t0=AT,
            t1=AT + timedelta(milliseconds=rng.randrange(5, 900)),
            label="data",
            label_rule="returned",
            items=items,
        )
        calls.append(replace(call, figures=draft.figures_of(call)))
    answer, citations = _answer(rng, calls)
    sentences = draft.units_of(answer)
    first = sentences[0]
    mark = record.Mark(text=answer[first.start : first.start + 12], start=first.start, end=first.start + 12)
    return seal.sealed(
        record.Run(
            run_id=f"bench-{i}",
            agent="deal-coach",
            principal="ann@example.com",
            surface="cli",
            question=f"What is the state of {rng.choice(_NAMES)}?",
            started_at=AT,
            ended_at=AT + timedelta(seconds=rng.randrange(2, 40)),
            as_of=AT,
            case_id=f"case-{i // 5}",
            rep=i % 5,
            config=record.Config(model="extractive"),
            status="answered",
            calls=tuple(calls),
            answer=record.Answer(markdown=answer, sentences=sentences),
            citations=tuple(record.Citation(sentence=n, item_key=key) for n, key in citations if n < len(sentences)),
            firings=(
                record.Firing(stage="output", rule="no-discounts@1", verdict="pass"),
                record.Firing(stage="output", rule="tone@2", verdict="rewrite", marks=(mark,), rewrite_of=answer),
            ),
            usage=(record.Usage(model="extractive", input=25_000, output=300),),
        )
    )


def _item(rng: random.Random, call: int, k: int) -> record.Item:
    key = f"Call#{rng.choice(_NAMES).lower()}-{call}-{k}/turn/{rng.randrange(90)}"
    if k % 4 == 0:
        value = {"name": rng.choice(_NAMES), "arr": rng.randrange(10**4, 10**6), "stage": rng.choice(_WORDS)}
        value |= {"renewal": f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 28):02}", "note": _prose(rng, 30)}
        return record.Item(item_key=key, value=value)
    return record.Item(item_key=key, text=_prose(rng, rng.randrange(20, 90)))


def _prose(rng: random.Random, words: int) -> str:
    said: list[str] = []
    while len(said) < words:
        length = rng.randrange(8, 18)
        sentence = [rng.choice(_WORDS) for _ in range(length)]
        if rng.random() < 0.6:
            sentence[length // 2] = rng.choice(
                (f"${rng.randrange(1, 900)},{rng.randrange(100, 999)}", f"{rng.randrange(2, 99)}%")
            )
        if rng.random() < 0.3:
            sentence[1] = rng.choice(_NAMES)
        said += [" ".join(sentence).capitalize() + "."]
        words -= length - 1
    return " ".join(said)


def _answer(rng: random.Random, calls: Sequence[record.Call]) -> tuple[str, list[tuple[int, str]]]:
    """Sentences of the evidence, some cited, one quoted, one with a wrong figure."""
    items = [item for call in calls for item in call.items if item.text]
    said: list[str] = []
    citations: list[tuple[int, str]] = []
    for n in range(12):
        item = rng.choice(items)
        sentence = str(item.text).split(". ")[0].rstrip(".")
        if n == 3:
            sentence = f"They say “{sentence}” in the call"
        if n == 5:
            sentence += f" and {rng.randrange(1000, 9000)} seats"
        if n % 3 == 0:
            citations.append((n, item.item_key))
        said.append(sentence + ".")
    return " ".join(said[:4]) + "\n\n" + " ".join(said[4:]), citations

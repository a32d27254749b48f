"""Every figure of docs/design/measure.md, from the public sets: `python -m tests.measure.full [PART ..]`.

Parts: labelled, tatqa, locomo, planted, rewrites, paraphrases, citations, quotes. Some minutes for all.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from tests.measure import corpora, rewrites
from ukai import measure, record
from ukai.kit import figures, sentences
from ukai.measure import normal, outside, stats
from ukai.measure.checks import rewrite

FIGURES = measure.CHECKS["invented_figures"]()
NAMES = measure.CHECKS["names"]()


def scores(row: dict[str, Any], *checks: Any) -> list[measure.Score]:
    weighable, findings = outside.read_line(json.dumps(row), "full")
    assert weighable is not None, findings
    reading = measure.Reading(weighable.run)
    return [check.weigh(reading, weighable.case) for check in checks]


def share(hits: int, of: int) -> dict[str, Any]:
    return stats.wilson(hits, of).as_json()


def caught(rows: Iterable[dict[str, Any]], *checks: Any) -> dict[str, Any]:
    """Recall and false alarms, all and by half."""
    tally: Counter[tuple[str, bool, bool]] = Counter()
    for row in rows:
        if "label" in row:
            flagged = any(score.is_flagged for score in scores(row, *checks))
            for half in ("all", "even" if corpora.is_even(row) else "odd"):
                tally[half, row["label"], flagged] += 1
    found: dict[str, Any] = {}
    for half in ("all", "even", "odd"):
        wrong = tally[half, True, True] + tally[half, True, False]
        right = tally[half, False, True] + tally[half, False, False]
        hits, alarms = tally[half, True, True], tally[half, False, True]
        found[half] = {
            "caught": share(hits, wrong), "false_alarms": share(alarms, right), "precision": share(hits, hits + alarms)
        }  # fmt: skip
    return found


def labelled() -> dict[str, Any]:
    sales, earnings = list(corpora.summedits("sales_call")), list(corpora.summedits("ectsum"))
    qa = list(corpora.ragtruth())
    return {
        f"{name}: {' and '.join(c.name for c in checks)}": caught(rows, *checks)
        for name, rows in (
            ("SummEdits sales calls", sales),
            ("SummEdits earnings calls", earnings),
            ("RAGTruth qa", qa),
        )
        for checks in ((FIGURES,), (NAMES,), (FIGURES, NAMES))
    }


def corrupted(text: str, rng: random.Random) -> str:
    """One digit is another; the first never becomes 0."""
    places = [i for i, c in enumerate(text) if c.isdigit()]
    i = rng.choice(places)
    others = [d for d in "0123456789" if d != text[i] and not (d == "0" and i == places[0] and len(places) > 1)]
    return text[:i] + rng.choice(others) + text[i + 1 :]


def verdict(row: dict[str, Any], end: int) -> str:
    """What the check says of the figures before `end`, the worst first."""
    kinds = {flag.kind for flag in scores(row, FIGURES)[0].flags if flag.start < end}
    order = ("miscalculated", "invented", "weak", "soft", "derived")
    return next((kind for kind in order if kind in kinds), "supported")


def tatqa() -> dict[str, Any]:
    """Of numeric gold answers what they are called, and what the same with one wrong digit is called."""
    gold: Counter[tuple[str, str]] = Counter()
    planted: Counter[tuple[str, str]] = Counter()
    rng = random.Random(3)
    for row in corpora.tatqa():
        stated = row["detail"]["stated"]
        if not figures.extract(stated) or row["detail"]["kind"] == "count" or not is_numeric(stated):
            continue
        kind = "derivation" if row["answer"] != stated else "quoted"
        gold[kind, verdict(row, len(stated))] += 1
        wrong = corrupted(stated, rng)
        planted[kind, verdict(row | {"answer": wrong + row["answer"][len(stated) :]}, len(wrong))] += 1
    return {
        "gold": {f"{k} {v}": n for (k, v), n in sorted(gold.items())},
        "one digit wrong": {f"{k} {v}": n for (k, v), n in sorted(planted.items())},
    }


def is_numeric(text: str) -> bool:
    """Numbers with their units and nothing else."""
    for word in ("thousand", "million", "billion", "percent"):
        text = text.replace(word, "")
    return not any(c.isalpha() for c in text)


def locomo() -> dict[str, Any]:
    rows = list(corpora.locomo())
    found: dict[str, Any] = {}
    for kind in ("specific", "vague"):
        own = [r for r in rows if r["detail"]["kind"] in (kind, "true")]
        found[kind] = caught(own, FIGURES, NAMES)["all"] | {
            "figures alone": caught(own, FIGURES)["all"]["caught"],
            "accepted by most verdicts of the judge": share(
                sum(r["detail"]["accepted"] >= 2 for r in own if r["detail"]["kind"] == kind),
                sum(r["detail"]["kind"] == kind for r in own),
            ),
        }
    return found


def planted(sizes: Sequence[int] = (3, 120, 480), every: int = 1) -> dict[str, Any]:
    """True figures of clean RAGTruth answers, each also four times with one digit wrong, in more and more evidence.

    `every` takes one answer in so many.

    The evidence is the answer's own and that of others, TAT-QA's pages among them, in an order of its own. Figures are
    read once a text, so the index of the check is asked as the check asks it.
    """
    rows = list(corpora.ragtruth())
    filler = sorted({tuple(e["text"] for e in r["evidence"]) for r in [*rows, *corpora.tatqa()]})
    clean = [row for row in rows if not row["label"]][::every]
    extract = figures.extract
    figures.extract = lru_cache(maxsize=None)(extract)
    try:
        return {f"{kib} KiB": _planted(clean, filler, kib) for kib in sizes}
    finally:
        figures.extract = extract


def _planted(rows: Sequence[dict[str, Any]], filler: Sequence[tuple[str, ...]], kib: int) -> dict[str, Any]:
    rng = random.Random(7)
    tally: Counter[tuple[str, str]] = Counter()
    for row in rows:
        wide = row | {"evidence": _widened(row, filler, kib)}
        halves = ("all", "even" if corpora.is_even(row) else "odd")
        alone = {f.start for f in scores(row, FIGURES)[0].flags if f.kind != "weak"}
        weak = {f.start for f in scores(wide, FIGURES)[0].flags if f.kind == "weak"}
        for figure in extract_hard(row["answer"]):
            if figure.start in alone:
                continue
            _count(tally, halves, true=1, weak=figure.start in weak)
            for _ in range(4):
                kinds = _kinds_of_wrong(wide, figure, rng)
                if kinds is not None:
                    gated = bool(kinds & {"invented", "miscalculated"})
                    _count(tally, halves, planted=1, gated=gated, caught=gated or "weak" in kinds)
    return {
        half: {
            "caught": share(tally[half, "caught"], tally[half, "planted"]),
            "gated": share(tally[half, "gated"], tally[half, "planted"]),
            "true called weak": share(tally[half, "weak"], tally[half, "true"]),
        }
        for half in ("all", "even", "odd")
    }


def extract_hard(text: str) -> list[figures.Figure]:
    return [f for f in figures.extract(text) if figures.is_hard(f) and any(c.isdigit() for c in f.text)]


def _count(tally: Counter[tuple[str, str]], halves: tuple[str, ...], **counts: int) -> None:
    for half in halves:
        for name, count in counts.items():
            tally[half, name] += count


def _widened(row: dict[str, Any], filler: Sequence[tuple[str, ...]], kib: int) -> list[dict[str, str]]:
    evidence = list(row["evidence"])
    size = sum(len(e["text"]) for e in evidence)
    for n, texts in enumerate(random.Random(row["id"]).sample(list(filler), len(filler)) * 9):
        if size >= kib * 1024:
            break
        evidence += [{"key": f"other {n}/{i}", "text": text} for i, text in enumerate(texts)]
        size += sum(map(len, texts))
    return evidence


def _kinds_of_wrong(row: dict[str, Any], figure: figures.Figure, rng: random.Random) -> set[str] | None:
    """What the check calls the figure with one digit wrong; None when it is then no hard figure, or says the same."""
    wrong = row["answer"][: figure.start] + corrupted(figure.text, rng) + row["answer"][figure.end :]
    now = next((f for f in figures.extract(wrong) if f.start == figure.start), None)
    if now is None or figures.is_soft(now) or now.said == figure.said:
        return None
    return {f.kind for f in scores(row | {"answer": wrong}, FIGURES)[0].flags if f.start == figure.start}


def flags_of(made: rewrites.Made) -> set[str]:
    places = [(made.original.index(words), words) for words in made.marks]
    marks = tuple(record.Mark(text=words, start=at, end=at + len(words)) for at, words in places)
    given = rewrite.Rewritten(original=made.original, marks=marks, text=made.text)
    return {flag.kind for flag in rewrite.weighed(given)}


def rewritten(count: int = 2_000) -> dict[str, Any]:
    tally: Counter[tuple[str, bool, bool]] = Counter()
    exact = 0
    for made in rewrites.made(count):
        kinds = flags_of(made)
        collateral = kinds & {"missing", "reworded", "new"}
        exact += collateral == made.collateral
        tally["residue", made.residue, "residue" in kinds] += 1
        tally["collateral", bool(made.collateral), bool(collateral)] += 1
        tally["quiet_loss", made.quiet_loss, "quiet_loss" in kinds] += 1
    found: dict[str, Any] = {"kinds": len(rewrites.KINDS), "split exactly": share(exact, count)}
    for name in ("residue", "collateral", "quiet_loss"):
        hits = tally[name, True, True]
        found[name] = {
            "precision": share(hits, hits + tally[name, False, True]),
            "recall": share(hits, hits + tally[name, True, False]),
        }
    return found


def paraphrases() -> dict[str, Any]:
    """Summaries that people called consistent, beside the summary that they reword; no mark anywhere."""
    found: dict[str, Any] = {}
    for name in ("sales_call", "ectsum"):
        tally: Counter[str] = Counter()
        for row in corpora.summedits(name):
            original = row["detail"]["original"]
            if row["label"] or not original or normal.text(original) == normal.text(row["answer"]):
                continue
            flags = rewrite.weighed(rewrite.Rewritten(original=original, marks=(), text=row["answer"]))
            kinds = {flag.kind for flag in flags}
            tally["missing" if "missing" in kinds else "reworded"] += 1
        found[name] = share(tally["reworded"], tally.total())
    return found


def citations() -> dict[str, Any]:
    """Sentences of consistent summaries that cite their document, and the same citing another of the genre."""
    check = measure.CHECKS["citations"]()
    found: dict[str, Any] = {}
    for name in ("sales_call", "ectsum"):
        documents = {d["doc"]: d["text"] for d in corpora.rows(corpora.SUMMEDITS / f"{name}.docs.jsonl")}
        evidence = [{"key": f"Doc#{key}", "text": text} for key, text in sorted(documents.items())]
        rng = random.Random(5)
        tally: Counter[tuple[bool, str]] = Counter()
        for row in corpora.summedits(name):
            if row["label"] or rng.random() > 0.3:
                continue
            own = f"Doc#{row['evidence'][0]['key']}"
            other = rng.choice([e["key"] for e in evidence if e["key"] != own])
            for unit in sentences.split(row["answer"]):
                text = row["answer"][unit.start : unit.end].rstrip(".")
                for key in (own, other):
                    given = row | {"evidence": evidence, "answer": f"{text} [{key}]."}
                    score = scores(given, check)[0]
                    said = "gated" if score.is_flagged else "silent" if score.flags else "fine"
                    tally[key == own, said] += 1
        found[name] = {
            f"{'right' if right else 'wrong'} citations {said}": share(
                tally[right, said], sum(n for (own, _), n in tally.items() if own == right)
            )
            for right in (True, False)
            for said in ("gated", "silent")
        }
    return found


def quotes() -> dict[str, Any]:
    """Sentences of the sales calls in quotation marks: as they stand, with one word changed, and from another call."""
    check = measure.CHECKS["quotes"]()
    documents = [d["text"] for d in corpora.rows(corpora.SUMMEDITS / "sales_call.docs.jsonl")]
    rng = random.Random(9)
    tally: Counter[tuple[str, str]] = Counter()
    for i, text in enumerate(documents):
        units = [text[s.start : s.end] for s in sentences.split(text)]
        able = [u for u in units if 6 <= len(u.split()) <= 40 and not set('"“”') & set(u)]
        for said in rng.sample(able, min(20, len(able))):
            changed = said.split()
            changed[len(changed) // 2] = "allegedly"
            for kind, quote, evidence in (
                ("as it stands", said, text),
                ("one word changed", " ".join(changed), text),
                ("from another call", said, documents[(i + 1) % len(documents)]),
            ):
                row = {
                    "id": "q",
                    "evidence": [{"key": "Call#1", "text": evidence}],
                    "answer": f"They said “{quote}” then.",
                }
                flags = scores(row, check)[0].flags
                tally[kind, flags[0].kind if flags else "fine"] += 1
    return {f"{kind}: {said}": n for (kind, said), n in sorted(tally.items())}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "labelled": labelled, "tatqa": tatqa, "locomo": locomo, "planted": planted, "rewrites": rewritten,
    "paraphrases": paraphrases, "citations": citations, "quotes": quotes,
}  # fmt: skip


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        sys.stdout.write(json.dumps({part: PARTS[part]()}, indent=1) + "\n")

"""`ukai bench figures`: how well and how fast the figures of a text are read, quantulum3 beside it in the same run.

Sentences, definition and matching rule: docs/design/figures.md. Options: `--reference no` leaves quantulum3 out,
`--misses N` adds the first N misses of the even half as notes (the odd half is only ever counted).
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from ukai.app.bench import Report
from ukai.kit import figures
from ukai.kit.errors import PermanentError

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("UKAI_SHARED_DATA", ROOT.parent / "shared" / "data"))
LABELS = ROOT / "tests" / "kit" / "figure_labels.jsonl"
AMOUNTS = ("number", "money", "percent")
SIZES_KIB = (64, 256, 1024)
REPEATED = (
    "7",
    "(1",
    "1,",
    "a-",
    "a@",
    "<a",
    "](",
    "[1,",
    "two and ",
    "half a ",
    "`a",
    " ",
    "Q1",
    "1:",
    "_5",
    "1 234 ",
)
"""What a careless pattern would need quadratic time for."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """One labelled (or found) figure of a sentence."""

    start: int
    end: int
    kind: str
    value: str
    unit: str | None = None

    def overlaps(self, other: Label) -> bool:
        """Whether they share a character."""
        return self.start < other.end and other.start < self.end

    def matches(self, found: Label, *, by_kind: bool) -> bool:
        """The matching rule of the design page."""
        return self.overlaps(found) and (not by_kind or self.kind == found.kind) and _same(self.value, found.value)


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of the corpora with its labels."""

    text: str
    sha256: str
    labels: tuple[Label, ...]

    @property
    def is_even(self) -> bool:
        """The half that the extractor may be corrected on."""
        return int(self.sha256[-1], 16) % 2 == 0


@dataclass(frozen=True, kw_only=True)
class Score:
    """Counts over a set of sentences."""

    right: int
    found: int
    labelled: int

    @property
    def precision(self) -> float:
        """Share of what was found that is labelled so."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of what is labelled that was found."""
        return self.right / self.labelled if self.labelled else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        return 2 * self.right / (self.found + self.labelled) if self.found + self.labelled else 0.0


Extractor = Callable[[str], list[Label]]


def run(options: Mapping[str, str]) -> Report:
    """F1 on all labels and on each half; by value alone for both extractors; speed and its growth with length."""
    sentences = labelled()
    halves = {
        "all": sentences,
        "even": [s for s in sentences if s.is_even],
        "odd": [s for s in sentences if not s.is_even],
    }
    numbers: dict[str, float] = {"sentences": len(sentences), "labels": sum(len(s.labels) for s in sentences)}
    for name, half in halves.items():
        score, _ = weigh(half, ours, by_kind=True)
        numbers |= {f"f1_{name}": score.f1, f"precision_{name}": score.precision, f"recall_{name}": score.recall}
        numbers[f"f1_value_only_{name}"] = weigh(half, ours, by_kind=False)[0].f1
    numbers["sentences_per_s"] = _speed(sentences, ours)
    numbers |= _throughput()
    worst = {unit: _growth(unit) for unit in REPEATED}
    ratios = {"growth_worst_repetition": max(worst.values())}
    ratios |= {"growth_64_to_1024_kib": numbers["seconds_1024_kib"] / (16 * numbers["seconds_64_kib"])}
    if options.get("reference", "yes") != "no":
        theirs = quantulum()
        for name, half in halves.items():
            numbers[f"quantulum3_f1_value_only_{name}"] = weigh(half, theirs, by_kind=False)[0].f1
        numbers["quantulum3_sentences_per_s"] = _speed(sentences, theirs)
        ratios["f1_value_only_to_quantulum3"] = numbers["f1_value_only_all"] / numbers["quantulum3_f1_value_only_all"]
        ratios["speed_to_quantulum3"] = numbers["sentences_per_s"] / numbers["quantulum3_sentences_per_s"]
    _, misses = weigh(halves["even"], ours, by_kind=True)
    return Report(figures=numbers, ratios=ratios, notes=tuple(misses[: int(options.get("misses", "0"))]))


def labelled(labels: Path = LABELS, data: Path = DATA) -> list[Sentence]:
    """The labelled sentences, read from the corpora; each is checked against its hash.

    Raises PermanentError when the corpora are absent or differ.
    """
    rows = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    files: dict[str, list[dict[str, Any]]] = {}
    for name in {row["file"] for row in rows}:
        if not (data / name).exists():
            raise PermanentError(
                f"the corpus {name!r} is not here", hint="Set UKAI_SHARED_DATA to the folder of the public corpora"
            )
        files[name] = [json.loads(line) for line in (data / name).read_text("utf-8").splitlines()]
    return [_sentence(row, files[row["file"]][row["record"]]) for row in rows]


def _sentence(row: dict[str, Any], record: dict[str, Any]) -> Sentence:
    page = record["paragraphs"][row["paragraph"]]["text"] if "paragraph" in row else record["text"]
    text: str = page[row["offset"] : row["offset"] + row["length"]]
    if hashlib.sha256(text.encode()).hexdigest() != row["sha256"]:
        raise PermanentError(
            f"the corpus {row['file']!r} is not the labelled one", hint="Compare the checksums of the corpora"
        )
    labels = tuple(
        Label(start=at, end=at + n, kind=kind, value=value, unit=unit) for at, n, kind, value, unit in row["labels"]
    )
    return Sentence(text=text, sha256=row["sha256"], labels=labels)


def weigh(sentences: list[Sentence], extract: Extractor, *, by_kind: bool) -> tuple[Score, list[str]]:
    """Counts, and what was missed or made up. By value alone only amounts count; what lies on a date is passed over."""
    right = found = gold = 0
    misses: list[str] = []
    for sentence in sentences:
        wanted = [label for label in sentence.labels if by_kind or label.kind in AMOUNTS]
        others = [label for label in sentence.labels if label not in wanted]
        got = [f for f in extract(sentence.text) if not any(other.overlaps(f) for other in others)]
        if not by_kind:
            got = [f for f in got if f.kind in AMOUNTS]
        left = list(wanted)
        for figure in got:
            hit = next((label for label in left if label.matches(figure, by_kind=by_kind)), None)
            if hit is None:
                misses.append(_told("made up", figure, sentence))
            else:
                left.remove(hit)
        misses += [f"missed {x.kind} {x.value} [{sentence.text[x.start : x.end]}] {sentence.sha256[:8]}" for x in left]
        right, found, gold = right + len(wanted) - len(left), found + len(got), gold + len(wanted)
    return Score(right=right, found=found, labelled=gold), misses


def _told(what: str, label: Label, sentence: Sentence) -> str:
    stretch = sentence.text[label.start : label.end]
    return f"{what} {label.kind} {label.value} [{stretch}] {sentence.sha256[:8]}"


def ours(text: str) -> list[Label]:
    """Our extractor in the shape of labels."""
    return [Label(start=f.start, end=f.end, kind=f.kind, value=f.said, unit=f.unit) for f in figures.extract(text)]


def quantulum() -> Extractor:
    """quantulum3 in the shape of labels: the value of each quantity with its scale, and no kinds but these three.

    Its classifier would need scikit-learn and a downloaded word model; without them it disambiguates units by rule.
    """
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser: Any = importlib.import_module("quantulum3.parser")

    def extract(text: str) -> list[Label]:
        try:
            rows = parser.parse(text)
        except Exception:  # it raises on some ordinary sentences, which count as nothing found
            return []
        return [
            Label(start=q.span[0], end=q.span[1], kind=_their_kind(q.unit), value=format(Decimal(repr(q.value)), "f"))
            for q in rows
        ]

    return extract


def _their_kind(unit: Any) -> str:
    entity = unit.entity.name
    return "money" if entity == "currency" else "percent" if unit.name == "percentage" else "number"


def _same(a: str, b: str) -> bool:
    try:
        return Decimal(a) == Decimal(b)
    except ArithmeticError:
        return a == b


def _speed(sentences: list[Sentence], extract: Extractor) -> float:
    start = time.perf_counter()
    for sentence in sentences:
        extract(sentence.text)
    return len(sentences) / (time.perf_counter() - start)


def _throughput() -> dict[str, float]:
    """Seconds for growing stretches of the corpora's own text, the best of three."""
    numbers: dict[str, float] = {}
    text = "\n".join(_pages())
    while len(text) < 1024 * 1024:
        text += text
    for size in SIZES_KIB:
        stretch = text[: size * 1024]
        numbers[f"seconds_{size}_kib"] = min(_seconds(stretch) for _ in range(3))
    numbers["mib_per_s"] = 1 / numbers["seconds_1024_kib"]
    numbers["figures_per_mib"] = len(figures.extract(text[: 1024 * 1024]))
    return numbers


def _growth(unit: str) -> float:
    """Time for 400 kB of one repeated piece against four times that of 100 kB: 1 is linear, 4 is quadratic."""
    short, long = unit * (100_000 // len(unit)), unit * (400_000 // len(unit))
    return min(_seconds(long) for _ in range(2)) / (4 * min(_seconds(short) for _ in range(3)))


def _pages() -> Iterator[str]:
    """Report pages (dense with figures) and handbook pages, in turn."""
    reports = (DATA / "faithfulness/tatqa/dev_half.jsonl").read_text("utf-8").splitlines()
    pages = (DATA / "wiki/company_handbook.jsonl").read_text("utf-8").splitlines()
    for report, page in zip(reports, pages, strict=False):
        document = json.loads(report)
        yield "\n".join(" | ".join(row) for row in document["table"]["table"])
        yield from (p["text"] for p in document["paragraphs"])
        yield json.loads(page)["text"]


def _seconds(text: str) -> float:
    start = time.process_time()
    figures.extract(text)
    return time.process_time() - start

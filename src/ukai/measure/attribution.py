"""What a change moved, by tool, rule, skill and section: what started, what stopped, which changed part is to blame.

A tool that fails more often is not yet a reason: a thinner answer is split into what it no longer had and what it had
and no longer wrote (P8.3).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from ukai import record
from ukai.measure import firings, stats, tracing, weighing
from ukai.measure.weighing import Weighed

Kind = Literal["tool", "rule", "skill", "section"]
Word = Literal["more", "less", "as before", "not enough runs"]
_WORDS: Mapping[stats.Word, Word] = {
    "better": "more",
    "worse": "less",
    "no difference": "as before",
    "not enough runs": "not enough runs",
}
LARGER_THAN = 0.1
"""A difference up to this, of shares or of the number before, is none."""
SKILL_TOOL = "use_skill"
"""Reading a skill is a call whose argument `name` says which."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """One number of one tool, rule, skill or kind of section, before and after."""

    kind: Kind
    name: str
    measure: str
    """A tool's `calls`, `errors`, `nothing`; a rule's `fires`, `fails`; a skill's `used`; a section's `kept`."""
    before: float
    after: float
    difference: stats.Difference
    adjusted: float
    """p over everything that was asked (Benjamini-Hochberg)."""
    word: Word
    started: tuple[str, ...]
    """Cases with none of it before and some after."""
    stopped: tuple[str, ...]
    part: str
    """The changed part that bears its name; empty where it moved because of something else."""

    @property
    def is_news(self) -> bool:
        """Whether it is said to have moved."""
        return self.word in ("more", "less")

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "kind": self.kind,
            "name": self.name,
            "measure": self.measure,
            "before": round(self.before, 4),
            "after": round(self.after, 4),
            "p_adjusted": round(self.adjusted, 6),
            "verdict": self.word,
            "cases": self.difference.cases,
            "started": list(self.started),
            "stopped": list(self.stopped),
            "part": self.part,
        }


@dataclass(frozen=True, kw_only=True)
class Thinner:
    """Findings that went and came, run by run of the same case and repeat."""

    runs: int
    gained: int
    had_less: int
    """The calls no longer brought the item."""
    wrote_less: int
    """They brought it, and the answer leaves it out."""
    cases: tuple[str, ...]
    """Those that lost any."""

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "runs": self.runs,
            "gained": self.gained,
            "had_less": self.had_less,
            "wrote_less": self.wrote_less,
            "cases": list(self.cases),
        }


def moved(
    before: Sequence[Weighed],
    after: Sequence[Weighed],
    *,
    changed: Mapping[str, Sequence[str]],
    seed: int = 0,
) -> tuple[Moved, ...]:
    """Everything that both sides could have, news first, each with the part of the change that bears its name."""
    own = [[(one.question.id, dict(_of(one))) for one in runs] for runs in (before, after)]
    always = {key for runs in own for _, numbers in runs for key in numbers if key[2] not in _WHERE_THERE}
    left, right = (_numbers(runs, always) for runs in own)
    clusters = weighing.clusters([*before, *after])
    gaps = {
        key: stats.paired(left.get(key, {}), right.get(key, {}), cluster=clusters, seed=seed)
        for key in sorted(left.keys() | right.keys())
    }
    adjusted = stats.reported({str(key): gap for key, gap in gaps.items() if gap.cases})
    made = [
        _moved(key, left.get(key, {}), right.get(key, {}), gap, adjusted[str(key)], changed)
        for key, gap in gaps.items()
        if gap.cases
    ]
    return tuple(sorted(made, key=lambda m: (not m.is_news, not m.part, m.adjusted, m.kind, m.name, m.measure)))


_Key = tuple[Kind, str, str]


def _moved(
    key: _Key,
    before: Mapping[str, list[float]],
    after: Mapping[str, list[float]],
    gap: stats.Difference,
    adjusted: float,
    changed: Mapping[str, Sequence[str]],
) -> Moved:
    kind, name, measure = key
    means = {case: (fmean(before[case]), fmean(after[case])) for case in sorted(before.keys() & after.keys())}
    base = fmean(old for old, _ in means.values())
    margin = LARGER_THAN * max(base, 1.0) if measure in ("calls", "kept") else LARGER_THAN
    return Moved(
        kind=kind,
        name=name,
        measure=measure,
        before=base,
        after=fmean(new for _, new in means.values()),
        difference=gap,
        adjusted=adjusted,
        word=_WORDS[gap.word(larger_than=margin, p=adjusted)],
        started=tuple(case for case, (old, new) in means.items() if not old and new),
        stopped=tuple(case for case, (old, new) in means.items() if old and not new),
        part=next((part for parts in changed.values() for part in parts if _bears(part, kind, name)), ""),
    )


def _bears(part: str, kind: Kind, name: str) -> bool:
    """`tool:search_records`, `no-discounts`, `agents/deal-coach/skills/renewal-check/SKILL.md`."""
    named = {"tool": f"tool:{name}", "rule": name}.get(kind)
    return part == named or (kind == "skill" and part.endswith(f"/skills/{name}/SKILL.md"))


def _numbers(
    runs: Sequence[tuple[str, Mapping[_Key, float]]], always: AbstractSet[_Key]
) -> dict[_Key, dict[str, list[float]]]:
    """Key -> case -> the number in each of its runs; a run in which something was not there counts as none of it."""
    found: dict[_Key, dict[str, list[float]]] = {}
    for case, own in runs:
        for key in always | own.keys():
            found.setdefault(key, {}).setdefault(case, []).append(own.get(key, 0.0))
    return found


_WHERE_THERE = ("errors", "nothing", "fires", "fails")
"""Shares of something: a run that has none of it says nothing about them."""


def _of(one: Weighed) -> Iterator[tuple[_Key, float]]:
    run = one.run
    for tool in sorted({call.tool for call in run.calls}):
        labels = [call.label for call in run.calls if call.tool == tool]
        yield ("tool", tool, "calls"), float(len(labels))
        yield ("tool", tool, "errors"), labels.count("error") / len(labels)
        yield ("tool", tool, "nothing"), labels.count("nothing") / len(labels)
    for rule, said in firings.said(run).items():
        yield ("rule", rule, "fires"), float(said == "fired")
        yield ("rule", rule, "fails"), float(said == "failed")
    for skill in sorted(_skills(run)):
        yield ("skill", skill, "used"), 1.0
    sections = [row.section.partition("#")[0] for made in one.pair[0].compositions for row in made.ranking]
    for kind in sorted(set(sections)):
        yield ("section", kind, "kept"), float(sections.count(kind))


def _skills(run: record.Run) -> set[str]:
    """Asked for by name, or read by the agent itself."""
    read = [json.loads(c.args_canonical) for c in run.calls if c.tool == SKILL_TOOL and c.label == "data"]
    return {str(args.get("name")) for args in read} | ({run.config.skill} if run.config.skill else set())


def thinner(before: Sequence[Weighed], after: Sequence[Weighed]) -> Thinner:
    """Findings of each pair of runs that answered, held against what the later run's calls brought."""
    later = {(one.question.id, one.rep): one for one in after if one.run.answer is not None}
    counts = {"runs": 0, "gained": 0, "had_less": 0, "wrote_less": 0}
    cases: dict[str, None] = {}
    for old in before:
        new = later.get((old.question.id, old.rep))
        if old.run.answer is None or new is None:
            continue
        was, now = tracing.trace(old.pair[0]).keys, tracing.trace(new.pair[0]).keys
        gone, brought = was - now, new.pair[0].returned
        counts["runs"] += 1
        counts["gained"] += len(now - was)
        counts["had_less"] += len(gone - brought)
        counts["wrote_less"] += len(gone & brought)
        if gone:
            cases[old.question.id] = None
    return Thinner(**counts, cases=tuple(cases))

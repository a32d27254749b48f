"""Runs put together: by case, by version, by everything that a comparison may vary (P8.4, P8.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ukai.kit import canonical
from ukai.measure.spec import Pair


def case_of(pair: Pair) -> str:
    """The case of a run; without one, its question."""
    reading, case = pair
    return reading.run.case_id or (case.id if case and case.id != reading.id else "") or reading.run.question


def by_case(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Case -> its runs, in the order given."""
    cases: dict[str, list[Pair]] = {}
    for pair in pairs:
        cases.setdefault(case_of(pair), []).append(pair)
    return cases


def version_of(pair: Pair) -> str:
    """What ran: the model, and a short hash over model, prose, rules, corpus and code."""
    run = pair[0].run
    config = run.config
    parts = [config.model, dict(config.prose), dict(config.guardrails), config.corpus_snapshot, run.build.commit]
    return f"{config.model or 'unnamed'} {canonical.sha256([*parts, run.build.tree])[:8]}"


def versions(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Version -> its runs. Versions stand in the order of their first run: before, then after."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(version_of(pair), []).append(pair)
    return found


@dataclass(frozen=True, kw_only=True)
class Factors:
    """The four things that can make a rule fire."""

    answer: str
    """Question and answer, hashed."""
    model: str
    code: str
    wording: str
    """Of all rules, hashed."""


NAMES = ("answer", "model", "code", "wording")


def factors(pair: Pair) -> Factors:
    """Of one run."""
    run = pair[0].run
    return Factors(
        answer=canonical.sha256([run.question, pair[0].answer]),
        model=run.config.model,
        code=canonical.sha256([run.build.commit, run.build.tree, dict(run.config.prose), run.config.corpus_snapshot]),
        wording=canonical.sha256(dict(run.config.guardrails)),
    )

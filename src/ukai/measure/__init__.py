"""The scales: checks that code can decide, over saved runs and nothing else (P8).

    readings = [measure.Reading(run) for run in runs]
    scores = measure.weigh([(reading, case) for reading in readings], [CHECKS["invented_figures"]()])

Every check is a frozen spec and a pure function; no model, no network, no clock. The pages are docs/reference/checks/.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ukai.measure.case import Case
from ukai.measure.checks import CHECKS
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Look, Score
from ukai.measure.spec import Check, GroupCheck, Pair, RunCheck

__all__ = ["CHECKS", "Case", "Check", "Flag", "GroupCheck", "Look", "Pair", "Reading", "RunCheck", "Score", "weigh"]


def weigh(pairs: Sequence[Pair], checks: Iterable[Check]) -> list[Score]:
    """Every check over every run, check by check, runs in the order given. A run is read once for all of them."""
    scores: list[Score] = []
    for check in checks:
        if isinstance(check, RunCheck):
            scores += [check.weigh(reading, case) for reading, case in pairs]
        if isinstance(check, GroupCheck):
            scores += check.weigh_all(pairs)
    return scores

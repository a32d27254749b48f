"""How well a check's flags agree with labels that people gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ukai.measure import stats


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One record: what the check said and what people said."""

    flagged: bool
    label: bool | None


def agreement(judged: Sequence[Judged]) -> dict[str, Any]:
    """Precision, recall and false-alarm rate with Wilson intervals; empty without any label."""
    labelled = [j for j in judged if j.label is not None]
    if not labelled:
        return {}
    hits = sum(j.flagged and j.label is True for j in labelled)
    alarms = sum(j.flagged and j.label is False for j in labelled)
    wrong = sum(j.label is True for j in labelled)
    return {
        "precision": stats.wilson(hits, hits + alarms).as_json(),
        "recall": stats.wilson(hits, wrong).as_json(),
        "false_alarm_rate": stats.wilson(alarms, len(labelled) - wrong).as_json(),
    }

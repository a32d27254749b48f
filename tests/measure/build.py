"""Small runs for the tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ukai import measure, record
from ukai.kit import canonical

AT = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
PLAIN = "The renewal is worth $1.2M and closes on May 5."


def call(*texts: str, tool: str = "search_records", n: int = 1, **changes: Any) -> record.Call:
    """A call that returned items `Note#n-1`, `Note#n-2`, .. with these texts."""
    given: dict[str, Any] = {
        "call_id": f"c{n}",
        "tool": tool,
        "args_canonical": canonical.dumps({"account": "harbor"}),
        "t0": AT + timedelta(seconds=n),
        "t1": AT + timedelta(seconds=n, milliseconds=20),
        "label": "data" if texts else "nothing",
        "label_rule": "returned" if texts else "empty",
        "items": tuple(record.Item(item_key=f"Note#{n}-{i}", text=text) for i, text in enumerate(texts, 1)),
    }
    return record.Call(**(given | changes))


def failed(tool: str = "search_records", n: int = 1, **changes: Any) -> record.Call:
    return call(tool=tool, n=n, label="error", label_rule="timeout", error_code="TimeoutError", **changes)


def run(answer: str | None, *texts: str, **changes: Any) -> record.Run:
    """A run that answered `answer` from items with these texts."""
    given: dict[str, Any] = {
        "run_id": "run-1",
        "agent": "deal-coach",
        "principal": "ann@example.com",
        "surface": "cli",
        "question": "What is the state of the renewal?",
        "started_at": AT,
        "as_of": AT,
        "ended_at": AT + timedelta(seconds=5),
        "config": record.Config(model="extractive"),
        "status": "answered" if answer is not None else "error",
        "calls": (call(*texts),) if texts else (),
        "answer": None if answer is None else record.Answer(markdown=answer),
    }
    return record.Run(**(given | changes))


def reading(answer: str | None, *texts: str, **changes: Any) -> measure.Reading:
    return measure.Reading(run(answer, *texts, **changes))


def score(
    check: str, answer: str | None, *texts: str, case: measure.Case | None = None, **changes: Any
) -> measure.Score:
    """One check of one run."""
    return measure.CHECKS[check]().weigh(reading(answer, *texts, **changes), case)


def told(score: measure.Score) -> list[tuple[str, str]]:
    """Kind and words of every flag."""
    return [(flag.kind, flag.words) for flag in score.flags]


def several(*runs: record.Run) -> list[measure.Pair]:
    """Runs with ids of their own."""
    return [(measure.Reading(replace(r, run_id=f"run-{i}")), None) for i, r in enumerate(runs, 1)]

"""Small runs for the tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from ukai import record
from ukai.kit import ids
from ukai.kit.clock import FixedClock

AT = datetime(2026, 11, 2, 9, 30, 0, 123456, tzinfo=UTC)


def run_id(n: int = 0) -> str:
    return str(ids.time_ordered(AT + timedelta(seconds=n), entropy=lambda size: bytes([n % 256]) * size))


def start(n: int = 0, **changes: Any) -> record.Start:
    given: dict[str, Any] = {
        "run_id": run_id(n),
        "agent": "deal-coach",
        "principal": "ann@example.com",
        "surface": "cli",
        "audience": ("ann@example.com",),
        "question": "What did Harbor say about the price?",
        "started_at": AT,
        "as_of": AT,
        "build": record.Build(commit="abc", tree="def"),
        "config": record.Config(model="extractive", prose={"agents/deal-coach/SKILL.md": "0" * 64}),
        "budget": record.Limits(tokens=15_000, seconds=120),
    }
    return record.Start(**(given | changes))


def call(text: str = "We pay $1.2M from May 5.", **changes: Any) -> record.Call:
    given: dict[str, Any] = {
        "call_id": "c1",
        "tool": "search_records",
        "args_canonical": '{"account":"harbor"}',
        "t0": AT,
        "t1": AT + timedelta(milliseconds=20),
        "label": "data",
        "label_rule": "returned",
        "items": (record.Item(item_key="Call#harbor-12/turn/31", path="calls/harbor/12", text=text),),
    }
    return record.Call(**(given | changes))


def clock() -> FixedClock:
    return FixedClock(AT)


def draft(n: int = 0, **changes: Any) -> record.Draft:
    return record.Draft(start(n, **changes), clock=clock())


def finished(n: int = 0, **changes: Any) -> record.Run:
    made = draft(n, **changes)
    made.add(call())
    made.add(record.Usage(model="extractive", input=120, output=30))
    made.refer("composition", "cmp-1")
    made.add(record.Answer(markdown="# Price\n\nHarbor pays $1.2M. It starts on May 5."))
    made.add(record.Citation(sentence=1, item_key="Call#harbor-12/turn/31"))
    return made.seal("answered")


def uuid(n: int = 0) -> UUID:
    return UUID(run_id(n))

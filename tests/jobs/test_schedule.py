"""When something is due, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis.strategies import datetimes, integers, sampled_from

from ukai.jobs import Schedule

NIGHTLY = Schedule(name="n", cron="0 3 * * *", grace=timedelta(hours=4))
BERLIN = Schedule(name="b", cron="30 2 * * *", timezone="Europe/Berlin", grace=timedelta(hours=4))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_it_is_due_from_its_minute_on_until_it_would_be_too_late():
    asked = [at(f"2026-11-30T{time}") for time in ("02:59:59", "03:00:00", "06:59:59", "07:00:01")]

    assert [NIGHTLY.due(a) for a in asked] == [None, at("2026-11-30T03:00"), at("2026-11-30T03:00"), None]
    assert NIGHTLY.next(asked[1]) == at("2026-12-01T03:00")


def test_a_night_without_that_hour_has_its_run_and_a_night_with_two_of_them_has_one():
    spring, autumn = at("2026-03-29T05:00"), at("2026-10-25T04:00")

    assert BERLIN.due(spring) == at("2026-03-29T01:00")  # 02:30 is not there: at 03:00, summer time
    assert BERLIN.due(autumn) == at("2026-10-25T00:30")  # the first of two
    assert [BERLIN.due(at(f"2026-10-25T0{h}:31")) for h in (0, 1, 2)] == [at("2026-10-25T00:30")] * 3
    assert BERLIN.next(at("2026-10-25T01:15")) == at("2026-10-26T01:30")


@settings(max_examples=30, deadline=None)
@given(
    start=datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),
    step=integers(20, 240),
    zone=sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_whoever_asks_often_enough_runs_every_night_once(start: datetime, step: int, zone: str):
    schedule = Schedule(name="n", cron="0 3 * * *", timezone=zone, grace=timedelta(hours=5))
    began = start.replace(tzinfo=UTC)
    asked = [began + timedelta(minutes=step * n) for n in range(4 * 24 * 60 // step)]

    found = {slot for a in asked if (slot := schedule.due(a)) is not None and slot > began}

    wanted, slot = set[datetime](), schedule.next(began)
    while slot <= asked[-1] - timedelta(minutes=step):
        wanted.add(slot)
        slot = schedule.next(slot)
    assert wanted <= found
    assert len({s.date() for s in found}) == len(found)

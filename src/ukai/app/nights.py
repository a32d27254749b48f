"""What the nightly recall of a workspace came to: its figures, what fell, how they went over the last nights (C45)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from ukai import jobs, store
from ukai.app import files
from ukai.catalog.composing import Recall
from ukai.measure import at_budgets

SCHEDULE = "context recall"
GRACE = timedelta(hours=4)
"""A server that comes up in the morning still measures; one that comes up at noon waits for the next night."""
KEPT = ("name", "figures", "findings", "cases")
"""What is kept of a run that measured."""
SHOWN = 5
"""Cases that are named where many hold less."""


def schedule(recall: Recall) -> jobs.Schedule:
    """When it is due."""
    return jobs.Schedule(name=SCHEDULE, cron=recall.cron, timezone=recall.timezone, grace=GRACE)


@dataclass(frozen=True, kw_only=True)
class Night:
    """One run."""

    slot: datetime
    state: Literal["running", "done", "failed"]
    said: str
    """Why it failed."""
    name: str = ""
    """The set that it was held against."""
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As `ukai context recall --json` has them; nothing of a run that failed."""
    findings: Sequence[Mapping[str, str]] = ()
    """What fell, and what could not be compared."""
    cases: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Case -> budget -> usable."""
    lost: Sequence[str] = ()
    """Cases that hold less than the night before."""

    @property
    def usable(self) -> Mapping[str, float]:
        """Budget -> usable; nothing where it was not measured."""
        return self.figures.get("usable", {})

    @property
    def alerts(self) -> list[str]:
        """Why somebody should look; nothing where all is well."""
        if self.state == "failed":
            return [self.said]
        return [f["message"] for f in self.findings if f["severity"] == "error"]

    def __str__(self) -> str:
        """One line for a log."""
        head = f"nightly recall of {self.slot:%Y-%m-%d %H:%M} UTC"
        if self.state == "failed":
            return f"{head} failed: {self.said}"
        if self.state == "running":
            return f"{head} is running"
        what = [" ".join(f"@{b} {v:.3f}" for b, v in self.usable.items()), *self.alerts]
        if self.alerts and self.lost:
            more = f" and {len(self.lost) - SHOWN} more" if len(self.lost) > SHOWN else ""
            what.append(f"less than the night before: {', '.join(self.lost[:SHOWN])}{more}")
        return f"{head}: {'; '.join(filter(None, what)) or 'no figures'}"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "slot": self.slot.isoformat(),
            "state": self.state,
            "alerts": self.alerts,
            "set": self.name,
            **{k: self.figures[k] for k in ("cases", "recall", "usable", "end_to_end") if k in self.figures},
            "lost": list(self.lost),
        }


async def last(db: store.Database, *, limit: int, until: datetime | None = None) -> list[Night]:
    """The newest first; with `until`, none that was due later (a clock was ahead)."""
    found = [_night(firing) for firing in await jobs.latest(db, SCHEDULE, limit=limit + 1, until=until)]
    return [_beside(night, found[n + 1 :]) for n, night in enumerate(found[:limit])]


def _night(firing: jobs.Firing) -> Night:
    # While a deployment is rolled, another version may have kept it: with more than we know, or less.
    kept = {key: value for key, value in (firing.result or {}).items() if key in KEPT}
    return Night(slot=firing.slot, state=firing.state, said=firing.said, **kept)


def _beside(night: Night, earlier: Sequence[Night]) -> Night:
    """With the cases that lost something since the last night that measured."""
    measured = [e.cases for e in earlier if e.state == "done"]
    if not measured:
        return night
    before = measured[0]

    def fell(case: str) -> bool:
        now = night.cases[case]
        return case in before and any(now[b] < v for b, v in before[case].items() if b in now)

    lost = tuple(case for case in night.cases if fell(case))
    return replace(night, lost=lost)


def table(nights: Sequence[Night]) -> Iterator[str]:
    """The figures over the nights, the last one below, then why somebody should look at it."""
    budgets = next((list(n.usable) for n in nights if n.usable), list[str]())
    rows: list[list[str]] = []
    for night in reversed(nights):
        cells = [f"{night.usable[b]:.3f}" if b in night.usable else "" for b in budgets]
        end = f"{night.figures['end_to_end']:.3f}" if "end_to_end" in night.figures else ""
        verdict = "fell" if night.alerts and night.state == "done" else night.state
        rows.append([f"{night.slot:%Y-%m-%d %H:%M}", verdict, *cells, end, str(night.figures.get("cases", ""))])
    yield at_budgets.markdown(["night (UTC)", "", *(f"@{int(b):,}" for b in budgets), "end-to-end", "cases"], rows)
    if nights and nights[0].alerts:
        yield str(nights[0])


def chart(nights: Sequence[Night], target: Path) -> bool:
    """Usable over the nights as an SVG file, one line a budget; False, and no file, where none was measured."""
    measured = [n for n in reversed(nights) if n.usable and n.figures.get("cases")]
    if not measured:
        return False
    files.write(target, at_budgets.over_time([(f"{n.slot:%m-%d}", n.usable) for n in measured]))
    return True


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How the nightly recall stands, for whoever looks after the deployment."""

    state: Literal["ok", "warn", "fail"]
    said: str
    hint: str = ""


LOOK = "`ukai context nightly` shows the last nights"


def standing(recall: Recall, nights: Sequence[Night], *, now: datetime) -> Standing:
    """What is to be said at `now` of the last run, and of one that should have been."""
    plan = schedule(recall)
    when = f"next at {plan.next(now):%Y-%m-%d %H:%M} UTC"
    awake = "`ukai serve` or a CronJob must be running then"
    if not nights:
        return Standing(state="warn", said=f"never ran; {when}", hint=awake)
    past = [night for night in nights if night.slot <= now]
    if not past:
        ahead = f"the last run is of {nights[0].slot:%Y-%m-%d %H:%M} UTC, which is to come: a clock was ahead"
        return Standing(state="warn", said=ahead, hint=LOOK)
    night, due = past[0], plan.newest(now - GRACE, within=timedelta(days=2))
    if due is not None and night.slot < due:
        return Standing(state="warn", said=f"{due:%Y-%m-%d %H:%M} UTC did not run; {when}", hint=awake)
    state = "fail" if night.state == "failed" else "warn" if night.alerts else "ok"
    return Standing(state=state, said=str(night), hint=LOOK if night.alerts else "")

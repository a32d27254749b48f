"""`ukai demo`: the sample company enters, one agent is asked, and another caller asks the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import ask, company, engine

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKSPACE = EXAMPLES / "harbor-apis"
AGENT = "deal-coach"
QUESTION = "What stands between Quillon and read permission on the employee directory?"
ASKS, ASKS_TOO = "ann@harbor-apis.example", "ben@harbor-apis.example"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the demonstration came to."""

    records: int
    run: dict[str, Any]
    other: dict[str, Any]
    """The same question by somebody whose account it is not."""


async def demo(
    progress: engine.Progress, *, path: Path = WORKSPACE, accounts: int | None = None, embed: int | None = None
) -> Shown:
    """Load the company if it is not there yet, and ask. Killed at any moment and run again, it goes on.

    `accounts` bounds the company, and `embed` how many passages are embedded first; None is all of them.
    """
    async with engine.opened(path) as opened:
        count = await company.enter(opened, progress=progress, accounts=accounts)
        await opened.catch_up(progress, embed=embed)
        run = await opened.ask(AGENT, QUESTION, principal=ASKS, progress=progress)
        other = await opened.ask(AGENT, QUESTION, principal=ASKS_TOO, progress=progress)
    return Shown(records=count, run=record.as_json(run), other=record.as_json(other))


def text(shown: Shown) -> str:
    """As a person reads it."""
    return "\n".join(
        [
            f"{shown.records} records of the sample company stand in the graph.",
            "",
            f"{shown.run['principal']} asks {shown.run['agent']}: {shown.run['question']}",
            "",
            ask.shown(shown.run),
            "",
            f"{shown.other['principal']} asks the same:",
            "",
            ask.shown(shown.other),
        ]
    )

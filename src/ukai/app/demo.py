"""`ukai demo`: the sample company enters, one agent is asked, and another caller asks the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ukai.app import ask, company, engine, identity
from ukai.runtime import events

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKSPACE = EXAMPLES / "harbor-apis"
AGENT = "deal-coach"
QUESTION = "What stands between Quillon and read permission on the employee directory?"
ASKS, ASKS_TOO = "ann@harbor-apis.example", "ben@harbor-apis.example"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the demonstration came to."""

    records: int
    run: ask.Outcome
    other: ask.Outcome
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
        listen = events.lines(progress)
        run = await ask.ask(opened, AGENT, QUESTION, caller=identity.local(ASKS), progress=listen)
        other = await ask.ask(opened, AGENT, QUESTION, caller=identity.local(ASKS_TOO), progress=listen)
    return Shown(records=count, run=run, other=other)


def text(shown: Shown) -> str:
    """As a person reads it."""
    return "\n".join(
        [
            f"{shown.records} records of the sample company stand in the graph.",
            "",
            f"{shown.run.run.principal} asks {shown.run.run.agent}: {shown.run.run.question}",
            "",
            ask.shown(shown.run),
            "",
            f"{shown.other.run.principal} asks the same:",
            "",
            ask.shown(shown.other),
        ]
    )

"""What a turn tells while it runs: one stream of events that every surface renders in its own way (P4.4, P4.5).

No event before `answer` carries words of the answer: a surface that shows all of them shows nothing that a rule still
reads, and nothing that was shown is ever taken back.

kind          data
started       run_id, agent
status        text: what is being done, for people
tool_started  call_id, tool; about: its arguments in short, only where no output rule applies
tool_ended    call_id, tool, label (data, nothing, error), items: how many
composed      composition: its id
held          rules: how many rules read the answer now
answer        text: the answer as it is sent
refused       text: why there is none, for the one who asked alone
ended         run_id, status, reason
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Kind = Literal["started", "status", "tool_started", "tool_ended", "composed", "held", "answer", "refused", "ended"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened."""

    kind: Kind
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def line(self) -> str:
        """One line for people who watch; empty where there is nothing to watch."""
        data = self.data
        if self.kind == "status":
            return str(data.get("text", ""))
        if self.kind == "tool_started":
            return f"{data.get('tool')} {data.get('about', '')}".strip()
        return {"composed": "reading what was composed", "held": "rules read the answer"}.get(self.kind, "")


Listener = Callable[[Event], None]


def nobody(_: Event) -> None:
    """The listener where nobody listens."""


def lines(show: Callable[[str], None]) -> Listener:
    """A listener that shows the lines for people and nothing else."""

    def listen(event: Event) -> None:
        if event.line:
            show(event.line)

    return listen

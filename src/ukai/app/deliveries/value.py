"""A question that came by chat, and how far its reply has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["received", "asked", "held", "posted", "done"]
"""In this order, and never back but from `asked` to `received`, when a turn died before it said anything."""

Part = list[str]
"""The sections of one message."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a chat says when somebody asks."""

    event_id: str
    team: str
    channel: str
    ts: str
    """Of the message with the question."""
    thread: str
    """`ts` of the message that the reply stands under."""
    user: str
    text: str
    is_direct: bool
    """Between the asker and us alone."""

    @property
    def id(self) -> str:
        """One message is one question, in however many events it comes."""
        return f"{self.team}/{self.channel}/{self.ts}"

    @property
    def conversation(self) -> str:
        """The thread, as conversations are named."""
        return f"slack:{self.team}:{self.channel}:{self.thread}"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One row."""

    question: Question
    agent: str
    state: State
    principal: str | None = None
    outcome: str | None = None
    """How the run ended; `unknown` for somebody whom nobody knows, `dropped` when there is nothing left to answer."""
    run_id: str | None = None
    parts: list[Part] = field(default_factory=list[Part])
    is_private: bool = False
    """The reply is for the asker alone."""
    posted: Mapping[int, str] = field(default_factory=dict[int, str])
    attempts: int = 0
    """How often somebody began to carry it."""

    @property
    def id(self) -> str:
        return self.question.id

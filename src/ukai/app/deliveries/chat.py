"""What a delivery needs of a chat and of whoever answers, and how a chat says that something did not work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ukai.app import identity
from ukai.app.deliveries.value import Delivery, Part, Question
from ukai.runtime.events import Listener


class NotThere(Exception):
    """The chat refuses for good: the channel is gone, or we are not in it."""


class Uncertain(Exception):
    """The chat did not say whether it took a message: it may be there. `retry_after_s` is its own wish."""

    def __init__(self, why: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of asking."""

    text: str
    outcome: str
    is_private: bool
    run_id: str | None = None
    """None where it was refused before there was a run."""


class Chat(Protocol):
    """What a chat does for a delivery. All of it may raise Uncertain or NotThere, but for `parts` and `status`."""

    async def principal(self, question: Question) -> str | None:
        """Who asks, as everybody else calls them; None for somebody nobody knows."""
        ...

    async def place(self, question: Question) -> identity.Place:
        """Who reads where the reply goes."""
        ...

    def parts(self, text: str) -> list[Part]:
        """An answer as messages."""
        ...

    async def is_there(self, question: Question) -> bool:
        """Whether the message that the reply stands under is still there."""
        ...

    async def found(self, question: Question) -> Mapping[int, str]:
        """The parts of the reply that are there: number -> ts."""
        ...

    async def post(self, delivery: Delivery, number: int) -> str:
        """Post one part; its ts."""
        ...

    async def whisper(self, question: Question, text: str) -> None:
        """Tell the asker alone."""
        ...

    async def status(self, question: Question, line: str) -> None:
        """Show what is being done; an empty line shows nothing any more. Never raises."""
        ...


Ask = Callable[[Delivery, str, identity.Place, Listener], Awaitable[Answer]]
"""Question, principal, place and a listener -> the answer. Raises Busy and what `ask` raises."""

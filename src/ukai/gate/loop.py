"""The retry loop between a proposer and the gate (W5): it ends in acceptance, or loudly in a review item that holds
every attempt. Retries are counted, tokens are bounded, and two equal sets of rejections in a row end it early.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ukai.gate import render
from ukai.gate.rejection import Rejection, fingerprints, reject

Reason = Literal["attempts_exhausted", "no_progress", "budget_exhausted", "stopped", "busy"]
RESENDS = 5
"""How often one proposal is submitted again because the database was busy; none of them costs an attempt."""


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What a proposer is told before it proposes. Only the last rejections are repeated: a context must not grow
    with every try.
    """

    attempt: int
    """From 1."""
    attempts_left: int
    """After this one."""
    text: str = ""
    """The last rejections as `render.tool_text` writes them; empty at first."""
    rejections: tuple[Rejection, ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()
    """Fingerprints of the sets before the last one."""


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """One try."""

    value: Any
    tokens: int = 0
    """What it cost."""


class Proposer(Protocol):
    """Who proposes: an agent, or a script in tests."""

    async def propose(self, feedback: Feedback) -> Proposed:
        """The next try."""
        ...


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict: something accepted, or rejections with at least one error among them."""

    accepted: Any = None
    rejections: tuple[Rejection, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether nothing stops."""
        return not render.errors_of(self.rejections)


Judge = Callable[[Any], Awaitable[Judged]]
Pause = Callable[[int], Awaitable[None]]
"""Called before the n-th resending of one proposal, n from 1: the place to wait."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What was proposed, and what was said about it."""

    number: int
    value: Any
    tokens: int
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The gate took it."""

    value: Any
    """What the judge gave."""
    attempts: tuple[Attempt, ...]
    """The accepted one last."""
    tokens: int
    warnings: tuple[Rejection, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Escalated:
    """Nobody but a human can go on. `review_item` is what is put before them."""

    reason: Reason
    rejection: Rejection
    attempts: tuple[Attempt, ...]
    tokens: int

    def review_item(self) -> dict[str, Any]:
        """Every attempt with its rejections, as plain data."""
        return {
            "reason": self.reason,
            "message": self.rejection.message,
            "tokens": self.tokens,
            "attempts": [
                {
                    "number": a.number,
                    "proposal": a.value,
                    "tokens": a.tokens,
                    "rejections": [r.as_json() for r in a.rejections],
                }
                for a in self.attempts
            ],
        }


async def negotiate(
    proposer: Proposer,
    judge: Judge,
    *,
    retries: int = 3,
    token_budget: int | None = None,
    pause: Pause | None = None,
    told: Callable[[Sequence[Rejection], int], str] | None = None,
) -> Accepted | Escalated:
    """Propose and judge until the judge accepts, or it is time for a human.

    `retries` are tries after the first one. `told` renders rejections and attempts left for the proposer.
    """
    tally = Tally(retries=retries, token_budget=token_budget)
    last: tuple[Rejection, ...] = ()
    while True:
        text = (told or _told)(last, tally.left) if last else ""
        feedback = Feedback(
            attempt=len(tally.attempts) + 1,
            attempts_left=tally.left - 1,
            text=text,
            rejections=last,
            earlier=tuple(tally.sets[:-1]),
        )
        proposed = await proposer.propose(feedback)
        judged = await _judged(judge, proposed.value, pause)
        last = judged.rejections
        escalated = tally.add(proposed.value, last, tokens=proposed.tokens)
        if judged.is_accepted:
            return Accepted(value=judged.accepted, attempts=tuple(tally.attempts), tokens=tally.spent, warnings=last)
        if escalated is not None:
            return escalated


@dataclass(kw_only=True)
class Tally:
    """The attempts of one negotiation: how many are left, and whether it is time for a human.

    For whoever cannot be asked to propose and proposes of its own accord: an agent that calls a tool.
    """

    retries: int = 3
    """Tries after the first one."""
    token_budget: int | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    sets: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """The fingerprints of what was rejected, attempt by attempt."""
    spent: int = 0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError("retries are counted from 0")

    @property
    def left(self) -> int:
        """Attempts that may still be made."""
        return self.retries + 1 - len(self.attempts)

    def add(self, value: Any, rejections: tuple[Rejection, ...], *, tokens: int = 0) -> Escalated | None:
        """One attempt and what was said about it; an escalation when no other is to follow."""
        self.spent += tokens
        number = len(self.attempts) + 1
        self.attempts.append(Attempt(number=number, value=value, tokens=tokens, rejections=rejections))
        if not render.errors_of(rejections):
            return None
        self.sets.append(fingerprints(rejections))
        reason = _reason(rejections, self.sets, self.left, self.spent, self.token_budget)
        return None if reason is None else _escalated(reason, self.attempts, self.spent, self.token_budget)


def _told(rejections: Sequence[Rejection], attempts_left: int) -> str:
    return render.tool_text(rejections, attempts_left=attempts_left)


async def _judged(judge: Judge, value: Any, pause: Pause | None) -> Judged:
    """The verdict, the same proposal submitted again while the only trouble passes by itself."""
    judged = await judge(value)
    for n in range(1, RESENDS + 1):
        if judged.is_accepted or not _passes(judged.rejections):
            break
        if pause is not None:
            await pause(n)
        judged = await judge(value)
    return judged


def _passes(rejections: Sequence[Rejection]) -> bool:
    return all(r.repair == "resend" for r in render.errors_of(rejections))


def _reason(
    last: Sequence[Rejection], sets: Sequence[tuple[str, ...]], left: int, spent: int, budget: int | None
) -> Reason | None:
    stopping = render.errors_of(last)
    if _passes(last):
        return "busy"
    if all(r.repair == "stop" for r in stopping):
        return "stopped"
    if len(sets) > 1 and sets[-1] == sets[-2]:
        return "no_progress"
    if budget is not None and spent >= budget:
        return "budget_exhausted"
    return "attempts_exhausted" if left == 0 else None


def _escalated(reason: Reason, attempts: Sequence[Attempt], spent: int, budget: int | None) -> Escalated:
    last = attempts[-1].rejections
    tries = f"{len(attempts)} attempt{'' if len(attempts) == 1 else 's'}"
    messages: dict[Reason, str] = {
        "attempts_exhausted": f"{tries} were rejected",
        "no_progress": f"attempts {len(attempts) - 1} and {len(attempts)} failed in the same way",
        "budget_exhausted": f"{tries} used {spent} of {budget} tokens",
        "stopped": "what was rejected needs other rights, or a human",
        "busy": "the store stayed busy",
    }
    code = "internal" if reason == "busy" else render.worst_of(last).code if reason == "stopped" else reason
    rejection = reject(
        code,
        where="",
        message=messages[reason],
        expected="an accepted proposal",
        received="; ".join(dict.fromkeys(r.code for r in last)),
        hint="a human decides: the review item holds every attempt",
        layer=2,
    )
    return Escalated(reason=reason, rejection=rejection, attempts=tuple(attempts), tokens=spent)

"""What one turn may use, and the purse that holds it: reserved before, settled after (P1.1, P4.1).

A purse counts requests, tokens and money. A sub-agent's purse draws on its parent's, so that all of them together stay
inside one allowance. What several runs share, such as a day's budget, stands behind the outermost purse as `Shared`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from ukai.kit.errors import UkaiError
from ukai.record import Limits

DEFAULT_SECONDS = 120
"""Answers within about two minutes (P4.1)."""
CHARACTERS_PER_TOKEN = 4
"""By which a request is reckoned before a model has counted it."""
NOTHING = Decimal(0)


class Spent(UkaiError):
    """A limit is reached. The message is for whoever asked; it ends the turn with what was done until then."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Limits of one turn; None is no limit of that kind."""

    iterations: int
    """Requests to the model."""
    tokens: int | None = None
    usd: Decimal | None = None
    seconds: float = DEFAULT_SECONDS

    @property
    def limits(self) -> Limits:
        """As the saved run keeps them."""
        return Limits(tokens=self.tokens, usd=self.usd, seconds=round(self.seconds))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one request: an estimate before it, the provider's figures after it."""

    tokens: int = 0
    usd: Decimal | None = None
    """None where no price is known: money cannot hold it back then, and the record says so."""


class Shared(Protocol):
    """Limits that other runs draw on too."""

    async def open(self) -> None:
        """Before the run does anything. Raises Spent when nothing is left."""
        ...

    async def close(self, seconds: float) -> None:
        """The run has ended after so many seconds."""
        ...

    async def reserve(self, cost: Cost) -> object:
        """Set it aside; what comes back is handed to `settle`. Raises Spent."""
        ...

    async def settle(self, held: object, cost: Cost) -> None:
        """What it came to in the end."""
        ...


@dataclass(frozen=True, kw_only=True)
class Hold:
    """What was set aside for one request."""

    cost: Cost
    counts: bool
    shared: object = None


@dataclass(kw_only=True)
class Purse:
    """What is left of an allowance."""

    allowance: Allowance
    parent: Purse | None = None
    shared: Shared | None = None
    """Behind the outermost purse alone."""
    requests: int = 0
    tokens: int = 0
    usd: Decimal = NOTHING
    held: dict[int, Cost] = field(default_factory=dict[int, Cost])

    def child(self, allowance: Allowance) -> Purse:
        """For a sub-agent: its own limits, and everything above them."""
        return Purse(allowance=allowance, parent=self)

    async def reserve(self, cost: Cost, *, counts: bool = True) -> Hold:
        """Set `cost` aside in this purse and all above it. Raises Spent, and then nothing is set aside.

        `counts`: it is a request of the agent itself, which its iterations bound.
        """
        chain = list(self._chain())
        for purse in chain:
            purse._check(cost, counts)
        shared = chain[-1].shared
        hold = Hold(cost=cost, counts=counts, shared=await shared.reserve(cost) if shared else None)
        for purse in chain:
            purse.requests += counts
            purse.held[id(hold)] = cost
        return hold

    async def settle(self, hold: Hold, cost: Cost) -> None:
        """The request has ended and came to `cost`; a request that failed cost nothing that is known."""
        chain = list(self._chain())
        for purse in chain:
            purse.held.pop(id(hold), None)
            purse.tokens += cost.tokens
            purse.usd += cost.usd or NOTHING
        shared = chain[-1].shared
        if shared is not None:
            await shared.settle(hold.shared, cost)

    def _check(self, cost: Cost, counts: bool) -> None:
        limits = self.allowance
        if counts and self.requests >= limits.iterations:
            raise Spent(f"the run may ask its model {limits.iterations} times")
        tokens = self.tokens + cost.tokens + sum(c.tokens for c in self.held.values())
        if limits.tokens is not None and tokens > limits.tokens:
            raise Spent(f"the run may use {limits.tokens} tokens")
        usd = self.usd + (cost.usd or NOTHING) + sum((c.usd or NOTHING for c in self.held.values()), NOTHING)
        if limits.usd is not None and (usd > limits.usd or limits.usd == 0):
            raise Spent(f"the run may cost {limits.usd} USD")

    def _chain(self) -> Iterator[Purse]:
        purse: Purse | None = self
        while purse is not None:
            yield purse
            purse = purse.parent


def smallest(values: Iterable[float | None]) -> float | None:
    """The least of those that are set; None when none is."""
    return min((v for v in values if v is not None), default=None)

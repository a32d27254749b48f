"""What one turn may use: the smallest of what the agent, IT and the caller set (P1.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from ukai.record import Limits

DEFAULT_SECONDS = 120
"""Answers within about two minutes (P4.1)."""


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


def smallest(values: Iterable[float | None]) -> float | None:
    """The least of those that are set; None when none is."""
    return min((v for v in values if v is not None), default=None)

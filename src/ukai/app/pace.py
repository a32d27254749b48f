"""How many questions are taken from one caller in a minute; how many at once stands in `admission`.

Counted in this process: several servers take several times as much, and money has its own budgets in `access/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ukai.app.admission import Busy

REMEMBERED = 10_000
"""Callers whose pace is known; beyond that, those who may ask freely again are forgotten."""


class TooOften(Busy):
    """This caller asked as often as one may. `retry_after_s` says when the next question is taken."""


@dataclass(kw_only=True)
class Pace:
    """The paces of one server's callers."""

    per_minute: int
    """As many may come at once after a quiet minute."""
    seconds: Callable[[], float]
    """A clock that only goes forward."""
    _left: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Caller -> how many were left, and when."""

    def take(self, principal: str) -> None:
        """Count one question. Raises TooOften, and then counts nothing."""
        now = self.seconds()
        left = self._now(principal, now)
        if left < 1:
            wait = max(1, math.ceil((1 - left) * 60 / self.per_minute))
            raise TooOften(f"{self.per_minute} questions a minute are taken from one caller", retry_after_s=wait)
        if len(self._left) >= REMEMBERED:
            self._left = {who: known for who, known in self._left.items() if self._now(who, now) < self.per_minute}
        self._left[principal] = (left - 1, now)

    def _now(self, principal: str, now: float) -> float:
        left, at = self._left.get(principal, (float(self.per_minute), now))
        return min(float(self.per_minute), left + (now - at) * self.per_minute / 60)

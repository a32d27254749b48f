"""Limits that many runs share: a day's or a month's tokens, money and seconds of a person or an agent (P1.1).

What is set aside and what was spent stand in the database, so that every process draws on the same amount. Two that
reserve at once are let in one after the other, and only as far as there is room.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

from ukai import store
from ukai.kit import ids
from ukai.kit.clock import Clock
from ukai.runtime import rows
from ukai.runtime.budget import NOTHING, Cost, Spent

HELD_FOR = timedelta(minutes=15)
"""Longer than any one request lasts: what a dead process had set aside is free again then."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One limit, and whose spending counts against it."""

    per: Literal["day", "month"]
    unit: Literal["tokens", "usd", "seconds"]
    amount: Decimal
    principal: str | None = None
    """None: everybody's together."""
    agent: str | None = None
    """None: with every agent."""

    def part(self, now: datetime) -> rows.Part:
        """The days that count now, in UTC."""
        since = now.date() if self.per == "day" else now.date().replace(day=1)
        return rows.Part(since=since, principal=self.principal, agent=self.agent)

    @property
    def said(self) -> str:
        """For the one who asked."""
        whose = "your share" if self.principal is not None else f"the share of {self.agent}"
        when = "today" if self.per == "day" else "this month"
        return f"{whose} of {self.amount} {self.unit if self.unit != 'usd' else 'USD'} {when} is used up"


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What one run draws on together with others."""

    db: store.Database
    clock: Clock
    principal: str
    agent: str
    pools: Sequence[Pool]
    entropy: ids.Entropy = os.urandom

    async def open(self) -> None:
        """Raises Spent when nothing is left, before anything is done."""
        if self.pools:
            async with self.db.transaction() as tx:
                await self._check(tx, self.pools, Cost())

    async def reserve(self, cost: Cost) -> UUID | None:
        """Set aside; None where no limit is touched. Raises Spent."""
        touched = [p for p in self.pools if _amount(p, cost)]
        if not touched:
            return None
        now = self.clock.now()
        held = ids.time_ordered(now, entropy=self.entropy)
        async with self.db.transaction() as tx:
            await rows.lock(tx, [p.part(now) for p in touched])
            await self._check(tx, touched, cost)
            await rows.hold(
                tx,
                held,
                day=now.date(),
                principal=self.principal,
                agent=self.agent,
                tokens=cost.tokens,
                usd=cost.usd or NOTHING,
                over_at=now + HELD_FOR,
            )
        return held

    async def settle(self, held: object, cost: Cost) -> None:
        """What it came to. Nothing is written where no limit counts it."""
        if isinstance(held, UUID) or any(_amount(p, cost) for p in self.pools):
            await self._settle(held if isinstance(held, UUID) else None, cost, NOTHING)

    async def close(self, seconds: float) -> None:
        """The run has ended after so many seconds."""
        if any(p.unit == "seconds" for p in self.pools):
            await self._settle(None, Cost(), Decimal(str(round(seconds, 3))))

    async def _settle(self, held: UUID | None, cost: Cost, seconds: Decimal) -> None:
        async with self.db.transaction() as tx:
            await rows.settle(
                tx,
                held,
                day=self.clock.now().date(),
                principal=self.principal,
                agent=self.agent,
                tokens=cost.tokens,
                usd=cost.usd or NOTHING,
                seconds=seconds,
            )

    async def _check(self, tx: store.Transaction, pools: Sequence[Pool], cost: Cost) -> None:
        now = self.clock.now()
        known: dict[rows.Part, rows.Spending] = {}
        for pool in pools:
            part = pool.part(now)
            if part not in known:
                known[part] = await rows.spent(tx, part, now=now)
            used = Decimal(getattr(known[part], pool.unit))
            more = _amount(pool, cost)
            if used >= pool.amount or used + more > pool.amount:
                raise Spent(pool.said)


def _amount(pool: Pool, cost: Cost) -> Decimal:
    """What of a request counts against a pool; seconds count when the run ends."""
    if pool.unit == "tokens":
        return Decimal(cost.tokens)
    return cost.usd or NOTHING if pool.unit == "usd" else NOTHING

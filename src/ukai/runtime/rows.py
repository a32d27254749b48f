"""The SQL of this room: what is spent, whose credentials there are, what rules said (migration 0009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from ukai.store import Transaction


@dataclass(frozen=True, kw_only=True)
class Part:
    """Whose spending, and since which day; None is everybody's, or every agent's."""

    since: date
    principal: str | None = None
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A sum. `usd` and `tokens` count what is set aside too."""

    tokens: int
    usd: Decimal
    seconds: Decimal


async def lock(tx: Transaction, parts: Sequence[Part]) -> None:
    """One at a time for each part, in a fixed order: two that read the same sum would both find room in it."""
    for name in sorted({f"spending {p.principal or ''} {p.agent or ''}" for p in parts}):
        await tx.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))


async def spent(tx: Transaction, part: Part, *, now: datetime) -> Spending:
    """What was spent and is set aside."""
    row = await tx.one(
        """
        select coalesce(sum(tokens), 0), coalesce(sum(usd), 0), coalesce(sum(seconds), 0) from (
            select principal, agent, day, tokens, usd, seconds from spending
            union all
            select principal, agent, day, tokens, usd, 0 from spending_held where over_at > %(now)s
        ) as all_of_it
        where day >= %(since)s
            and (%(principal)s::text is null or principal = %(principal)s)
            and (%(agent)s::text is null or agent = %(agent)s)
        """,
        {"now": now, "since": part.since, "principal": part.principal, "agent": part.agent},
    )
    assert row is not None
    return Spending(tokens=int(row[0]), usd=Decimal(row[1]), seconds=Decimal(row[2]))


async def hold(
    tx: Transaction, id: UUID, *, day: date, principal: str, agent: str, tokens: int, usd: Decimal, over_at: datetime
) -> None:
    """Set aside until it is settled, or until `over_at`."""
    await tx.execute(
        "insert into spending_held (id, day, principal, agent, tokens, usd, over_at) "
        "values (%s, %s, %s, %s, %s, %s, %s)",
        (id, day, principal, agent, tokens, usd, over_at),
    )


async def settle(
    tx: Transaction,
    held: UUID | None,
    *,
    day: date,
    principal: str,
    agent: str,
    tokens: int = 0,
    usd: Decimal = Decimal(0),
    seconds: Decimal = Decimal(0),
) -> None:
    """What it came to, in place of what was set aside."""
    if held is not None:
        await tx.execute("delete from spending_held where id = %s", (held,))
    if tokens or usd or seconds:
        await tx.execute(
            "insert into spending as s (day, principal, agent, tokens, usd, seconds) values (%s, %s, %s, %s, %s, %s) "
            "on conflict (day, principal, agent) do update set tokens = s.tokens + excluded.tokens, "
            "usd = s.usd + excluded.usd, seconds = s.seconds + excluded.seconds",
            (day, principal, agent, tokens, usd, seconds),
        )


async def keep_credential(tx: Transaction, principal: str, tool: str, sealed: bytes, at: datetime) -> None:
    """In place of the one before."""
    await tx.execute(
        "insert into tool_credential (principal, tool, sealed, granted_at) values (%s, %s, %s, %s) "
        "on conflict (principal, tool) do update set sealed = excluded.sealed, granted_at = excluded.granted_at",
        (principal, tool, sealed, at),
    )


async def credential(tx: Transaction, principal: str, tool: str) -> bytes | None:
    """The sealed credential of this principal for this tool, and of nobody else for nothing else."""
    found = await tx.value("select sealed from tool_credential where principal = %s and tool = %s", (principal, tool))
    return None if found is None else bytes(found)


async def credentials(tx: Transaction, principal: str) -> list[tuple[str, datetime]]:
    """The tools for which a principal has one, and since when."""
    rows = await tx.fetch(
        "select tool, granted_at from tool_credential where principal = %s order by tool", (principal,)
    )
    return [(str(tool), at) for tool, at in rows]


async def drop_credential(tx: Transaction, principal: str, tool: str | None = None) -> int:
    """One, or all of a principal's; how many there were."""
    return await tx.execute(
        "delete from tool_credential where principal = %s and (%s::text is null or tool = %s)", (principal, tool, tool)
    )


async def verdict(tx: Transaction, rule: bytes, model: str, text: bytes) -> tuple[bool, list[int]] | None:
    """Whether the rule fired on this text, and the places, flat: start, end, start, end."""
    row = await tx.one(
        "select fires, spans from rule_verdict where rule = %s and model = %s and text = %s", (rule, model, text)
    )
    return None if row is None else (bool(row[0]), list(row[1]))


async def keep_verdict(
    tx: Transaction, rule: bytes, model: str, text: bytes, fires: bool, spans: Sequence[int]
) -> None:
    """The first verdict stays."""
    await tx.execute(
        "insert into rule_verdict (rule, model, text, fires, spans) values (%s, %s, %s, %s, %s) on conflict do nothing",
        (rule, model, text, fires, list(spans)),
    )

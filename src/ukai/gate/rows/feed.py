"""The feed of changes: its order, its end, and what it has let go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ukai import store
from ukai.gate.rows.statement import CHANGE, dicts


async def feed_state(tx: store.Transaction) -> dict[str, Any]:
    """Where the feed begins, on which timeline, and up to where all transactions are finished.

    In a database that was restored or copied into another cluster a new timeline begins: there transactions are counted
    from another number, so that the order of the old ones says nothing.
    """
    moved = await tx.execute(
        """update feed set timeline = left(gen_random_uuid()::text, 8), cluster = s.system_identifier, floor_xid = '0',
                           floor_seq = 0, text_xid = '0', text_seq = 0
           from pg_control_system() s where feed.cluster <> s.system_identifier"""
    )
    if moved:
        # What was written before the restore counts as finished, and stands before everything new.
        await tx.execute("update change set xid = '1' where xid >= pg_current_xact_id()")
        await tx.execute("update commit set xid = '1' where xid >= pg_current_xact_id()")
    return (await dicts(tx, "select * from feed", ()))[0]


async def feed(tx: store.Transaction, after: tuple[str, int], *, limit: int) -> list[dict[str, Any]]:
    """Changes of finished transactions after the position, in order."""
    statement = (
        CHANGE + " where (c.xid, c.seq) > (%s::xid8, %s) and c.xid < (select settled_before())"
        " order by c.xid, c.seq limit %s"
    )
    return await dicts(tx, statement, [*after, limit])


async def feed_end(tx: store.Transaction) -> tuple[str, int]:
    """The position behind the last finished change."""
    row = await tx.one(
        """select xid::text, seq from change where xid < (select settled_before())
           order by change.xid desc, seq desc limit 1"""
    )
    return (row[0], row[1]) if row else ("0", 0)


async def forget_changes(tx: store.Transaction, before: datetime) -> int:
    """Let go of what is older, of what the feed has finished; how many changes."""
    row = await tx.one(
        """with f as (select * from feed for no key update), old as (
               delete from change c using f
               where c.at < %s and c.xid < (select settled_before())
               returning c.xid, c.seq
           ), words as (
               delete from change_text using old where change_text.seq = old.seq
           ), moved as (
               update feed set (floor_xid, floor_seq) = (select xid, seq from old order by xid desc, seq desc limit 1),
                               kept_since = greatest(kept_since, %s)
               where exists (select 1 from old)
           )
           select count(*) from old""",
        (before, before),
    )
    return row[0] if row else 0

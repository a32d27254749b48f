"""History read back: timelines, commits, words, and who wrote how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ukai import store
from ukai.gate.rights import ALL, Rights
from ukai.gate.rows import lookup
from ukai.gate.rows.statement import CHANGE, Allowed, Window, dicts, put

_PAGE = """ and (%s::timestamptz is null or c.at >= %s) and (%s::timestamptz is null or c.at < %s)
            and (%s::bigint is null or c.seq < %s)
            order by c.seq desc limit %s"""
_EDGES = """
    union all select e.id from edge e join node n on n.id = e.dst where e.src = %s and {allowed}
    union all select e.id from edge e join node n on n.id = e.src where e.dst = %s and {allowed}"""


async def visible(tx: store.Transaction, changes: Sequence[dict[str, Any]], rights: Rights) -> list[dict[str, Any]]:
    """Those of nodes that may be read, and of edges between such."""
    if rights is ALL:
        return list(changes)
    edges = [c["id"] for c in changes if c["kind"] == "edge"]
    about: dict[UUID, tuple[UUID, ...]] = {c["id"]: (c["id"],) for c in changes if c["kind"] == "node"}
    about |= await ends_of(tx, edges) if edges else {}
    seen = await lookup.seen(tx, {id for ids in about.values() for id in ids}, rights)
    return [c for c in changes if c["id"] in about and seen.issuperset(about[c["id"]])]


async def ends_of(tx: store.Transaction, edges: Sequence[UUID]) -> dict[UUID, tuple[UUID, UUID]]:
    """Edge, living or not -> its two nodes."""
    rows = await tx.fetch("select id, src, dst from edge where id = any (%s)", (list(edges),))
    return {id: (source, target) for id, source, target in rows}


async def changes_of(
    tx: store.Transaction, id: UUID, window: Window, *, edges: bool, allowed: Allowed
) -> list[dict[str, Any]]:
    """Changes of a node, and of its edges whose other end may be read; newest first."""
    text, params = allowed
    statement = put(CHANGE + " where c.id in (select %s::uuid" + (_EDGES if edges else "") + ")" + _PAGE, allowed=text)
    ends = (id, *params, id, *params) if edges else ()
    return await dicts(tx, statement, [id, *ends, *window.params])


async def changes_in(tx: store.Transaction, commits: Sequence[UUID]) -> list[dict[str, Any]]:
    """All changes of the commits, in order."""
    return await dicts(tx, CHANGE + " where c.commit = any (%s) order by c.seq", [list(commits)])


async def changes_about(tx: store.Transaction, text: str, window: Window, *, allowed: Allowed) -> list[dict[str, Any]]:
    """Changes of nodes that hold the words: through the index as far as it reaches, and read one by one beyond."""
    clause, params = allowed
    statement = put(
        """with q as (select websearch_to_tsquery('simple', %s) as words),
                about as (
                    select t.seq from change_text t, q where t.words @@ q.words
                    union all
                    select c.seq from change c, q, feed f
                    where (c.xid, c.seq) > (f.text_xid, f.text_seq) and change_words(c.before, c.after) @@ q.words
                )
           {change} join node n on n.id = c.id where c.seq in (select seq from about) and {allowed} {page}""",
        allowed=clause,
        change=CHANGE,
        page=_PAGE,
    )
    return await dicts(tx, statement, [text, *params, *window.params])


async def holds(tx: store.Transaction, text: str, *, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the words of `text` stand in these values."""
    return await tx.value(
        "select change_words(%s::jsonb, %s::jsonb) @@ websearch_to_tsquery('simple', %s)",
        (Jsonb(dict(before)), Jsonb(dict(after)), text),
    )


async def index_text(tx: store.Transaction, limit: int) -> int:
    """Take up to `limit` finished changes into the index of words, in the order of the feed; how many there were."""
    row = await tx.one(
        """with f as (select * from feed for no key update), due as (
               select c.xid, c.seq, change_words(c.before, c.after) as words from change c, f
               where (c.xid, c.seq) > (f.text_xid, f.text_seq) and c.xid < (select settled_before())
               order by c.xid, c.seq limit %s
           ), made as (
               insert into change_text (seq, words) select seq, words from due on conflict do nothing
           ), moved as (
               update feed set (text_xid, text_seq) = (select xid, seq from due order by xid desc, seq desc limit 1)
               where exists (select 1 from due)
           )
           select count(*) from due""",
        (limit,),
    )
    return row[0] if row else 0


async def changes_after(tx: store.Transaction, id: UUID, at: datetime) -> list[dict[str, Any]]:
    """Later changes of one node, newest first."""
    return await dicts(tx, "select * from change where id = %s and at > %s order by seq desc", (id, at))


async def floor(tx: store.Transaction) -> datetime | None:
    """When the oldest change that is kept was made, if older ones were let go."""
    return await tx.value("select kept_since from feed")


_SHARES = """
    with made as (
        select {who} as author_id, count(*) as commits, sum(changes) as changes,
               avg(case when exists (select 1 from attempt a
                                     where a.run = m.run and a.step is not distinct from m.step and a.at <= m.at)
                        then 0.0 else 1.0 end) as first_pass
        from (select commit.*, (select count(*) from change c where c.commit = commit.id) as changes
              from commit where {span}) m
        group by 1, 2
    ), refused as (
        select {who} as author_id, count(*) as refused from attempt where {span} group by 1, 2
    )
    select author_kind as kind, author_id as id, coalesce(commits, 0) as commits,
           coalesce(changes, 0)::bigint as changes, coalesce(refused, 0) as refused, first_pass::float as first_pass
    from made full join refused using (author_kind, author_id)
    order by commits desc, kind, id
    limit %s"""
_SPAN = "(%s::timestamptz is null or at >= %s) and (%s::timestamptz is null or at < %s)"


async def shares(tx: store.Transaction, window: Window, *, by_author: bool) -> list[dict[str, Any]]:
    """Commits, changes, refused attempts and the first-pass rate, by kind of author or by author."""
    who = "author_kind, author_id" if by_author else "author_kind, ''"
    times = (window.since, window.since, window.until, window.until)
    return await dicts(tx, put(_SHARES, who=who, span=_SPAN), [*times, *times, window.limit])

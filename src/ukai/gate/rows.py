"""The gate's SQL, beside the commit function itself (migration 0003). Nothing else writes nodes, edges or changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString, cast
from uuid import UUID

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ukai import store
from ukai.access import record
from ukai.gate.author import Author
from ukai.graph import schema
from ukai.store import failures

Answer = dict[str, Any]
Judge = Callable[[store.Transaction, Mapping[str, Any]], Awaitable[list[Answer]]]
"""Problems that SQL cannot find, given what `gate_begin` found: `{"opened": {"nodes": ids}, "rows": {id: row}}`."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Which part of history is asked for."""

    since: datetime | None = None
    until: datetime | None = None
    limit: int = 100
    before: int | None = None
    """Only changes with a smaller `seq`: the next page, going back."""

    @property
    def params(self) -> tuple[Any, ...]:
        """For `_PAGE`."""
        return (self.since, self.since, self.until, self.until, self.before, self.before, self.limit)


Fault = psycopg.Error
"""Whatever the driver says went wrong."""
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


async def commit(db: store.Database, body: Mapping[str, Any]) -> Answer:
    """The whole protocol in one statement: `{"commit", "nodes"}`, `{"problems"}` or `{"retry": why}`."""
    async with db.statements() as tx:
        try:
            return await tx.value("select gate_commit(%s::jsonb)", (text_of(body),))
        except AGAIN as error:
            return _again(error)


async def commit_judged(db: store.Database, body: Mapping[str, Any], judge: Judge) -> Answer:
    """The same in one transaction of two calls, with `judge` between the locks and the writing."""
    try:
        async with db.transaction() as tx:
            answer = await _judged(tx, body, judge)
            if "commit" not in answer or body.get("dry"):
                raise psycopg.Rollback
    except AGAIN as error:
        return _again(error)
    except failures.DatabaseBusy as error:
        if isinstance(error.__cause__, AGAIN):
            return _again(error.__cause__)
        raise
    return answer


async def _judged(tx: store.Transaction, body: Mapping[str, Any], judge: Judge) -> Answer:
    begun: Answer = await tx.value("select gate_begin(%s::jsonb)", (text_of(body),))
    if "opened" not in begun:
        return begun
    problems = await judge(tx, begun)
    plan = {**body, "stop": True, "thorough": True} if problems else body
    answer: Answer = await tx.value("select gate_finish(%s::jsonb, %s)", (text_of(plan), Jsonb(begun["opened"])))
    if problems and "retry" not in answer:
        return {"problems": [*problems, *answer["problems"]]}
    return answer


def _again(error: psycopg.Error) -> Answer:
    waited_for_key = isinstance(error, errors.LockNotAvailable) and "into idempotency" in (error.diag.context or "")
    return {"retry": "in_progress" if waited_for_key else "busy"}


def text_of(body: Mapping[str, Any]) -> str:
    """The program as it travels."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


async def named(tx: store.Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Node id -> handle, for those there are, the deleted included. Neither type nor key ever changes."""
    rows = await tx.fetch("select id, type, key from node where id = any (%s::uuid[])", (list(ids),))
    return {str(id): f"{type}#{key}" for id, type, key in rows}


async def domain_versions(tx: store.Transaction) -> dict[str, int]:
    """Domain -> its current version."""
    return dict(await tx.fetch("select name, version from domain"))  # pyright: ignore[reportArgumentType]


async def domain_body(tx: store.Transaction, name: str, version: int) -> Any:
    """One version as it was uploaded, None when there is none."""
    return await tx.value("select body from domain_version where domain = %s and version = %s", (name, version))


async def lock_domain(tx: store.Transaction, name: str) -> None:
    """No commit under this domain until the transaction ends; waits for those under way."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('ukai.domains', 0))")  # one upload at a time
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('ukai.domain ' || %s, 0))", (name,))


async def save_domain(
    tx: store.Transaction, domain: schema.Domain, *, body: Any, author: Mapping[str, Any], at: datetime
) -> None:
    """The version, and what the commit function must know of it."""
    name = domain.domain
    await tx.execute(
        """insert into domain (name, version, fingerprint, updated_at) values (%s, %s, %s, %s)
           on conflict (name) do update set version = excluded.version, fingerprint = excluded.fingerprint,
                                            updated_at = excluded.updated_at""",
        (name, domain.version, domain.fingerprint, at),
    )
    await tx.execute(
        """insert into domain_version (domain, version, fingerprint, body, author, created_at)
           values (%s, %s, %s, %s, %s, %s)""",
        (name, domain.version, domain.fingerprint, Jsonb(body), Jsonb(dict(author)), at),
    )
    await tx.execute("delete from node_type where domain = %s", (name,))
    await tx.execute("delete from edge_type where domain = %s", (name,))
    for t in domain.types:
        edge = domain.by_edge.get(t.readers.edge) if t.readers and t.readers.edge else None
        side = None if edge is None else "out" if t.type in edge.sources else "in"
        await tx.execute(
            """insert into node_type (type, domain, readers_edge, readers_side, path, key)
               values (%s, %s, %s, %s, %s, %s)""",
            (t.type, name, edge.edge if edge else None, side, t.path, list(t.key)),
        )
    for e in domain.edges:
        await tx.execute(
            """insert into edge_type (edge, domain, sources, targets, min_out, max_out, min_in, max_in,
                                      on_source, on_target, acyclic, owns)
               values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
            (
                *(e.edge, name, list(e.sources), list(e.targets), e.min_out, e.max_out, e.min_in, e.max_in),
                *(e.on_delete.source, e.on_delete.target, e.acyclic, e.owns),
            ),
        )


async def living(tx: store.Transaction, kind: Literal["node", "edge"], types: Sequence[str]) -> dict[str, int]:
    """Type of nodes (or edges) -> how many live, those with none left out."""
    statement = _put(
        "select type, count(*) from {kind} where gone = 0 and type = any (%s) group by 1 order by 1", kind=kind
    )
    return dict(cast("list[tuple[str, int]]", await tx.fetch(statement, (list(types),))))


async def field_values(tx: store.Transaction, type: str, name: str) -> list[tuple[Any, Any]]:
    """(id, value) of the living nodes that have one, the eldest first."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        "select id, props->%s from node where type = %s and gone = 0 and props ? %s order by created_at, id",
        (name, type, name),
    )


async def claim_values(tx: store.Transaction, type: str, name: str, claims: Sequence[tuple[str, Any]]) -> int:
    """How many of the claims (value, holder) could be made."""
    return await tx.execute(
        """insert into claim (type, name, value, holder)
           select distinct on (c.value) %s, %s, c.value, c.holder
           from unnest(%s::text[], %s::uuid[]) with ordinality c(value, holder, place) order by c.value, c.place
           on conflict do nothing""",
        (type, name, [value for value, _ in claims], [holder for _, holder in claims]),
    )


async def claim_ends(tx: store.Transaction, edge: str, side: str) -> int:
    """Claim the ends of the living edges; how many edges could not have theirs."""
    row = await tx.one(
        """with end_of as (
               select id, case when %(side)s = 'out' then src else dst end::text as value, created_at
               from edge where type = %(edge)s and gone = 0
           ), made as (
               insert into claim (type, name, value, holder)
               select distinct on (value) %(edge)s, %(side)s, value, id from end_of order by value, created_at, id
               on conflict do nothing returning 1
           )
           select (select count(*) from end_of) - (select count(*) from made)""",
        {"edge": edge, "side": side},
    )
    return row[0] if row else 0


async def drop_claims(tx: store.Transaction, type: str, name: str) -> None:
    """The field, or the side of the edge, is no longer unique."""
    await tx.execute("delete from claim where type = %s and name = %s", (type, name))


_CHANGE = """select c.*, m.author_kind, m.author_id, m.run, m.step, m.key
             from change c join commit m on m.id = c.commit"""
Allowed = tuple[str, Sequence[Any]]
"""A condition over the columns of `node n`, made by `Rights.sql`, and its parameters."""


async def _dicts(tx: store.Transaction, statement: str | sql.Composed, params: Sequence[Any]) -> list[dict[str, Any]]:
    cursor = tx.connection.cursor(row_factory=dict_row)
    await cursor.execute(cast("LiteralString", statement) if isinstance(statement, str) else statement, params)
    return await cursor.fetchall()


async def owning(tx: store.Transaction) -> list[tuple[str, str]]:
    """(edge type, owning end) of the edges along which rights pass."""
    return await tx.fetch("select edge, owns from edge_type where owns <> '' order by edge")  # pyright: ignore[reportReturnType]


async def owning_edges(tx: store.Transaction) -> list[record.OwningEdge]:
    """The same as `Rights.sql` takes them."""
    return [
        record.OwningEdge(edge=edge, owned_side="from" if owner == "target" else "to")
        for edge, owner in await owning(tx)
    ]


async def node(tx: store.Transaction, id: UUID) -> dict[str, Any] | None:
    """A node as it stands, deleted or not."""
    found = await _dicts(tx, "select * from node where id = %s", (id,))
    return found[0] if found else None


async def nodes(tx: store.Transaction, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Nodes as they stand, deleted or not."""
    return await _dicts(tx, "select * from node where id = any (%s::uuid[])", (list(ids),))


async def readable(
    tx: store.Transaction,
    *,
    allowed: Allowed,
    id: UUID | None = None,
    type: str = "",
    key: str = "",
    at: datetime | None = None,
) -> UUID | None:
    """The node of this id or handle, if it may be read: one that lived at `at` (now) first, then the living one."""
    text, params = allowed
    return await tx.value(
        _put(
            """select n.id from node n where {named} and {allowed}
               order by (n.created_at <= coalesce(%s, now()) and (n.alive or n.updated_at > coalesce(%s, now()))) desc,
                        n.alive desc, n.gone desc
               limit 1""",
            named="n.id = %s" if id is not None else "n.type = %s and n.key = %s",
            allowed=text,
        ),
        [*((id,) if id is not None else (type, key)), *params, at, at],
    )


_PAGE = """ and (%s::timestamptz is null or c.at >= %s) and (%s::timestamptz is null or c.at < %s)
            and (%s::bigint is null or c.seq < %s)
            order by c.seq desc limit %s"""
_EDGES = """
    union all select e.id from edge e join node n on n.id = e.dst where e.src = %s and {allowed}
    union all select e.id from edge e join node n on n.id = e.src where e.dst = %s and {allowed}"""


async def changes_of(
    tx: store.Transaction, id: UUID, window: Window, *, edges: bool, allowed: Allowed
) -> list[dict[str, Any]]:
    """Changes of a node, and of its edges whose other end may be read; newest first."""
    text, params = allowed
    statement = _put(
        _CHANGE + " where c.id in (select %s::uuid" + (_EDGES if edges else "") + ")" + _PAGE, allowed=text
    )
    ends = (id, *params, id, *params) if edges else ()
    return await _dicts(tx, statement, [id, *ends, *window.params])


_VISIBLE = """ and case c.kind
    when 'node' then exists (select 1 from node n where n.id = c.id and {allowed})
    else exists (select 1 from edge e join node n on n.id = e.src where e.id = c.id and {allowed})
         and exists (select 1 from edge e join node n on n.id = e.dst where e.id = c.id and {allowed}) end"""
"""Changes of nodes that may be read, and of edges between such. `allowed` stands three times in it."""


async def changes_in(tx: store.Transaction, commit: UUID, *, allowed: Allowed) -> list[dict[str, Any]]:
    """Changes of one commit, in order; `allowed` hides nodes (and edges to such)."""
    text, params = allowed
    statement = _put("{change} where c.commit = %s" + _VISIBLE + " order by c.seq", change=_CHANGE, allowed=text)
    return await _dicts(tx, statement, [commit, *params, *params, *params])


async def changes_about(tx: store.Transaction, text: str, window: Window, *, allowed: Allowed) -> list[dict[str, Any]]:
    """Changes of nodes that hold the words: through the index as far as it reaches, and read one by one beyond."""
    clause, params = allowed
    statement = _put(
        """with q as (select websearch_to_tsquery('simple', %s) as words),
                about as (
                    select t.seq from change_text t, q where t.words @@ q.words
                    union all
                    select c.seq from change c, q, feed f
                    where (c.xid, c.seq) > (f.text_xid, f.text_seq) and change_words(c.before, c.after) @@ q.words
                )
           {change} join node n on n.id = c.id where c.seq in (select seq from about) and {allowed} {page}""",
        allowed=clause,
        change=_CHANGE,
        page=_PAGE,
    )
    return await _dicts(tx, statement, [text, *params, *window.params])


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
               where (c.xid, c.seq) > (f.text_xid, f.text_seq) and c.xid < pg_snapshot_xmin(pg_current_snapshot())
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
    return await _dicts(tx, "select * from change where id = %s and at > %s order by seq desc", (id, at))


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
    return await _dicts(tx, _put(_SHARES, who=who, span=_SPAN), [*times, *times, window.limit])


def _put(template: str, **parts: str) -> sql.Composed:
    """`template` with pieces of SQL (ours, or made by `access.rows`) in its braces. Values are parameters."""
    return sql.SQL(cast("LiteralString", template)).format(
        **{name: sql.SQL(cast("LiteralString", text)) for name, text in parts.items()}
    )


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
    return (await _dicts(tx, "select feed.*, pg_snapshot_xmin(pg_current_snapshot()) as settled from feed", ()))[0]


async def feed(
    tx: store.Transaction, after: tuple[str, int], *, limit: int, allowed: Allowed | None
) -> list[dict[str, Any]]:
    """Changes of finished transactions after the position, in order. `allowed` hides nodes (and edges to such)."""
    text, params = allowed or ("true", ())
    statement = _put(
        "{change} where (c.xid, c.seq) > (%s::xid8, %s) and c.xid < pg_snapshot_xmin(pg_current_snapshot())"
        + (_VISIBLE if allowed else "")
        + " order by c.xid, c.seq limit %s",
        change=_CHANGE,
        allowed=text,
    )
    return await _dicts(tx, statement, [*after, *((*params, *params, *params) if allowed else ()), limit])


async def feed_end(tx: store.Transaction) -> tuple[str, int]:
    """The position behind the last finished change."""
    row = await tx.one(
        """select xid::text, seq from change where xid < pg_snapshot_xmin(pg_current_snapshot())
           order by change.xid desc, seq desc limit 1"""
    )
    return (row[0], row[1]) if row else ("0", 0)


async def forget_changes(tx: store.Transaction, before: datetime) -> int:
    """Let go of what is older, of what the feed has finished; how many changes."""
    row = await tx.one(
        """with f as (select * from feed for no key update), old as (
               delete from change c using f
               where c.at < %s and c.xid < pg_snapshot_xmin(pg_current_snapshot())
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


async def save_attempt(
    tx: store.Transaction,
    *,
    id: UUID,
    at: datetime,
    author: Author,
    key: str,
    hash: str,
    codes: Sequence[str],
    fingerprints: Sequence[str],
    findings: Sequence[Any],
    body: Any,
) -> int:
    """Keep a refused attempt; its number within the run and step, or within the key."""
    values = {"id": id, "at": at, "kind": author.kind, "author": author.id, "run": author.run or None}
    values |= {"step": author.step or None, "key": key or None, "hash": hash, "codes": list(codes)}
    values |= {"fingerprints": list(fingerprints), "findings": Jsonb(list(findings)), "body": Jsonb(body)}
    number: int = await tx.value(
        """insert into attempt (id, at, author_kind, author_id, run, step, key, hash, number, codes, fingerprints,
                                findings, body)
           select %(id)s, %(at)s, %(kind)s, %(author)s, %(run)s, %(step)s, %(key)s, %(hash)s, 1 + (
                      select count(*) from attempt a
                      where a.author_kind = %(kind)s and a.author_id = %(author)s
                        and case when %(run)s::text is null then a.key = %(key)s
                                 else a.run = %(run)s and a.step is not distinct from %(step)s end),
                  %(codes)s, %(fingerprints)s, %(findings)s, %(body)s
           returning number""",
        values,
    )
    return number


async def attempts(tx: store.Transaction, *, author: str, run: str, limit: int) -> list[dict[str, Any]]:
    """Refused attempts, newest first."""
    return await _dicts(
        tx,
        """select * from attempt where (%s = '' or author_id = %s) and (%s = '' or run = %s)
           order by at desc, id desc limit %s""",
        (author, author, run, run, limit),
    )


async def top_codes(tx: store.Transaction, window: Window, limit: int) -> list[tuple[str, str, int]]:
    """(author id, code, attempts), most first."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        """select author_id, code, count(*) from attempt cross join lateral unnest(codes) code
           where (%s::timestamptz is null or at >= %s) and (%s::timestamptz is null or at < %s)
           group by 1, 2 order by 3 desc, 1, 2 limit %s""",
        (window.since, window.since, window.until, window.until, limit),
    )


async def handles(tx: store.Transaction, ids: Sequence[str], allowed: Allowed) -> dict[str, str]:
    """Node id -> handle, of those that may be read."""
    text, params = allowed
    statement = _put("select n.id, n.type, n.key from node n where n.id = any (%s::uuid[]) and {allowed}", allowed=text)
    return {str(id): f"{type}#{key}" for id, type, key in await tx.fetch(statement, [list(ids), *params])}


async def changes_numbered(tx: store.Transaction, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Change -> its row with the author."""
    if not numbers:
        return {}
    return {r["seq"]: r for r in await _dicts(tx, _CHANGE + " where c.seq = any (%s)", (list(numbers),))}


async def last_changes(tx: store.Transaction, id: str, version: int) -> dict[str, dict[str, Any]]:
    """Field -> the last change of it after `version`."""
    found = await _dicts(
        tx,
        "select distinct on (f.name) f.name, c.at, m.author_kind, m.author_id"
        " from change c join commit m on m.id = c.commit cross join lateral unnest(c.fields) f(name)"
        " where c.id = %s::uuid and c.version > %s order by f.name, c.seq desc",
        (id, version),
    )
    return {r["name"]: r for r in found if not r["name"].startswith("@")}


async def keys_near(tx: store.Transaction, type: str, key: str, allowed: Allowed) -> list[str]:
    """Keys of living nodes of the type that may be meant: neighbours in the order of keys, and some more."""
    text, params = allowed
    statement = _put(
        """(select n.key from node n where n.type = %s and n.gone = 0 and n.key >= %s and {allowed}
            order by n.key limit 100)
           union
           (select n.key from node n where n.type = %s and n.gone = 0 and n.key < %s and {allowed}
            order by n.key desc limit 100)
           union
           (select n.key from node n where n.type = %s and n.gone = 0 and {allowed} limit 1000)""",
        allowed=text,
    )
    return [k for (k,) in await tx.fetch(statement, [type, key, *params, type, key, *params, type, *params])]


async def owned_by(tx: store.Transaction, ids: Sequence[str], *, depth: int) -> list[tuple[str, str]]:
    """(owned, owner) along living owning edges, `depth` steps up from `ids`."""
    found = await tx.fetch(
        """with recursive up(owned, owner, step) as (
               select null::uuid, unnest(%s::uuid[]), 0
               union
               select u.owner, case t.owns when 'target' then e.dst else e.src end, u.step + 1
               from up u join edge e on e.gone = 0 and (e.src = u.owner or e.dst = u.owner)
               join edge_type t on t.edge = e.type and t.owns <> ''
               where u.step < %s and u.owner = case t.owns when 'target' then e.src else e.dst end
           )
           select distinct owned, owner from up where owned is not null order by owned, owner""",
        (list(ids), depth),
    )
    return [(str(owned), str(owner)) for owned, owner in found]


async def records(tx: store.Transaction, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Id -> living node."""
    found = await _dicts(
        tx,
        "select id, type, key, path, readers, props, state, alive from node where gone = 0 and id = any (%s::uuid[])",
        (list(ids),),
    )
    return {str(r["id"]): r for r in found}


async def deletions(
    tx: store.Transaction, named: Sequence[tuple[str, str]], allowed: Allowed
) -> dict[tuple[str, str], dict[str, Any]]:
    """(type, key) -> the last change that deleted such a node, if it might be read."""
    if not named:
        return {}
    text, params = allowed
    statement = _put(
        """select distinct on (n.type, n.key) n.type, n.key, n.gone as seq, c.at, m.author_kind, m.author_id
           from node n join change c on c.seq = n.gone join commit m on m.id = c.commit
           where n.gone > 0 and (n.type, n.key) in (select * from unnest(%s::text[], %s::text[])) and {allowed}
           order by n.type, n.key, n.gone desc""",
        allowed=text,
    )
    found = await _dicts(tx, statement, [[t for t, _ in named], [k for _, k in named], *params])
    return {(r["type"], r["key"]): r for r in found}


async def forget_attempts(tx: store.Transaction, before: datetime) -> int:
    """Let go of older refused attempts; how many."""
    return await tx.execute("delete from attempt where at < %s", (before,))


async def forget_keys(tx: store.Transaction, before: datetime) -> int:
    """Let go of keys that were used earlier; how many."""
    return await tx.execute("delete from idempotency where at < %s", (before,))

"""Undo: what commits changed, who wrote there afterwards, and which commit takes which one back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate.delta import Touched
from ukai.gate.rows.statement import dicts

_COMMIT = "select id, at, author_kind, author_id, run, step, undone_by from commit"


async def commits(tx: store.Transaction, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Those of the commits that there are, with the one by which each is taken back now."""
    return await dicts(tx, _COMMIT + " where id = any (%s)", (list(ids),))


async def commits_of_run(tx: store.Transaction, run: str) -> list[dict[str, Any]]:
    """What a run committed, in order."""
    return await dicts(tx, _COMMIT + " where run = %s order by at, id", (run,))


async def commits_of_author(
    tx: store.Transaction, author: str, since: datetime, until: datetime
) -> list[dict[str, Any]]:
    """What somebody (by id) committed from `since` and before `until`, in order."""
    return await dicts(
        tx, _COMMIT + " where author_id = %s and at >= %s and at < %s order by at, id", (author, since, until)
    )


async def undoes(tx: store.Transaction, commits: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Commit -> the commits that it took back."""
    found: dict[UUID, list[UUID]] = {}
    for commit, undone in await tx.fetch("select commit, undone from undo where commit = any (%s)", (list(commits),)):
        found.setdefault(commit, []).append(undone)
    return found


async def taken_back(tx: store.Transaction, commits: Sequence[UUID]) -> list[dict[str, Any]]:
    """Those of the commits that are taken back, each with the commit that did it. All are locked afterwards."""
    return await dicts(
        tx,
        """select c.id, u.id as by, u.at, u.author_kind, u.author_id
           from (select id, undone_by from commit where id = any (%s) order by id for no key update) c
           join commit u on u.id = c.undone_by""",
        (list(commits),),
    )


async def take_back(tx: store.Transaction, commits: Sequence[UUID], *, by: UUID) -> list[dict[str, Any]]:
    """`by` takes the commits back, and what those had taken back is in force again. Instead, if any is taken back
    already, those.
    """
    already = await taken_back(tx, commits)
    if not already:
        await tx.execute("update commit set undone_by = null where undone_by = any (%s)", (list(commits),))
        await tx.execute("update commit set undone_by = %s where id = any (%s)", (by, list(commits)))
        await tx.execute("insert into undo (commit, undone) select %s, unnest(%s::uuid[])", (by, list(commits)))
    return already


async def later_writes(tx: store.Transaction, touched: Sequence[Touched]) -> list[dict[str, Any]]:
    """The last write after each part, of those that are in force: a commit that was taken back does not count, and
    neither does the one that took it back, unless what it took back was there before. `place` counts in `touched`.
    """
    return await dicts(
        tx,
        """select distinct on (t.place) t.place - 1 as place, c.seq, c.op, c.commit, c.at, c.fields, c.handle, c.type,
                  m.author_kind, m.author_id
           from unnest(%s::uuid[], %s::text[], %s::bigint[]) with ordinality t(id, field, seq, place)
           join change c on c.id = t.id and c.seq > t.seq
           join commit m on m.id = c.commit
           where m.undone_by is null and c.fields <> '{@readers}'
             and (t.field = '' or t.field = any (c.fields) or c.op <> 'update')
             and (not exists (select 1 from undo u where u.commit = m.id) or exists (
                 select 1 from undo u join change p on p.commit = u.undone and p.id = c.id and p.seq < t.seq
                 where u.commit = m.id and (t.field = '' or t.field = any (p.fields) or p.op <> 'update')))
           order by t.place, c.seq desc""",
        ([t.id for t in touched], [t.field for t in touched], [t.seq for t in touched]),
    )


async def holders(
    tx: store.Transaction, keys: Sequence[tuple[str, str]], *, without: Sequence[UUID]
) -> list[dict[str, Any]]:
    """The living nodes under the (type, key), but those `without`, each with the change that made it."""
    return await dicts(
        tx,
        """select n.type, n.key, c.commit, c.at, m.author_kind, m.author_id
           from unnest(%s::text[], %s::text[]) k(type, key)
           join node n on n.type = k.type and n.key = k.key and n.gone = 0 and not n.id = any (%s)
           join lateral (select * from change c where c.id = n.id and c.op = 'create'
                         order by c.seq desc limit 1) c on true
           join commit m on m.id = c.commit""",
        ([t for t, _ in keys], [k for _, k in keys], list(without)),
    )


async def attached(tx: store.Transaction, nodes: Sequence[UUID], *, without: Sequence[UUID]) -> list[dict[str, Any]]:
    """The living edges at the nodes, but those `without`: `node`, `other` and the change that made the edge."""
    statement = """select v.node, v.other, e.type, c.commit, c.at, m.author_kind, m.author_id
           from edge e
           cross join lateral (values (e.src, e.dst), (e.dst, e.src)) v(node, other)
           join lateral (select * from change c where c.id = e.id and c.op = 'create'
                         order by c.seq desc limit 1) c on true
           join commit m on m.id = c.commit
           where e.gone = 0 and (e.src = any (%s) or e.dst = any (%s)) and v.node = any (%s) and not e.id = any (%s)
           order by c.seq"""
    return await dicts(tx, statement, (list(nodes), list(nodes), list(nodes), list(without)))


async def pointing(
    tx: store.Transaction, handles: Sequence[str], fields: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """The living nodes that name one of `handles` in one of `fields` (type and ref field): `id`, `field`, `named`."""
    return await dicts(
        tx,
        """select n.id, f.field, h.handle as named
           from unnest(%s::text[], %s::text[]) f(type, field)
           join node n on n.type = f.type and n.gone = 0
           join unnest(%s::text[]) h(handle) on n.props->f.field ? h.handle or n.props->>f.field = h.handle
           order by n.type, n.key limit 100""",
        ([t for t, _ in fields], [f for _, f in fields], list(handles)),
    )

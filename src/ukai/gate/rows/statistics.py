"""Who wrote how well: commits and attempts counted, each figure in one statement."""

from __future__ import annotations

from typing import Any

from ukai import store
from ukai.gate.rows.statement import Window, dicts, put

_SPAN = "(%s::timestamptz is null or at >= %s) and (%s::timestamptz is null or at < %s)"
_AUTHORS = """
    with asked as (
        -- An attempt belongs to the next commit of its author's run and step, or under its key.
        select m.*, lag(at, 1, '-infinity') over (
                   partition by author_kind, author_id, run, step, case when run is null then key end order by at, id
               ) as since
        from commit m
    ), made as (
        select author_kind as kind, {who} as id, count(*) as commits, sum(c.changes) as changes,
               count(undone_by) as undone, avg(tries) as tries,
               avg(case when tries = 1 then 1.0 else 0.0 end) as first_pass
        from asked
        cross join lateral (select count(*) as changes from change where change.commit = asked.id) c
        cross join lateral (
            select 1 + count(*) as tries from attempt a
            where a.at <= asked.at and a.at > asked.since
              and a.author_kind = asked.author_kind and a.author_id = asked.author_id
              and case when asked.run is not null then a.run = asked.run and a.step is not distinct from asked.step
                       else a.key = asked.key end) t
        where {span}
        group by 1, 2
    ), refused as (
        select author_kind as kind, {who} as id, count(*) as refused,
               count(distinct (run, step)) filter (where run is not null and not exists (
                   select 1 from commit m
                   where m.run = attempt.run and m.step is not distinct from attempt.step)) as given_up
        from attempt where {span} group by 1, 2
    )
    select kind, id, coalesce(commits, 0) as commits, coalesce(changes, 0)::bigint as changes,
           coalesce(commits, 0)::float / nullif(sum(coalesce(commits, 0)) over (), 0) as share,
           coalesce(refused, 0) as refused, coalesce(given_up, 0) as given_up, first_pass::float as first_pass,
           tries::float as attempts_to_accept, coalesce(undone, 0) as undone,
           coalesce(undone, 0)::float / nullif(commits, 0) as undone_share
    from made full join refused using (kind, id)
    order by commits desc, kind, id"""


async def author_figures(tx: store.Transaction, window: Window, *, by_author: bool) -> list[dict[str, Any]]:
    """Of each kind of author (or each author): what they wrote, how often it was refused, and taken back."""
    statement = put(_AUTHORS, who="author_id" if by_author else "''", span=_SPAN)
    return await dicts(tx, statement, [*_times(window), *_times(window)])


async def code_figures(tx: store.Transaction, window: Window) -> list[dict[str, Any]]:
    """Of each code: refused attempts with it, by kind of author, most first."""
    return await dicts(
        tx,
        put(
            """select code, sum(attempts)::bigint as attempts, jsonb_object_agg(author_kind, attempts) as by
               from (select code, author_kind, count(*) as attempts from attempt cross join lateral unnest(codes) code
                     where {span} group by 1, 2) each
               group by 1 order by 2 desc, 1 limit %s""",
            span=_SPAN,
        ),
        [*_times(window), window.limit],
    )


def _times(window: Window) -> tuple[Any, ...]:
    return (window.since, window.since, window.until, window.until)

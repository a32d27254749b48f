"""Everything that must hold in the database, whoever wrote: read with queries of its own, not the gate's."""

from __future__ import annotations

from typing import Any

from ukai import store

CHECKS = {
    "a living edge ends at living nodes": """
        select e.type, e.id from edge e join node s on s.id = e.src join node t on t.id = e.dst
        where e.alive and not (s.alive and t.alive)""",
    "alive says what gone says": """
        select 'node', id from node where alive <> (gone = 0)
        union all select 'edge', id from edge where alive <> (gone = 0)""",
    "no two living nodes share a key": """
        select type, key from node where alive group by type, key having count(*) > 1""",
    "no two living edges join the same nodes": """
        select type, src, dst from edge where alive group by type, src, dst having count(*) > 1""",
    "no node has more edges than its maximum": """
        select t.edge, e.src, count(*) from edge e join edge_type t on t.edge = e.type
        where e.alive group by t.edge, e.src, t.max_out having count(*) > t.max_out
        union all
        select t.edge, e.dst, count(*) from edge e join edge_type t on t.edge = e.type
        where e.alive group by t.edge, e.dst, t.max_in having count(*) > t.max_in""",
    "no node has fewer edges than its minimum": """
        select t.edge, n.id, count(e.id) from node n join edge_type t on n.type = any (t.sources) and t.min_out > 0
        left join edge e on e.src = n.id and e.type = t.edge and e.alive
        where n.alive group by t.edge, n.id, t.min_out having count(e.id) < t.min_out""",
    "no two living nodes share a unique value": """
        select type, props->'seal' from node where alive and type = 'Town' and props ? 'seal'
        group by 1, 2 having count(*) > 1""",
    "every unique value is claimed by its holder, and nothing else is": """
        select coalesce(c.holder, n.id)
        from (select * from node where alive and type = 'Town' and props ? 'seal') n
        full join (select * from claim where name = 'seal') c on c.holder = n.id and c.value = (n.props->'seal')::text
        where c.holder is null or n.id is null""",
    "every edge of at most one is claimed": """
        select coalesce(c.holder, x.id) from (
            select e.id, 'out' as name, e.src::text as value from edge e join edge_type t on t.edge = e.type
            where e.alive and t.max_out = 1
            union all
            select e.id, 'in', e.dst::text from edge e join edge_type t on t.edge = e.type
            where e.alive and t.max_in = 1
        ) x full join (select * from claim where name in ('in', 'out')) c
            on c.holder = x.id and c.name = x.name and c.value = x.value
        where c.holder is null or x.id is null""",
    "no edge without circles lies on one": """
        with recursive reach as (
            select e.type, e.src, e.dst from edge e join edge_type t on t.edge = e.type where e.alive and t.acyclic
            union select r.type, r.src, e.dst from reach r join edge e on e.src = r.dst and e.type = r.type and e.alive
        ) select type, src from reach where src = dst""",
    "readers are those of the neighbour they are taken from": """
        select n.id, n.readers, array_agg(s.readers::text) from node n join node_type t on t.type = n.type
        left join edge e on e.type = t.readers_edge and e.src = n.id and e.alive
        left join node s on s.id = e.dst
        where n.alive and t.readers_side = 'out'
        group by n.id, n.readers
        having coalesce((array_agg(s.readers::text) filter (where s.id is not null))[1], '{}')
               is distinct from n.readers::text""",
    "a row is what its changes add up to": """
        with last as (
            select distinct on (c.id, f.name) c.id, c.kind, f.name, c.after->f.name as value
            from change c cross join lateral unnest(c.fields) f(name) order by c.id, f.name, c.seq desc
        ), told as (
            select id, kind,
                   jsonb_object_agg(name, value) filter (where value is not null and name not like '@%') as props
            from last group by id, kind
        ), stands as (
            select id, alive,
                   props || case when state is null then '{}' else jsonb_build_object('state', state) end as props
            from node union all select id, alive, props from edge
        )
        select s.id, s.props, t.props from stands s left join told t using (id)
        where s.alive and s.props <> coalesce(t.props, '{}')""",
    "versions count the changes": """
        select s.id, s.version, c.made
        from (select id, version from node union all select id, version from edge) s
        join (select id, count(*) filter (where op <> 'delete' and fields <> '{@readers}') as made
              from change group by id) c using (id)
        where s.version <> c.made""",
    "a field's version is that of its last change": """
        select n.id, f.name, n.field_versions from node n
        join lateral (
            select distinct on (f.name) f.name, c.version from change c cross join lateral unnest(c.fields) f(name)
            where c.id = n.id and c.op <> 'delete' and f.name not like '@%' order by f.name, c.seq desc) f on true
        where coalesce((n.field_versions->>f.name)::int, 1) <> f.version""",
    "every change belongs to a commit and to its transaction": """
        select c.seq from change c left join commit m on m.id = c.commit and m.xid = c.xid where m.id is null""",
    "every key that was used leads to its commit": """
        select i.key from idempotency i left join commit m on m.id = i.commit where m.id is null""",
    "seq is the last change": """
        select s.id from (select id, seq from node union all select id, seq from edge) s
        join (select id, max(seq) as seq from change group by id) c using (id) where c.seq <> s.seq""",
}


async def violations(db: store.Database) -> dict[str, list[tuple[Any, ...]]]:
    """What does not hold: rule -> rows."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    async with db.snapshot() as tx:
        for rule, query in CHECKS.items():
            rows = await tx.fetch(query)
            if rows:
                found[rule] = rows
    return found

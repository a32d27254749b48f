-- Step 5, in statements after the locking ones. Every problem comes back, not the first.

-- The fields among `names` that changed after version `base`: what makes a stale write a conflict.
create or replace function gate_changed(field_versions jsonb, names text[], base int) returns text[] language sql immutable as $$
    select array_agg(name order by name) from unnest(names) name
    where coalesce((field_versions->>name)::int, 1) > base
$$;

create or replace function gate_check_nodes(nodes gate_node[], o gate_opened) returns jsonb[] language plpgsql as $$
begin
    return array(
    with op as (
        select x.*, o.nodes[x.n + 1] as target, o.nodes[x.n + 1] = x.id and x.act in ('create', 'upsert') as new
        from unnest(nodes) x
    ), seen as (
        select op.*, v.id as vid, v.type as vtype, v.key as vkey, v.props, v.state as vstate, v.version, v.field_versions, v.gone,
               array(select jsonb_object_keys(coalesce(op.set, '{}'))) || coalesce(op.unset, '{}')
               || case when op.state is null then '{}' else '{state}'::text[] end as names
        from op left join node v on v.id = op.target and v.id = any (o.held)
        where not op.new
    )
    select jsonb_build_object('code', 'unknown_id', 'where', at, 'n', n, 'type', type, 'key', coalesce(key, id::text))
    from seen where vid is null
    union all
    select jsonb_build_object('code', 'deleted_target', 'where', at, 'n', n, 'id', vid, 'type', vtype, 'key', vkey, 'seq', gone)
    from seen where gone <> 0
    union all
    select jsonb_build_object('code', 'wrong_type', 'where', at, 'n', n, 'type', vtype, 'key', vkey,
                              'expected', coalesce(types, array[type]))
    from seen where gone = 0 and vtype <> all (coalesce(types, array[type]))
    union all
    select jsonb_build_object('code', 'conflict', 'where', at, 'n', n, 'id', vid, 'type', vtype, 'key', vkey,
                              'expected', if_version, 'received', version,
                              'fields', case when act = 'delete' or if_version > version then null
                                             else gate_changed(field_versions, names, if_version) end)
    from seen
    where gone = 0 and if_version <> version
      and (act = 'delete' or if_version > version or gate_changed(field_versions, names, if_version) is not null)
    union all
    select jsonb_build_object('code', 'precondition_failed', 'where', at, 'n', n, 'type', vtype, 'key', vkey, 'field', t.key,
                              'expected', t.value, 'received', (props || jsonb_build_object('state', vstate))->t.key)
    from seen cross join lateral jsonb_each(test) t
    where gone = 0
      and nullif(t.value, 'null') is distinct from nullif((props || jsonb_build_object('state', vstate))->t.key, 'null')
    union all
    select jsonb_build_object('code', 'invalid_transition', 'where', at, 'n', n, 'id', vid, 'type', vtype, 'key', vkey,
                              'received', state, 'state', vstate)
    from seen
    where gone = 0 and state is not null and state is distinct from vstate and array_position(sources, vstate) is null
    union all
    select jsonb_build_object('code', 'immutable_field', 'where', at, 'n', n, 'type', vtype, 'key', vkey, 'field', f,
                              'expected', props->f, 'received', set->f)
    from seen cross join lateral unnest(frozen) f
    where gone = 0 and props ? f and props->f is distinct from set->f
    union all
    select jsonb_build_object('code', 'unique_violation', 'where', op.at, 'n', op.n, 'type', op.type, 'key', op.key,
                              'field', null, 'holder', v.id, 'holder_type', v.type, 'holder_key', v.key)
    from op join node v on v.type = op.type and v.key = op.key and v.gone = 0
    where op.act = 'create' and op.look = 'new' and not v.id = any (o.doomed)
    union all
    select jsonb_build_object('code', 'needs', 'where', at, 'n', n, 'type', type, 'key', key, 'field', f)
    from op cross join lateral unnest(needs) f
    where new
    union all
    select jsonb_build_object('code', 'duplicate_target', 'where', at, 'n', n, 'first', first, 'type', type, 'key', key)
    from (select op.*, first_value(at) over same as first, row_number() over same as place
          from op where act <> 'see' and target is not null window same as (partition by target order by n)) twice
    where place > 1
    union all
    select jsonb_build_object('code', 'duplicate_target', 'where', at, 'n', n, 'first', first, 'type', type, 'key', key)
    from (select op.*, first_value(at) over same as first, row_number() over same as place
          from op where new window same as (partition by type, key order by n)) twice
    where place > 1
    union all
    select jsonb_build_object('code', 'deleted_target', 'where', op.at, 'n', op.n, 'id', op.target, 'type', op.type, 'key', op.key,
                              'here', true)
    from op where op.act <> 'delete' and op.target = any (o.doomed)
    );
end $$;

create or replace function gate_check_edges(edges gate_edge[], o gate_opened) returns jsonb[] language plpgsql as $$
begin
    return array(
    with op as (
        select x.*, o.nodes[x.src + 1] as source, o.nodes[x.dst + 1] as target, o.edges[x.n + 1] as found from unnest(edges) x
    ), seen as (
        select op.*, v.id as vid, v.props, v.version, v.field_versions,
               array(select jsonb_object_keys(coalesce(op.set, '{}'))) || coalesce(op.unset, '{}') as names
        from op left join edge v on v.id = op.found and v.gone = 0 and v.id = any (o.held)
        where op.act <> 'create' and op.source is not null and op.target is not null
    )
    select jsonb_build_object('code', 'unknown_id', 'where', at, 'edge', n, 'type', type, 'key', null)
    from seen where vid is null
    union all
    select jsonb_build_object('code', 'conflict', 'where', at, 'edge', n, 'id', vid, 'type', type,
                              'expected', if_version, 'received', version,
                              'fields', case when act = 'delete' or if_version > version then null
                                             else gate_changed(field_versions, names, if_version) end)
    from seen
    where if_version <> version
      and (act = 'delete' or if_version > version or gate_changed(field_versions, names, if_version) is not null)
    union all
    select jsonb_build_object('code', 'precondition_failed', 'where', at, 'edge', n, 'type', type, 'field', t.key,
                              'expected', t.value, 'received', props->t.key)
    from seen cross join lateral jsonb_each(test) t
    where vid is not null and nullif(t.value, 'null') is distinct from nullif(props->t.key, 'null')
    union all
    select jsonb_build_object('code', 'immutable_field', 'where', at, 'edge', n, 'type', type, 'field', f,
                              'expected', props->f, 'received', set->f)
    from seen cross join lateral unnest(frozen) f
    where props ? f and props->f is distinct from set->f
    union all
    select jsonb_build_object('code', 'duplicate_edge', 'where', op.at, 'edge', op.n, 'type', op.type, 'id', v.id, 'version', v.version)
    from op join edge v on v.src = op.source and v.type = op.type and v.dst = op.target and v.gone = 0
    where op.act = 'create' and not v.id = any (o.severed)
      and not exists (select 1 from op d where d.act = 'delete' and d.found = v.id)
    union all
    select jsonb_build_object('code', case when act = 'create' then 'duplicate_edge' else 'duplicate_target' end,
                              'where', at, 'edge', n, 'type', type, 'first', first)
    from (select op.*, first_value(at) over same as first, row_number() over same as place
          from op where source is not null and target is not null
          window same as (partition by act = 'create', type, source, target order by n)) twice
    where place > 1
    union all
    select jsonb_build_object('code', 'edge_cycle', 'where', op.at, 'edge', op.n, 'type', op.type)
    from op
    where op.act = 'create' and op.acyclic and exists (
        with recursive reach(id) as (
            select op.target
            union
            select next.id
            from reach r cross join lateral (
                select v.dst as id from edge v
                where v.src = r.id and v.type = op.type and v.gone = 0 and not v.id = any (o.severed)
                  and not exists (select 1 from op d where d.act = 'delete' and d.found = v.id)
                union all
                select c.target from op c where c.act = 'create' and c.type = op.type and c.source = r.id
            ) next
        ) select 1 from reach where reach.id = op.source)
    );
end $$;

-- Counts as they will stand at the end of the delta: an edge may be replaced, and a new node may be given its edges.
create or replace function gate_check_counts(nodes gate_node[], edges gate_edge[], o gate_opened) returns jsonb[] language plpgsql as $$
begin
    return array(
    with cut as (
        select e.src, e.dst, e.type, (select min(x.at) from unnest(nodes) x where x.act = 'delete') as at
        from edge e where e.id = any (o.severed)
        union
        select e.src, e.dst, e.type, x.at from unnest(edges) x join edge e on e.id = o.edges[x.n + 1]
        where x.act = 'delete' and e.gone = 0 and not e.id = any (o.severed)
    ), move(type, side, node, step, at) as (
        select x.type, 'out', o.nodes[x.src + 1], 1, x.at from unnest(edges) x where x.act = 'create'
        union all
        select x.type, 'in', o.nodes[x.dst + 1], 1, x.at from unnest(edges) x where x.act = 'create'
        union all
        select type, 'out', src, -1, at from cut
        union all
        select type, 'in', dst, -1, at from cut
        union all
        select t.edge, 'out', o.nodes[x.n + 1], 0, x.at from unnest(nodes) x join edge_type t on x.type = any (t.sources)
        where t.min_out > 0 and x.act in ('create', 'upsert') and o.nodes[x.n + 1] = x.id
        union all
        select t.edge, 'in', o.nodes[x.n + 1], 0, x.at from unnest(nodes) x join edge_type t on x.type = any (t.targets)
        where t.min_in > 0 and x.act in ('create', 'upsert') and o.nodes[x.n + 1] = x.id
    ), total as (
        select m.type, m.side, m.node, sum(m.step) as step, max(m.at) filter (where m.step >= 0) as made, max(m.at) as at
        from move m where m.node is not null and not m.node = any (o.doomed)
        group by m.type, m.side, m.node
    ), counted as (
        select total.*, t.domain,
               case side when 'out' then t.min_out else t.min_in end as least,
               case side when 'out' then t.max_out else t.max_in end as most,
               case side when 'out' then (select count(*) from edge e where e.src = node and e.type = total.type and e.gone = 0)
                         else (select count(*) from edge e where e.dst = node and e.type = total.type and e.gone = 0) end as now
        from total join edge_type t on t.edge = total.type
        -- A side without a limit is not counted: a hub would pay for it with every edge.
        where case side when 'out' then t.max_out is not null or t.min_out > 0 else t.max_in is not null or t.min_in > 0 end
    )
    select jsonb_build_object('code', case when now + step > most then 'cardinality_max' else 'cardinality_min' end,
                              'where', coalesce(made, at, ''), 'type', c.type, 'side', side,
                              'expected', case when now + step > most then most else least end, 'received', now + step,
                              'id', node, 'node_type', v.type, 'key', v.key, 'follows', made is null,
                              'holders', array(
                                  select case side when 'out' then e.dst else e.src end from edge e
                                  where e.gone = 0 and e.type = c.type and node = case side when 'out' then e.src else e.dst end
                                  limit 5))
    from counted c left join node v on v.id = c.node
    where (now + step > most and step > 0) or (now + step < least and (step < 0 or made is not null))
    );
end $$;

-- What stands in the way of a deletion, edge type by edge type.
create or replace function gate_check_deletes(nodes gate_node[], edges gate_edge[], o gate_opened) returns jsonb[] language plpgsql as $$
begin
    return array(
    select jsonb_build_object('code', 'restricted_delete', 'where', coalesce(min(x.at), ''), 'type', e.type, 'id', d.id,
                              'side', d.side, 'received', count(*),
                              'holders', (array_agg(d.other order by h.key))[1:5])
    from (
        select e.id as edge, e.src as id, e.dst as other, 'out' as side from edge e join edge_type t on t.edge = e.type
        where e.src = any (o.doomed) and e.gone = 0 and t.on_source = 'reject'
        union all
        select e.id, e.dst, e.src, 'in' from edge e join edge_type t on t.edge = e.type
        where e.dst = any (o.doomed) and e.gone = 0 and t.on_target = 'reject'
    ) d
    join edge e on e.id = d.edge
    join node h on h.id = d.other
    left join unnest(nodes) x on o.nodes[x.n + 1] = d.id and x.act = 'delete'
    where not d.other = any (o.doomed)
      and not exists (select 1 from unnest(edges) c where c.act = 'delete' and o.edges[c.n + 1] = d.edge)
    group by e.type, d.id, d.side
    );
end $$;

create or replace function gate_check_claims(o gate_opened) returns jsonb[] language plpgsql as $$
begin
    return array(
    select jsonb_build_object('code', 'unique_violation', 'where', t."where", 'type', t.type, 'field', t.name,
                              'holder', c.holder, 'holder_type', v.type, 'holder_key', v.key)
    from jsonb_to_recordset(o.taken) t(type text, name text, value text, "where" text)
    left join claim c using (type, name, value)
    left join node v on v.id = c.holder
    where not exists (select 1 from edge_type where edge = t.type)
    union all
    select jsonb_build_object('code', 'cardinality_max', 'where', t."where", 'type', t.type, 'side', t.name,
                              'expected', 1, 'received', 2, 'id', v.id, 'node_type', v.type, 'key', v.key, 'follows', false,
                              'holders', array(
                                  select case t.name when 'out' then e.dst else e.src end
                                  from claim c join edge e on e.id = c.holder
                                  where c.type = t.type and c.name = t.name and c.value = t.value))
    from jsonb_to_recordset(o.taken) t(type text, name text, value text, "where" text)
    join edge_type on edge = t.type
    left join node v on v.id = t.value::uuid
    );
end $$;

-- `lateral .. limit 1` makes a join one look into an index per operation, whatever the planner believes of a table that was
-- empty when it was last counted.
-- The common case in two cheap statements: nothing that could be a problem. Keys, pairs and claims that are taken by
-- somebody else stop the writing itself, which then asks to begin again with a thorough check.
create or replace function gate_plain(plan jsonb, nodes gate_node[], edges gate_edge[], o gate_opened) returns boolean language plpgsql as $$
begin
    return cardinality(o.doomed) = 0 and o.taken is null and not coalesce((plan->>'thorough')::boolean, false) and (
        select count(distinct x.id) filter (where x.act <> 'see') = count(*) filter (where x.act <> 'see')
               and coalesce(bool_and(x.fine), true)
        from (
            select x.act, v.id,
                   (v.gone = 0 and v.type = coalesce(x.type, v.type)
                    and (x.types is null or v.type = any (x.types))
                    and (x.if_version is null or x.if_version = v.version)
                    and x.test is null and x.frozen is null
                    and (x.state is null or x.state is not distinct from v.state or array_position(x.sources, v.state) is not null)
                   ) is true as fine
            from unnest(nodes) x
            left join lateral (
                select * from node v where v.id = o.nodes[x.n + 1] and v.id = any (o.held) limit 1) v on true
            where x.act in ('see', 'update', 'delete') or x.act = 'upsert' and (o.nodes[x.n + 1] <> x.id or x.needs is not null)
        ) x
    ) and (
        edges = '{}' or not exists (
            select 1
            from unnest(edges) x
            left join lateral (
                select v.id from edge v
                where v.src = o.nodes[x.src + 1] and v.type = x.type and v.dst = o.nodes[x.dst + 1] and v.gone = 0
                limit 1) v on true
            where x.act <> 'create' or x.acyclic or v.id is not null
        )
    );
end $$;

create or replace function gate_check(plan jsonb, nodes gate_node[], edges gate_edge[], o gate_opened) returns jsonb language plpgsql as $$
declare
    found jsonb[] := '{}';
begin
    if not gate_plain(plan, nodes, edges, o) then
        found := gate_check_nodes(nodes, o) || gate_check_edges(edges, o);
    end if;
    if (plan->>'counts')::boolean then
        found := found || gate_check_counts(nodes, edges, o);
    end if;
    if cardinality(o.doomed) > 0 then
        found := found || gate_check_deletes(nodes, edges, o);
    end if;
    if o.taken is not null then
        found := found || gate_check_claims(o);
    end if;
    return nullif(to_jsonb(found), '[]');
end $$;

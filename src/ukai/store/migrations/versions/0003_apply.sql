-- Step 7. The rows are locked, so what a statement reads here is what it changes; each kind is one statement.

create or replace function gate_path(template text, props jsonb) returns text language plpgsql immutable as $$
declare
    made text := template;
    name text;
begin
    for name in select m[1] from regexp_matches(template, '\{([^{}]+)\}', 'g') m loop
        made := replace(made, '{' || name || '}', coalesce(props->>name, ''));
    end loop;
    return made;
end $$;

-- When the source said so, by version: of the versions that some field is still of, but the last, whose provenance is the
-- node's own. So the date of a field is moved by no change of another one.
create or replace function gate_earlier(earlier jsonb, versions jsonb, at jsonb, changed text[]) returns jsonb language sql immutable as $$
    select jsonb_object_agg(key, value)
    from jsonb_each(coalesce(earlier, '{}') || jsonb_build_object(
        (select coalesce(max(value::int), 1) from jsonb_each_text(versions)), at))
    where key = '1' or key in (select value from jsonb_each_text(versions - changed))
$$;

create or replace function gate_update_nodes(plan jsonb, nodes gate_node[], o gate_opened) returns jsonb language plpgsql as $$
declare
    done jsonb;
begin
    with op as (
        select x.n, x.ref, x.state, coalesce(x.stateless, false) as stateless, x.template, x.readers, x.rereads, x.prov,
               coalesce(x.set, '{}') as set, coalesce(x.unset, '{}') as unset, v.id, v.domain, v.type, v.key, v.props,
               v.state as old_state, v.version, v.readers as old_readers
        from unnest(nodes) x cross join lateral (select * from node v where v.id = o.nodes[x.n + 1] limit 1) v
        where x.act = 'update' or x.act = 'upsert' and o.nodes[x.n + 1] <> x.id
    ), diff as (
        select op.*, d.fields, d.fields || case when state is distinct from old_state and (state is not null or stateless)
                                                then '{state}'::text[] else '{}' end as changed
        from op cross join lateral (
            select array(select s.key from jsonb_each(op.set) s where op.props->s.key is distinct from s.value
                         union all select u from unnest(op.unset) u where op.props ? u) as fields) d
    ), numbered as (
        select diff.*, nextval('change_seq') as seq, (props || set) - unset as next from diff where changed <> '{}'
    ), written as (
        update node v
        set props = w.next,
            state = case when w.stateless then null else coalesce(w.state, v.state) end,
            version = w.version + 1,
            field_versions = v.field_versions
                || (select jsonb_object_agg(f, w.version + 1) from unnest(w.changed) f),
            earlier = gate_earlier(v.earlier, v.field_versions, v.provenance->'at', w.changed),
            path = case when w.template is null then v.path else gate_path(w.template, w.next) end,
            readers = case when w.rereads then w.readers else v.readers end,
            provenance = w.prov,
            seq = w.seq,
            updated_at = (plan->>'at')::timestamptz
        from numbered w
        where v.id = w.id
        returning v.id
    ), logged as (
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at)
        select seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'update', 'node', id, domain, type, type || '#' || key,
               version + 1, changed,
               (select coalesce(jsonb_object_agg(f, props->f), '{}') from unnest(fields) f where props ? f)
               || case when 'state' = any (changed) then jsonb_build_object('state', old_state) else '{}' end,
               (select coalesce(jsonb_object_agg(f, next->f), '{}') from unnest(fields) f where next ? f)
               || case when 'state' = any (changed) then jsonb_build_object('state', state) else '{}' end,
               (plan->>'at')::timestamptz
        from numbered
    )
    select jsonb_object_agg(coalesce(ref, type || '#' || key), jsonb_build_object(
        'id', id, 'handle', type || '#' || key, 'version', version + case when changed = '{}' then 0 else 1 end))
    into done from diff;
    return coalesce(done, '{}');
end $$;

create or replace function gate_insert_nodes(plan jsonb, nodes gate_node[], o gate_opened) returns jsonb language plpgsql as $$
declare
    done jsonb;
    wanted int;
    made int;
    revived jsonb := '{}';
begin
    if (plan->>'revives')::boolean then
        revived := gate_revive_nodes(plan, nodes);
        if revived is null then
            return null;
        end if;
    end if;
    with op as (
        select x.id, x.ref, x.domain, x.type, x.key, x.path, x.readers, x.prov,
               coalesce(x.set, '{}') || coalesce(x.fill, '{}') as props, coalesce(x.born, x.state) as state,
               nextval('change_seq') as seq
        from unnest(nodes) x
        where (x.act = 'create' or x.act = 'upsert' and o.nodes[x.n + 1] = x.id) and x.revives is not true
    ), written as (
        insert into node (id, domain, type, key, path, readers, props, state, provenance, seq, created_at, updated_at)
        select id, domain, type, key, path, readers, props, state, prov, seq, (plan->>'at')::timestamptz, (plan->>'at')::timestamptz
        from op
        order by type, key
        on conflict (type, key, gone) do nothing
        returning id
    ), logged as (
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, after, at)
        select seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'create', 'node', id, domain, type, type || '#' || key, 1,
               array(select jsonb_object_keys(props)) || case when state is null then '{}' else '{state}'::text[] end,
               props || case when state is null then '{}' else jsonb_build_object('state', state) end,
               (plan->>'at')::timestamptz
        from op
    )
    select (select count(*) from op), (select count(*) from written),
           (select jsonb_object_agg(coalesce(ref, type || '#' || key), jsonb_build_object(
                'id', id, 'handle', type || '#' || key, 'version', 1)) from op)
    into wanted, made, done;
    if made < wanted then
        return null;  -- somebody took a key after the check: begin again, and say who
    end if;
    return revived || coalesce(done, '{}');
end $$;

create or replace function gate_insert_edges(plan jsonb, edges gate_edge[], o gate_opened) returns boolean language plpgsql as $$
declare
    wanted int;
    made int;
begin
    if (plan->>'revives')::boolean and not gate_revive_edges(plan, edges) then
        return false;
    end if;
    with op as (
        select x.id, x.domain, x.type, o.nodes[x.src + 1] as src, o.nodes[x.dst + 1] as dst, coalesce(x.set, '{}') as props, x.prov,
               nextval('change_seq') as seq
        from unnest(edges) x where x.act = 'create' and x.revives is not true
    ), written as (
        insert into edge (id, domain, type, src, dst, props, provenance, seq, created_at, updated_at)
        select id, domain, type, src, dst, props, prov, seq, (plan->>'at')::timestamptz, (plan->>'at')::timestamptz
        from op
        order by src, type, dst
        on conflict (src, type, dst, gone) do nothing
        returning id
    ), logged as (
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, after, at)
        select op.seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'create', 'edge', op.id, op.domain, op.type,
               s.type || '#' || s.key || ' -' || op.type || '-> ' || t.type || '#' || t.key, 1,
               array(select jsonb_object_keys(op.props)), op.props, (plan->>'at')::timestamptz
        from op join node s on s.id = op.src join node t on t.id = op.dst
    )
    select (select count(*) from op), (select count(*) from written) into wanted, made;
    return made = wanted;
end $$;

create or replace function gate_update_edges(plan jsonb, edges gate_edge[], o gate_opened) returns void language plpgsql as $$
begin
    with op as (
        select x.prov, coalesce(x.set, '{}') as set, coalesce(x.unset, '{}') as unset, v.id, v.domain, v.type, v.src, v.dst,
               v.props, v.version,
               array(select s.key from jsonb_each(coalesce(x.set, '{}')) s where v.props->s.key is distinct from s.value
                     union all select u from unnest(coalesce(x.unset, '{}')) u where v.props ? u) as fields
        from unnest(edges) x join edge v on v.id = o.edges[x.n + 1]
        where x.act = 'update'
    ), numbered as (
        select op.*, nextval('change_seq') as seq, (props || set) - unset as next from op where fields <> '{}'
    ), written as (
        update edge v
        set props = w.next,
            version = w.version + 1,
            field_versions = v.field_versions || (select jsonb_object_agg(f, w.version + 1) from unnest(w.fields) f),
            provenance = w.prov,
            seq = w.seq,
            updated_at = (plan->>'at')::timestamptz
        from numbered w
        where v.id = w.id
        returning v.id
    )
    insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at)
    select w.seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'update', 'edge', w.id, w.domain, w.type,
           s.type || '#' || s.key || ' -' || w.type || '-> ' || t.type || '#' || t.key, w.version + 1, w.fields,
           (select coalesce(jsonb_object_agg(f, w.props->f), '{}') from unnest(w.fields) f where w.props ? f),
           (select coalesce(jsonb_object_agg(f, w.next->f), '{}') from unnest(w.fields) f where w.next ? f),
           (plan->>'at')::timestamptz
    from numbered w join node s on s.id = w.src join node t on t.id = w.dst;
end $$;

create or replace function gate_delete(plan jsonb, edges gate_edge[], o gate_opened) returns void language plpgsql as $$
begin
    with dead as (
        select v.id, v.domain, v.type, v.src, v.dst, v.props, v.version, nextval('change_seq') as seq
        from edge v
        where v.gone = 0 and v.id = any (o.severed || array(select o.edges[x.n + 1] from unnest(edges) x where x.act = 'delete'))
    ), written as (
        update edge v set alive = false, gone = d.seq, seq = d.seq, updated_at = (plan->>'at')::timestamptz
        from dead d where v.id = d.id
    )
    insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, at)
    select d.seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'delete', 'edge', d.id, d.domain, d.type,
           s.type || '#' || s.key || ' -' || d.type || '-> ' || t.type || '#' || t.key, d.version,
           array(select jsonb_object_keys(d.props)), d.props, (plan->>'at')::timestamptz
    from dead d join node s on s.id = d.src join node t on t.id = d.dst;

    with dead as (
        select v.id, v.domain, v.type, v.key, v.props, v.state, v.version, nextval('change_seq') as seq
        from node v where v.gone = 0 and v.id = any (o.doomed)
    ), written as (
        update node v set alive = false, gone = d.seq, seq = d.seq, updated_at = (plan->>'at')::timestamptz
        from dead d where v.id = d.id
    )
    insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, at)
    select seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'delete', 'node', id, domain, type, type || '#' || key, version,
           array(select jsonb_object_keys(props)) || case when state is null then '{}' else '{state}'::text[] end,
           props || case when state is null then '{}' else jsonb_build_object('state', state) end, (plan->>'at')::timestamptz
    from dead;
end $$;

-- Readers taken from a neighbour: what all neighbours with readers allow; with no neighbour, nobody.
-- Rounds, because an heir may itself have heirs; a circle ends where nothing changes any more.
create or replace function gate_inherit(plan jsonb, heirs uuid[]) returns void language plpgsql as $$
declare
    changed int;
begin
    for round in 1..16 loop
        with own as (
            select v.id, v.domain, v.type, v.key, v.readers, v.version, t.readers_edge, t.readers_side
            from node v join node_type t on t.type = v.type
            where v.id = any (heirs) and v.gone = 0 and t.readers_edge is not null
        ), source as (
            select own.id, s.readers
            from own join edge e on e.type = own.readers_edge and e.gone = 0
                 and own.id = case own.readers_side when 'out' then e.src else e.dst end
            join node s on s.id = case own.readers_side when 'out' then e.dst else e.src end
        ), due as (
            select own.*, nextval('change_seq') as seq, want.readers as next
            from own cross join lateral (
                select case
                    when count(*) = 0 then '{}'
                    when count(s.readers) = 0 then null
                    else array(
                        select r from source x cross join lateral unnest(x.readers) r where x.id = own.id
                        group by r having count(*) = count(s.readers) order by r)
                    end as readers
                from source s where s.id = own.id) want
            where want.readers is distinct from own.readers
        ), written as (
            update node v set readers = d.next, seq = d.seq, updated_at = (plan->>'at')::timestamptz
            from due d where v.id = d.id
        )
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at)
        select seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'update', 'node', id, domain, type, type || '#' || key, version,
               '{@readers}', jsonb_build_object('@readers', readers), jsonb_build_object('@readers', next), (plan->>'at')::timestamptz
        from due;
        get diagnostics changed = row_count;
        exit when changed = 0;
    end loop;
end $$;

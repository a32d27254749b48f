-- Undo: a delta that takes commits back. It goes through the same protocol, and may do three things that no other delta
-- may: bring a deleted node or edge back under its own id, put a node into a state to which no transition leads, and into
-- no state at all.

-- Which commit took which one back, for ever; and by which one a commit is taken back now, since an undo can be undone.
create table undo (
    commit uuid not null,
    undone uuid not null,
    primary key (commit, undone)
);
create index undo_undone on undo (undone);
alter table commit add column undone_by uuid;
create index commit_undone on commit (undone_by) where undone_by is not null;
create index commit_run on commit (run, at) where run is not null;

alter type gate_node add attribute revives boolean, add attribute stateless boolean;
alter type gate_edge add attribute revives boolean;

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

-- Deleted nodes back under their own ids. Null: somebody has taken a key since the check, or brought one back.
create function gate_revive_nodes(plan jsonb, nodes gate_node[]) returns jsonb language plpgsql as $$
declare
    done jsonb;
    wanted int;
    made int;
begin
    with op as (
        select x.id, x.ref, x.domain, x.type, x.key, x.path, x.readers, x.prov, coalesce(x.set, '{}') as props, x.state,
               v.props as old_props, v.state as old_state, v.version + 1 as version, nextval('change_seq') as seq
        from unnest(nodes) x join node v on v.id = x.id and v.gone <> 0
        where x.act = 'create' and x.revives
    ), written as (
        update node v
        set domain = w.domain, key = w.key, path = w.path, readers = w.readers, props = w.props, state = w.state,
            version = w.version,
            field_versions = (select coalesce(jsonb_object_agg(f, w.version), '{}')
                              from jsonb_object_keys(w.props || '{"state": null}') f),
            provenance = w.prov, alive = true, gone = 0, seq = w.seq, updated_at = (plan->>'at')::timestamptz
        from op w
        where v.id = w.id
        returning v.id
    ), logged as (
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at)
        select seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'create', 'node', id, domain, type, type || '#' || key,
               version,
               array(select jsonb_object_keys(old_props || props))
               || case when state is null and old_state is null then '{}' else '{state}'::text[] end,
               old_props || case when old_state is null then '{}' else jsonb_build_object('state', old_state) end,
               props || case when state is null then '{}' else jsonb_build_object('state', state) end,
               (plan->>'at')::timestamptz
        from op
    )
    select (select count(*) from unnest(nodes) x where x.act = 'create' and x.revives), (select count(*) from written),
           (select jsonb_object_agg(coalesce(ref, type || '#' || key), jsonb_build_object(
                'id', id, 'handle', type || '#' || key, 'version', version)) from op)
    into wanted, made, done;
    return case when made = wanted then coalesce(done, '{}') end;
exception when unique_violation then
    return null;
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

create function gate_revive_edges(plan jsonb, edges gate_edge[]) returns boolean language plpgsql as $$
declare
    wanted int;
    made int;
begin
    with op as (
        select x.id, v.type, v.domain, v.src, v.dst, coalesce(x.set, '{}') as props, x.prov, v.props as old_props,
               v.version + 1 as version, nextval('change_seq') as seq
        from unnest(edges) x join edge v on v.id = x.id and v.gone <> 0
        where x.act = 'create' and x.revives
    ), written as (
        update edge v
        set props = w.props, version = w.version,
            field_versions = (select coalesce(jsonb_object_agg(f, w.version), '{}') from jsonb_object_keys(w.props) f),
            provenance = w.prov, alive = true, gone = 0, seq = w.seq, updated_at = (plan->>'at')::timestamptz
        from op w
        where v.id = w.id
        returning v.id
    ), logged as (
        insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at)
        select op.seq, pg_current_xact_id(), (plan->>'commit')::uuid, 'create', 'edge', op.id, op.domain, op.type,
               s.type || '#' || s.key || ' -' || op.type || '-> ' || t.type || '#' || t.key, op.version,
               array(select jsonb_object_keys(old_props || op.props)), old_props, op.props, (plan->>'at')::timestamptz
        from op join node s on s.id = op.src join node t on t.id = op.dst
    )
    select (select count(*) from unnest(edges) x where x.act = 'create' and x.revives), (select count(*) from written)
    into wanted, made;
    return made = wanted;
exception when unique_violation then
    return false;
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

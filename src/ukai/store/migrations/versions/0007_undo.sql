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

-- Both ends, so that one edge of a hub is found without reading the others: inside the functions the planner knows no
-- statistics, and takes this index as readily as `edge_pair`.
drop index edge_in;
create index edge_in on edge (dst, type, src);

-- Steps 5 and 7. {"problems": [..]} and {"retry": why} have written nothing that may stay: the caller rolls back.
create function gate_close(plan jsonb, nodes gate_node[], edges gate_edge[], o gate_opened) returns jsonb language plpgsql as $$
declare
    problems jsonb;
    made jsonb;
    result jsonb;
begin
    problems := gate_check(plan, nodes, edges, o);
    if problems is not null or (plan->>'stop')::boolean then
        return jsonb_build_object('problems', coalesce(problems, '[]'));
    end if;
    perform gate_pause('after_check');
    if (plan->>'deletes')::boolean or (plan->>'edges_change')::boolean then
        perform gate_delete(plan, edges, o);
    end if;
    result := '{}';
    if (plan->>'updates')::boolean then
        result := gate_update_nodes(plan, nodes, o);
    end if;
    if (plan->>'creates')::boolean then
        made := gate_insert_nodes(plan, nodes, o);
        if made is null then
            return '{"retry": "key"}';
        end if;
        result := result || made;
    end if;
    if cardinality(edges) > 0 then
        if not gate_insert_edges(plan, edges, o) then
            return '{"retry": "edge"}';
        end if;
        if (plan->>'edges_change')::boolean then
            perform gate_update_edges(plan, edges, o);
        end if;
    end if;
    if (plan->>'heirs')::boolean then
        perform gate_inherit(plan, o.heirs || o.nodes);
    end if;
    perform gate_pause('after_apply');
    result := jsonb_build_object('commit', plan->>'commit', 'nodes', result);
    insert into commit (id, xid, at, author_kind, author_id, run, step, domains, key, result)
    values ((plan->>'commit')::uuid, pg_current_xact_id(), (plan->>'at')::timestamptz, plan->'author'->>'kind', plan->'author'->>'id',
            plan->'author'->>'run', plan->'author'->>'step', plan->'domains', plan->>'key', result);
    if (plan->>'dry')::boolean then
        result := result || jsonb_build_object('would_change', (
            select jsonb_agg(jsonb_build_object('op', op, 'kind', kind, 'handle', handle, 'version', version, 'fields', fields,
                                                'before', before, 'after', after) order by seq)
            from change where commit = (plan->>'commit')::uuid));
    end if;
    perform gate_pause('before_commit');
    return result;
end $$;

create function gate_nodes(plan jsonb) returns gate_node[] language plpgsql as $$
begin
    return array(select jsonb_populate_recordset(null::gate_node, plan->'nodes'));
end $$;

create function gate_edges(plan jsonb) returns gate_edge[] language plpgsql as $$
begin
    return array(select jsonb_populate_recordset(null::gate_edge, plan->'edges'));
end $$;

-- The whole protocol in one statement, for deltas that need no judgement beside it. What was refused, and what was only
-- tried, leaves nothing: the block is a subtransaction that is rolled back.
create function gate_commit(plan jsonb) returns jsonb language plpgsql
-- Planning these statements costs more than running them, and no parameter changes the plan.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off as $$
declare
    nodes gate_node[] := gate_nodes(plan);
    edges gate_edge[] := gate_edges(plan);
    o gate_opened;
    answer jsonb;
begin
    begin
        o := gate_open(plan, nodes, edges);
        answer := coalesce(o.trouble, gate_close(plan, nodes, edges, o));
        if answer ? 'problems' or answer ? 'retry' or (plan->>'dry')::boolean then
            raise exception 'refused' using errcode = 'UK001';
        end if;
    exception when sqlstate 'UK001' then
        null;
    end;
    return answer;
end $$;

-- The same in two calls of one transaction, for what is judged in between: old values against CEL rules and rights.
create function gate_begin(plan jsonb) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off as $$
declare
    o gate_opened := gate_open(plan, gate_nodes(plan), gate_edges(plan));
begin
    if o.trouble is not null then
        return o.trouble;
    end if;
    return jsonb_build_object('opened', to_jsonb(o), 'rows', (
        select jsonb_object_agg(v.id, jsonb_build_object(
            'type', v.type, 'key', v.key, 'path', v.path, 'readers', v.readers, 'props', v.props, 'state', v.state,
            'version', v.version, 'alive', v.alive))
        from node v where v.id = any (o.held)));
end $$;

create function gate_finish(plan jsonb, opened jsonb) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off as $$
begin
    return gate_close(plan, gate_nodes(plan), gate_edges(plan), jsonb_populate_record(null::gate_opened, opened));
end $$;

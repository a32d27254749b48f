-- The commit protocol as functions. All are VOLATILE (the default): under READ COMMITTED each of their statements
-- takes a new snapshot, so what is checked after a lock was waited for is the present.
-- The plan is what `ukai.gate.plan` makes of a delta that passed the checks which need no database.

create type gate_node as (
    n int,                -- position in the plan; edges name their ends by it
    at text,              -- JSON pointer of the operation
    act text,              -- create | update | upsert | delete | see (an end of an edge, or the target of a ref field)
    ref text,
    id uuid,              -- the target's, or the one a new node gets
    look text,            -- new | id | key | claim: how the target is found
    domain text,
    type text,
    types text[],         -- see: the types that may stand here, null for any
    key text,
    field text,           -- look = claim: the unique field
    value text,           -- and its claimed value
    needs text[],         -- upsert: what a new node would lack
    mode int,             -- 1 key share, 2 share, 3 no key update, 4 update
    set jsonb,
    unset text[],
    fill jsonb,           -- upsert: what a create adds to `set`
    frozen text[],        -- fields of `set` and `unset` that keep the value they once have
    state text,
    born text,            -- upsert: the state of a new node
    sources text[],       -- states from which `state` may be reached
    if_version int,
    test jsonb,
    path text,            -- a new node's; null: from the template
    template text,        -- given when the path must be made again
    readers text[],
    rereads boolean,      -- `readers` replaces the node's
    heirs boolean,        -- nodes that take their readers from this one must follow
    release text[],       -- unique fields whose claims are given up before new ones are made
    prov jsonb
);

create type gate_edge as (
    n int,
    at text,
    act text,              -- create | update | delete
    id uuid,
    domain text,
    type text,
    src int,
    dst int,
    set jsonb,
    unset text[],
    frozen text[],
    if_version int,
    test jsonb,
    once_out boolean,     -- at most one: a claim instead of a count
    once_in boolean,
    acyclic boolean,
    prov jsonb
);

-- What steps 1 to 4 found: ids of the nodes and edges by position, and what a deletion takes with it.
create type gate_opened as (
    nodes uuid[],
    edges uuid[],
    held uuid[],          -- nodes and edges whose lock we got
    doomed uuid[],        -- nodes to delete, those of the cascade included
    severed uuid[],       -- edges that go with them
    heirs uuid[],         -- nodes that take their readers from others and may change with this commit
    taken jsonb,          -- claims that somebody else holds
    trouble jsonb         -- a problem that stops before any check; {"retry": why} asks to begin again
);

-- The nodes at the other ends of the living edges of `ids`.
create function gate_neighbours(ids uuid[]) returns uuid[] language plpgsql as $$
begin
    return array(
        select dst from edge where src = any (ids) and gone = 0
        union
        select src from edge where dst = any (ids) and gone = 0
    );
end $$;

create function gate_pause(point text) returns void language plpgsql as $$
declare
    number bigint := substring(current_setting('ukai.pause', true) from point || '=(\d+)');
begin
    if number is not null then
        perform pg_advisory_lock_shared(number);
        perform pg_advisory_unlock_shared(number);
    end if;
end $$;

-- Step 1. The loser of a race for a key waits here for the winner, and then reads what the winner did.
create function gate_key(plan jsonb) returns jsonb language plpgsql as $$
declare
    earlier record;
begin
    insert into idempotency (scope, key, hash, commit, at)
    values (plan->>'scope', plan->>'key', plan->>'hash', (plan->>'commit')::uuid, (plan->>'at')::timestamptz)
    on conflict do nothing;
    if found then
        return null;
    end if;
    select i.hash, i.at, c.result into earlier
    from idempotency i left join commit c on c.id = i.commit
    where i.scope = plan->>'scope' and i.key = plan->>'key';
    if earlier.hash is null or earlier.result is null then
        return jsonb_build_object('retry', 'key');
    elsif earlier.hash <> plan->>'hash' then
        return jsonb_build_object('problems', jsonb_build_array(
            jsonb_build_object('code', 'key_reused', 'where', '/key', 'time', earlier.at)));
    end if;
    return earlier.result || '{"replayed": true}';
end $$;

-- Step 2. An upload takes the same lock exclusively. An advisory lock, because shared row locks overtake whoever waits for
-- the row exclusively (docs/design/commit-protocol.md has the figures).
create function gate_schema(plan jsonb) returns jsonb language plpgsql as $$
declare
    stale jsonb;
begin
    perform pg_advisory_xact_lock_shared(hashtextextended('ukai.domain ' || name, 0))
    from (select key as name from jsonb_each(plan->'domains') order by key) names;
    select jsonb_agg(jsonb_build_object('code', 'schema_changed', 'where', '', 'domain', e.key,
                                        'expected', e.value, 'received', d.version) order by e.key)
    into stale
    from jsonb_each_text(plan->'domains') e left join domain d on d.name = e.key
    where d.version is distinct from e.value::int;
    return jsonb_build_object('problems', stale);
end $$;

create function gate_resolve(nodes gate_node[]) returns uuid[] language plpgsql as $$
begin
    return (
    select array_agg(
        case o.look
            when 'key' then coalesce(
                (select x.id from node x where x.type = o.type and x.key = o.key and x.gone = 0),
                case when o.act = 'upsert' then o.id end)
            when 'claim' then coalesce(
                (select c.holder from claim c where c.type = o.type and c.name = o.field and c.value = o.value),
                case when o.act = 'upsert' then o.id end)
            else o.id
        end order by o.n)
    from unnest(nodes) o
    );
end $$;

create function gate_resolve_edges(edges gate_edge[], ids uuid[]) returns uuid[] language plpgsql as $$
begin
    return (
    select array_agg(
        case when o.act = 'create' then o.id else
            (select x.id from edge x
             where x.src = ids[o.src + 1] and x.type = o.type and x.dst = ids[o.dst + 1] and x.gone = 0)
        end order by o.n)
    from unnest(edges) o
    );
end $$;

-- What the deletion of `targets` takes with it: nodes by cascade (at most `most`, one more says that there are more).
create function gate_cascade(targets uuid[], most int) returns uuid[] language plpgsql as $$
begin
    return (
    with recursive doomed(id) as (
        select unnest(targets)
        union
        select next.id
        from doomed d cross join lateral (
            select e.dst as id from edge e join edge_type t on t.edge = e.type
            where e.src = d.id and e.gone = 0 and t.on_source = 'cascade'
            union all
            select e.src from edge e join edge_type t on t.edge = e.type
            where e.dst = d.id and e.gone = 0 and t.on_target = 'cascade'
        ) next
    )
    select coalesce(array_agg(id), '{}') from (select id from doomed limit most + cardinality(targets) + 1) few
    );
end $$;

-- The nodes that take their readers, directly or through others, from one of `sources`.
create function gate_heirs(sources uuid[], most int) returns uuid[] language plpgsql as $$
begin
    return (
    with recursive heir(id) as (
        select v.id from node v where v.id = any (sources)
        union
        select next.id
        from heir h cross join lateral (
            select x.id from edge e join node x on x.id = e.src join node_type t on t.type = x.type
            where e.dst = h.id and e.gone = 0 and t.readers_edge = e.type and t.readers_side = 'out'
            union all
            select x.id from edge e join node x on x.id = e.dst join node_type t on t.type = x.type
            where e.src = h.id and e.gone = 0 and t.readers_edge = e.type and t.readers_side = 'in'
        ) next
    )
    select coalesce(array_agg(id), '{}') from (select id from heir limit most + cardinality(sources) + 1) few
    );
end $$;

-- Step 3. One pass in id order, whatever the modes: two passes can wait for each other against a deletion.
-- What is not there, or is not visible yet, is not held, and counts as unknown.
create function gate_lock(ids uuid[], modes int[]) returns uuid[] language plpgsql as $$
declare
    want record;
    got uuid;
    held uuid[] := '{}';
    until timestamptz := statement_timestamp() + '10 s';
begin
    for want in
        select id, max(mode) as mode from unnest(ids, modes) w(id, mode)
        where id is not null and mode > 0
        group by id
        order by id
    loop
        case want.mode
            when 1 then select id into got from node where id = want.id for key share;
            when 2 then select id into got from node where id = want.id for share;
            when 3 then select id into got from node where id = want.id for no key update;
            else select id into got from node where id = want.id for update;
        end case;
        held := held || got;
        if clock_timestamp() > until then
            raise lock_not_available using message = 'the locks took too long';
        end if;
    end loop;
    return held;
end $$;

-- Step 4. Unique values and "at most one" edges are rows whose primary key is the value: the loser waits, and loses.
-- Given up are the claims of what is deleted and of the fields that are set.
create function gate_claim(plan jsonb, nodes gate_node[], edges gate_edge[], o gate_opened) returns jsonb
language plpgsql as $$
declare
    taken jsonb;
begin
    delete from claim c
    using (select o.nodes[x.n + 1] as holder, x.release as names from unnest(nodes) x where x.release is not null) given
    where c.holder = given.holder and c.name = any (given.names);
    delete from claim c
    using (select unnest(o.doomed || o.severed) as holder
           union select o.edges[x.n + 1] from unnest(edges) x where x.act = 'delete') dead
    where c.holder = dead.holder;
    with wanted as (
        select w.type, w.name, w.value, o.nodes[w.n + 1] as holder, w."where"
        from jsonb_to_recordset(plan->'claims') w(n int, type text, name text, value text, "where" text)
        union all
        select x.type, 'out', o.nodes[x.src + 1]::text, x.id, x.at from unnest(edges) x where x.act = 'create' and x.once_out
        union all
        select x.type, 'in', o.nodes[x.dst + 1]::text, x.id, x.at from unnest(edges) x where x.act = 'create' and x.once_in
    ), made as (
        insert into claim (type, name, value, holder)
        select type, name, value, holder from wanted where holder is not null and value is not null
        order by type, name, value
        on conflict do nothing
        returning type, name, value, holder
    )
    select jsonb_agg(jsonb_build_object('type', w.type, 'name', w.name, 'value', w.value, 'where', w."where")) into taken
    from wanted w left join made m using (type, name, value, holder)
    where m.type is null and w.holder is not null and w.value is not null;
    return taken;
end $$;

create function gate_open(plan jsonb, nodes gate_node[], edges gate_edge[]) returns gate_opened language plpgsql as $$
declare
    o gate_opened;
    most int := (plan->>'cascade_limit')::int;
    sources uuid[];
    seen uuid[];
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'the gate commits under READ COMMITTED, not %', current_setting('transaction_isolation')
            using hint = 'A higher level lets rules be broken: see docs/design/commit-protocol.md';
    end if;
    perform set_config('lock_timeout', coalesce(plan->>'lock_timeout', '2s'), true);
    if plan ? 'key' then
        o.trouble := gate_key(plan);
        if o.trouble is not null then
            return o;
        end if;
    end if;
    perform gate_pause('after_key');
    o.trouble := gate_schema(plan);
    if o.trouble <> '{"problems": null}' then
        return o;
    end if;
    o.trouble := null;
    perform gate_pause('after_schema');

    if (plan->>'acyclic')::boolean then
        perform pg_advisory_xact_lock(hashtextextended('ukai.acyclic ' || type, 0))
        from (select distinct type from unnest(edges) where acyclic order by type) types;
    end if;
    o.nodes := gate_resolve(nodes);
    o.doomed := '{}';
    o.severed := '{}';
    o.heirs := '{}';
    if (plan->>'deletes')::boolean then
        o.doomed := gate_cascade(array(select o.nodes[x.n + 1] from unnest(nodes) x
                                       where x.act = 'delete' and o.nodes[x.n + 1] is not null), most);
        seen := o.doomed;
    end if;
    if (plan->>'heirs')::boolean then
        sources := array(select o.nodes[x.n + 1] from unnest(nodes) x where x.heirs)
                   || gate_neighbours(o.doomed);
        o.heirs := gate_heirs(sources, most);
    end if;
    if cardinality(o.doomed) > most or cardinality(o.heirs) > most + cardinality(sources) then
        o.trouble := jsonb_build_object('problems', jsonb_build_array(jsonb_build_object(
            'code', 'cascade_too_large', 'where', '', 'expected', most)));
        return o;
    end if;
    perform gate_pause('after_resolve');

    if cardinality(o.doomed) = 0 and cardinality(o.heirs) = 0 then
        o.held := gate_lock(o.nodes, array(select x.mode from unnest(nodes) x order by x.n));
    else
        o.held := gate_lock(
            o.nodes || o.doomed || gate_neighbours(o.doomed) || o.heirs,
            array(select x.mode from unnest(nodes) x order by x.n)
            || array_fill(4, array[cardinality(o.doomed)])
            || array_fill(3, array[cardinality(gate_neighbours(o.doomed)) + cardinality(o.heirs)]));
    end if;
    perform gate_pause('after_lock');

    -- What hangs on a deleted node, or takes its readers, may have become more while we waited for the locks.
    if cardinality(o.doomed) > 0 and not (gate_cascade(
            array(select o.nodes[x.n + 1] from unnest(nodes) x where x.act = 'delete' and o.nodes[x.n + 1] is not null),
            most) <@ o.held and gate_neighbours(o.doomed) <@ o.held)
        or cardinality(o.heirs) > 0 and not gate_heirs(sources, most) <@ o.held then
        o.trouble := '{"retry": "closure"}';
        return o;
    end if;
    if cardinality(edges) > 0 then
        o.edges := gate_resolve_edges(edges, o.nodes);
    end if;
    if cardinality(o.doomed) > 0 then
        o.severed := array(select e.id from edge e where e.gone = 0 and (e.src = any (o.doomed) or e.dst = any (o.doomed)));
    end if;
    if cardinality(o.severed) > 0 or (plan->>'edges_change')::boolean then
        o.held := o.held || array(
            select id from edge where id = any (o.edges || o.severed) order by id for update);
    end if;
    if (plan->>'claims_change')::boolean then
        o.taken := gate_claim(plan, nodes, edges, o);
    end if;
    perform gate_pause('after_claims');
    return o;
end $$;

-- Persons who were erased: who did it, when, how much of what; never who it was or what stood there.
create table erasure (
    id uuid primary key,
    at timestamptz not null,
    by_kind text not null,
    by_id text not null,
    mark text not null,  -- what stands in the person's place
    counts jsonb not null
);
alter table change add column erased_at timestamptz;
comment on column change.erased_at is 'a person was erased from it: it cannot be undone any more';

-- A text with what the patterns find replaced, mark by mark.
create function erase_text(value text, patterns text[], marks text[]) returns text language plpgsql immutable as $$
begin
    for i in 1 .. cardinality(patterns) loop
        value := regexp_replace(value, patterns[i], marks[i], 'gi');
    end loop;
    return value;
end $$;
create function erase_hits(value text, patterns text[]) returns boolean language sql immutable as $$
    select coalesce(value ~* any (patterns), false)
$$;

-- Records, their edges and their history. `own` says of each type whose key is the person alone what is kept of such a
-- record: {"Person": {"keep": ["email"], "blank": ["name"]}}; the rest of it goes.
create function erase_graph(patterns text[], marks text[], own jsonb, by jsonb) returns jsonb language plpgsql as $$
declare
    n_nodes int;
    n_own int;
    n_edges int;
    n_changes int;
    moment timestamptz := (by->>'at')::timestamptz;
begin
    create temp table erase_node on commit drop as
        select v.id, coalesce(own ? v.type and v.key ~* any (array(select '^' || p || '$' from unnest(patterns) p)), false) as is_own
        from node v
        where erase_hits(v.key || ' ' || v.path || ' ' || v.props::text || ' ' || v.provenance::text
                         || ' ' || coalesce(v.readers::text, ''), patterns);
    create temp table erase_change on commit drop as
        select c.seq from change c
        where c.id in (select id from erase_node where is_own)
           or erase_hits(coalesce(c.before::text, '') || ' ' || coalesce(c.after::text, '') || ' ' || c.handle, patterns);
    select count(*), count(*) filter (where is_own) into n_nodes, n_own from erase_node;
    select count(*) into n_changes from erase_change;

    update change c
    set before = case when o.is_own then null else erase_text(c.before::text, patterns, marks)::jsonb end,
        after = case when o.is_own then null else erase_text(c.after::text, patterns, marks)::jsonb end,
        handle = erase_text(c.handle, patterns, marks),
        erased_at = moment
    from erase_change e join change x using (seq) left join erase_node o on o.id = x.id
    where c.seq = e.seq;
    delete from change_text where seq in (select seq from erase_change);
    insert into change_text (seq, words) select c.seq, change_words(c.before, c.after) from change c join erase_change using (seq);

    with next as (
        select v.id, v.domain, v.type, v.version, v.gone, v.props as old, v.key as old_key, v.readers as old_readers,
               erase_text(v.readers::text, patterns, marks)::text[] as readers,
               erase_text(v.key, patterns, marks)
               || case when row_number() over (partition by v.type, erase_text(v.key, patterns, marks), v.gone order by v.id) > 1
                       then '-' || left(v.id::text, 8) else '' end as key,
               case when e.is_own then (
                   select coalesce(jsonb_object_agg(p.key, case when own->v.type->'blank' ? p.key then to_jsonb(marks[1])
                                                                else erase_text(p.value::text, patterns, marks)::jsonb end), '{}')
                   from jsonb_each(v.props) p where own->v.type->'blank' ? p.key or own->v.type->'keep' ? p.key
               ) else erase_text(v.props::text, patterns, marks)::jsonb end as props
        from node v join erase_node e using (id)
    ), changed as (
        select next.*, array(
            select k from jsonb_object_keys(old || props) k where old->k is distinct from props->k order by k) as fields
        from next
    ), told as (
        -- Who only wrote a record is a mark in its provenance: that changes nothing which anybody follows.
        select changed.*, case when fields <> '{}' or key <> old_key or readers is distinct from old_readers
                               then nextval('change_seq') end as seq
        from changed
    ), written as (
        update node v
        set key = w.key, props = w.props, path = erase_text(v.path, patterns, marks),
            readers = w.readers,
            provenance = erase_text(v.provenance::text, patterns, marks)::jsonb,
            version = v.version + case when w.fields = '{}' then 0 else 1 end, seq = coalesce(w.seq, v.seq),
            updated_at = case when w.seq is null then v.updated_at else moment end
        from told w where v.id = w.id
    )
    insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, before, after, at, erased_at)
    select seq, pg_current_xact_id(), (by->>'commit')::uuid, 'update', 'node', id, domain, type, type || '#' || key,
           version + case when fields = '{}' then 0 else 1 end, case when fields = '{}' then '{@readers}' else fields end, '{}', (select coalesce(jsonb_object_agg(f, props->f), '{}') from unnest(fields) f where props ? f),
           moment, moment
    from told where gone = 0 and seq is not null;

    update edge e
    set props = erase_text(e.props::text, patterns, marks)::jsonb,
        provenance = erase_text(e.provenance::text, patterns, marks)::jsonb, updated_at = moment
    where erase_hits(e.props::text || ' ' || e.provenance::text, patterns);
    get diagnostics n_edges = row_count;
    delete from claim where erase_hits(value, patterns) or holder in (select id from erase_node where is_own);
    return jsonb_build_object('records', n_nodes, 'own_records', n_own, 'edges', n_edges, 'changes', n_changes);
end $$;

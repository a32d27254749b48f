-- What the gate keeps besides the graph: who changed what, which values are taken, which keys were used, what was refused.

create table commit (
    id uuid primary key,
    xid xid8 not null,
    at timestamptz not null,
    author_kind text not null check (author_kind in ('human', 'agent', 'workflow', 'connector')),
    author_id text not null,
    run text,
    step text,
    domains jsonb not null,  -- {"review": 7}
    key text,
    result jsonb not null
);
create index commit_author on commit (author_id, at);

-- before and after hold the changed fields only; a node's state stands under `state`, its readers under `@readers`.
create sequence change_seq;
create table change (
    seq bigint primary key,
    xid xid8 not null,
    commit uuid not null,
    op text not null,
    kind text not null,
    id uuid not null,
    domain text not null,
    type text not null,
    handle text not null,
    version int not null,
    fields text[] not null,
    before jsonb,
    after jsonb,
    at timestamptz not null
);
create index change_id on change (id, seq);
-- The order of the feed: a cursor in it passes finished transactions only, which no order by seq could promise.
create unique index change_feed on change (xid, seq);
create index change_commit on change (commit);

-- The words of a change's values, whatever the language. They are taken into the index after the commit, in the order
-- of the feed: most changes are never searched for, and a commit should not pay for those that are.
create function change_words(before jsonb, after jsonb) returns tsvector language sql immutable parallel safe as $$
    select to_tsvector('simple', jsonb_path_query_array(jsonb_build_array(before, after), 'strict $.** ? (@.type() == "string")')::text)
$$;
create table change_text (
    seq bigint primary key,
    words tsvector not null
);
create index change_text_words on change_text using gin (words);

-- One row: how far the index of words reaches, and what the feed no longer has. A restored database counts transactions
-- anew, hence the timeline: a cursor of another one is told that what it asks for is gone.
create table feed (
    one boolean primary key default true check (one),
    timeline text not null default left(gen_random_uuid()::text, 8),
    cluster bigint,
    floor_xid xid8 not null default '0',
    floor_seq bigint not null default 0,
    kept_since timestamptz,
    text_xid xid8 not null default '0',
    text_seq bigint not null default 0
);
insert into feed (cluster) select system_identifier from pg_control_system();

create table claim (
    type text not null,
    name text not null,
    value text not null,
    holder uuid not null,
    primary key (type, name, value)
);
create index claim_holder on claim (holder);

create table idempotency (
    scope text not null,
    key text not null,
    hash text not null,
    commit uuid not null,
    at timestamptz not null,
    primary key (scope, key)
);
create index idempotency_at on idempotency (at);

create table attempt (
    id uuid primary key,
    at timestamptz not null,
    author_kind text not null,
    author_id text not null,
    run text,
    step text,
    key text,
    hash text not null,
    number int not null,
    codes text[] not null,
    fingerprints text[] not null,
    findings jsonb not null,
    body jsonb not null
);
create index attempt_author on attempt (author_id, at);
create index attempt_step on attempt (run, step) where run is not null;

-- The graph: typed nodes and edges, and the schemas that say what they may be. Only the gate writes them.

-- `domain` is the row that a commit reads and an upload changes; the bodies stay, version by version.
create table domain (
    name text primary key,
    version int not null default 1,
    fingerprint text not null,
    updated_at timestamptz not null default now()
);
create table domain_version (
    domain text not null references domain,
    version int not null,
    fingerprint text not null,
    body jsonb not null,
    author jsonb not null,
    created_at timestamptz not null,
    primary key (domain, version)
);
-- What the commit function must know of the current version without a model of it: derived at upload, never edited.
create table node_type (
    type text primary key,
    domain text not null references domain,
    readers_edge text,
    readers_side text,  -- 'out': the neighbour is the edge's target
    path text not null,
    key text[] not null
);
create table edge_type (
    edge text primary key,
    domain text not null references domain,
    sources text[] not null,
    targets text[] not null,
    min_out int not null,
    max_out int,
    min_in int not null,
    max_in int,
    on_source text not null,
    on_target text not null,
    acyclic boolean not null,
    owns text not null
);

-- `gone` is 0 while the row lives and the number of the deleting change afterwards, so that one full index holds
-- uniqueness among the living and still finds the dead by name.
create table node (
    id uuid primary key,
    domain text not null,
    type text not null,
    key text not null,
    path text collate "C" not null,
    readers text[],
    props jsonb not null default '{}',
    state text,
    version int not null default 1,
    field_versions jsonb not null default '{}',
    provenance jsonb not null default '{}',
    alive boolean not null default true,
    gone bigint not null default 0,
    seq bigint not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
) with (fillfactor = 90);
create unique index node_key on node (type, key, gone);
create index node_path on node (path text_pattern_ops) where alive;

create table edge (
    id uuid primary key,
    domain text not null,
    type text not null,
    src uuid not null references node,
    dst uuid not null references node,
    props jsonb not null default '{}',
    version int not null default 1,
    field_versions jsonb not null default '{}',
    provenance jsonb not null default '{}',
    alive boolean not null default true,
    gone bigint not null default 0,
    seq bigint not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
) with (fillfactor = 90);
create unique index edge_pair on edge (src, type, dst, gone);
create index edge_in on edge (dst, type);

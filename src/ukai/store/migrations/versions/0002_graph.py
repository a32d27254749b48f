"""Nodes, edges and the domains that type them (room `graph`)."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

SQL = """
create table domain (
    name text primary key,
    version int not null default 1,
    schema jsonb not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create sequence graph_seq;

create table node (
    id uuid primary key,
    domain text not null,
    type text not null,
    key text not null,
    path text not null,
    readers text[],
    props jsonb not null default '{}',
    state text,
    version int not null default 1,
    field_versions jsonb not null default '{}',
    provenance jsonb not null default '{}',
    alive bool not null default true,
    seq bigint not null default nextval('graph_seq'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on column node.readers is 'null: the type declares none; empty: nobody';
create unique index node_alive on node (type, key) where alive;
create index node_path on node (path);
create index node_seq on node (seq);
create index node_readers on node using gin (readers);

create table edge (
    id uuid primary key,
    domain text not null,
    type text not null,
    src uuid not null references node (id),
    dst uuid not null references node (id),
    props jsonb not null default '{}',
    version int not null default 1,
    field_versions jsonb not null default '{}',
    alive bool not null default true,
    seq bigint not null default nextval('graph_seq'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create unique index edge_alive on edge (type, src, dst) where alive;
create index edge_dst on edge (dst, type);
create index edge_src on edge (src, type);
create index edge_seq on edge (seq);
"""


def upgrade() -> None:
    op.execute(SQL)

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

-- What passages are searched by: numbers of their terms (kit.bm25), never words. Null: not counted yet.
alter table passage
    add terms bytea,
    add place bytea,
    add title bytea,
    add titled text not null default '',
    add size int not null default 0;
create index passage_uncounted on passage (node) where terms is null;
comment on column passage.terms is 'numbers of the terms of the text, with counts';
comment on column passage.place is 'the same of the record''s path and key, and of who speaks';
comment on column passage.title is 'the same of the record''s title, for readers of the field that titled names';
comment on column passage.size is 'characters; a token has about four';

-- The embeddings once more, where so much is searched that an approximate index pays; otherwise empty.
create table passage_vector (
    node uuid not null,
    part text not null,
    vector halfvec not null,
    primary key (node, part),
    foreign key (node, part) references passage on delete cascade
);

-- Reports by their hash: the same question asked again of an unchanged graph is told once.
create table composition_report (
    sha256 bytea primary key check (length(sha256) = 32),
    body text not null
);
create table composition (
    id uuid primary key,
    at timestamptz not null,
    principals text[] not null,
    agent text not null,
    skill text not null,
    request text not null,
    report bytea not null references composition_report,
    document bytea not null,
    timing text not null,
    ann_recall real
);
create index composition_at on composition (at);
create index composition_report_of on composition (report);
comment on column composition.principals is 'the audience it was composed for';
comment on column composition.document is 'sha256 of the text';

-- What was put aside because it was too large: where it stands, not what it holds.
create table offloaded (
    ref text primary key,
    readers text not null,
    handle text not null,
    field text not null,
    at timestamptz not null
);
create index offloaded_at on offloaded (at);
comment on column offloaded.readers is 'hash over the rights of the audience it was made for';

-- What a conversation has been given already.
create table given (
    conversation text not null,
    readers text not null,
    item text not null,
    body text not null,
    level text not null,
    at timestamptz not null,
    primary key (conversation, readers, item)
);
create index given_at on given (at);

-- Of this deployment alone: references are made with it and cannot be guessed without it.
create table composer (
    one boolean primary key default true check (one),
    secret bytea not null
);
insert into composer (secret) select sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea);

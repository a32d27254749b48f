create table delivery (
    id text primary key,
    event_id text not null,
    agent text not null,
    team text not null,
    channel text not null,
    thread text not null,
    ts text not null,
    is_direct boolean not null,
    slack_user text not null,
    principal text,
    question text not null,
    state text not null default 'received' check (state in ('received', 'asked', 'held', 'posted', 'done')),
    outcome text,
    run_id uuid,
    parts jsonb not null default '[]',
    is_private boolean not null default false,
    posted jsonb not null default '{}',
    attempts int not null default 0,
    holder uuid,
    held_until timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
comment on table delivery is 'one question of a chat and its one reply; text is kept until the reply is posted and then cleared';
comment on column delivery.id is 'team/channel/ts of the question: a mention may come as two events';
comment on column delivery.holder is 'the process that carries it; another one may take it after held_until';
comment on column delivery.parts is 'the messages of the reply, ready to be posted; is_private: to the asker alone';
comment on column delivery.posted is 'number of a part -> ts of its message';
create index delivery_open on delivery (held_until) where state <> 'done';
create index delivery_of_principal on delivery (principal);
create index delivery_of_thread on delivery (team, channel, thread, ts);

create table feedback (
    run_id uuid not null,
    principal text not null,
    surface text not null,
    value text not null check (value in ('up', 'down')),
    at timestamptz not null,
    primary key (run_id, principal)
);
comment on table feedback is 'what somebody thinks of an answer; the last word counts';

create table refusal (
    id uuid primary key,
    at timestamptz not null,
    surface text not null,
    who text not null,
    code text not null,
    about text not null,
    detail text not null
);
comment on table refusal is 'requests that were refused before a run began; refused runs are runs';
comment on column refusal.id is 'time-ordered';
comment on column refusal.who is 'a principal, or what the outside calls them: slack:T1/U2, an address';
create index refusal_of_who on refusal (who, id desc);

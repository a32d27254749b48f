create table run (
    run_id uuid primary key,
    agent text not null,
    principal text not null,
    surface text not null,
    case_id text,
    rep int,
    status text,
    started_at timestamptz not null,
    ended_at timestamptz,
    beat_at timestamptz not null,
    sealed_at timestamptz,
    erased_at timestamptz,
    sha256 text,
    start json not null,
    record json,
    check ((sealed_at is null) = (status is null)),
    check (record is null or (sealed_at is not null and sha256 is not null))
);
comment on column run.run_id is 'time-ordered: newest first is run_id desc';
comment on column run.start is 'canonical JSON of what was known at the beginning';
comment on column run.record is 'canonical JSON of the sealed run; json and not jsonb, which would rewrite what the hash is over';
comment on column run.erased_at is 'a person was removed from it: a tombstone when record is null';
create index run_of_principal on run (principal, run_id desc);
create index run_of_case on run (case_id, run_id desc) where case_id is not null;
create index run_open on run (beat_at) where sealed_at is null;
create index run_ended on run (ended_at);

create table run_event (
    run_id uuid not null references run (run_id) on delete cascade,
    seq int not null check (seq > 0),
    at timestamptz not null,
    kind text not null,
    data json not null,
    primary key (run_id, seq)
);
comment on table run_event is 'entries of runs that are not sealed; sealing folds them into the record';

-- What is sealed changes only through the functions below, which say so for their own transaction.
create function run_guard() returns trigger language plpgsql as $$
begin
    if current_setting('ukai.record_keeper', true) = 'on' then
        return coalesce(new, old);
    end if;
    if tg_op = 'TRUNCATE' then
        raise exception 'records are not truncated' using errcode = 'UK001';
    end if;
    if old.sealed_at is not null or tg_op = 'DELETE' then
        raise exception 'run % is sealed', old.run_id using errcode = 'UK001';
    end if;
    if new.sealed_at is not null then
        delete from run_event where run_id = new.run_id;
    end if;
    return new;
end $$;
create trigger run_guard before update or delete on run for each row execute function run_guard();
create trigger run_guard_all before truncate on run for each statement execute function run_guard();

create function run_event_guard() returns trigger language plpgsql as $$
declare
    ended timestamptz;
begin
    -- Locked, so that no entry slips in beside a seal under way.
    select sealed_at into ended from run where run_id = new.run_id for share;
    if ended is not null then
        raise exception 'run % is sealed', new.run_id using errcode = 'UK001';
    end if;
    return new;
end $$;
create trigger run_event_guard before insert or update on run_event for each row execute function run_event_guard();

create function run_retain(since timestamptz, at_most int) returns int language plpgsql as $$
declare
    gone int;
begin
    perform set_config('ukai.record_keeper', 'on', true);
    delete from run where run_id in (
        select run_id from run where sealed_at is not null and coalesce(ended_at, started_at) < since
        order by run_id limit at_most for update skip locked
    );
    get diagnostics gone = row_count;
    perform set_config('ukai.record_keeper', 'off', true);
    return gone;
end $$;

create function run_erase(person text, moment timestamptz) returns int language plpgsql as $$
declare
    gone int;
begin
    perform set_config('ukai.record_keeper', 'on', true);
    delete from run_event where run_id in (select run_id from run where principal = person);
    update run set principal = 'erased', start = '{}', record = null, sha256 = null, erased_at = moment,
        status = coalesce(status, 'error'), sealed_at = coalesce(sealed_at, moment), ended_at = coalesce(ended_at, moment)
    where principal = person;
    get diagnostics gone = row_count;
    perform set_config('ukai.record_keeper', 'off', true);
    return gone;
end $$;

create function run_mask(which uuid, new_start text, new_record text, new_sha256 text, moment timestamptz)
returns void language plpgsql as $$
begin
    perform set_config('ukai.record_keeper', 'on', true);
    update run set start = new_start::json, record = new_record::json, sha256 = new_sha256, erased_at = moment
    where run_id = which;
    perform set_config('ukai.record_keeper', 'off', true);
end $$;

-- The how manieth text to come in. Whether one has its vector is told by how far embedding has come, and not by whether
-- somebody else's equal text has one.
alter table passage add arrived bigint not null default 0;
comment on column passage.arrived is 'texts are embedded in this order; 0: it was there before there was one';
create index passage_arrived on passage (arrived) where arrived > 0;
alter table passage_cursor add arrived bigint not null default 0;
comment on column passage_cursor.arrived is 'the number of the last text that came in';
create table embedded (
    model text primary key,
    arrived bigint not null
);
comment on table embedded is 'how far each model has come; without a row it has not embedded all texts without a number';

-- Every transaction of this database before this one has finished, as whoever asks sees it. pg_snapshot_xmin counts the
-- transactions of a whole server: those that are seen at work in another of its databases are left out here. Whatever is
-- seen nowhere (it ended since, or was prepared) may be of this one.
-- Stable, so that it speaks of the same moment as the statement that it stands in.
create function settled_before() returns xid8 language plpgsql stable as $$
declare
    open xid8[] := array(
        select pg_snapshot_xip(pg_current_snapshot()) union all select pg_current_xact_id_if_assigned() order by 1
    );
begin
    open := array_remove(open, null);
    if open <> '{}' then
        -- Who is at work where is remembered for a transaction. From before this snapshot it could speak of a process
        -- that had another one's place by then.
        perform pg_stat_clear_snapshot();
        open := array(
            select x from unnest(open) x where not exists (
                select from pg_stat_get_activity(null) a join pg_database d on d.datname = current_database()
                where a.backend_xid = x::xid and a.datid <> d.oid
            ) order by x
        );
    end if;
    return coalesce(open[1], pg_snapshot_xmax(pg_current_snapshot()));
end
$$;

-- What the places that readers of the feed hold are sealed with: their numbers count what others write.
alter table feed add secret bytea not null default sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea);

-- Days of history, each made or dropped in one call. Everybody waits for such a change while it
-- holds its locks, and a client may fall silent at any of its words: there is none in between.

-- Returns whether this transaction may change the days: no other one does so at the time. If its
-- client keeps it open after the call, the server lets go of a silent one within a second.
create function rota.may_change_days() returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
    perform set_config('idle_in_transaction_session_timeout', '1s', true);
    return pg_try_advisory_xact_lock(1919906914);
end
$$;

-- Makes a day's partition and moves there what finished on that day; returns whether it did. It
-- leaves the day as it is if that has one already, if more than `moved_most` tasks are in the way,
-- or if somebody else changes the days.
create function rota.make_day(day text, since bigint, until bigint, moved_most int)
returns boolean
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off set lock_timeout = '30ms'
as $$
declare
    strays bigint;
begin
    if not rota.may_change_days() then
        return false;
    elsif to_regclass(format('rota.%I', day)) is not null then
        return false;
    end if;
    select count(*) into strays
    from (
        select
        from rota.finished_default
        where finished_at >= since
            and finished_at < until
        limit moved_most + 1
    ) as stray;
    if strays > moved_most then
        return false;
    end if;
    execute format('create table rota.%I (like rota.finished including all)', day);
    -- Only this lock and the next one are felt by others, and to attach takes both.
    lock table rota.finished_default in access exclusive mode;
    execute format(
        'with stray as (
            delete from rota.finished_default
            where finished_at >= $1
                and finished_at < $2
            returning *
        )
        insert into rota.%I
        select *
        from stray',
        day
    )
    using since, until;
    execute format(
        'alter table rota.finished attach partition rota.%I for values from (%s) to (%s)',
        day, since, until
    );
    return true;
end
$$;

-- Drops a day's partition with all that is in it; returns how many tasks that were: none if there
-- is no such partition, or if somebody else changes the days. From `counted_most` on, the
-- statistics tell enough.
create function rota.drop_day(day text, counted_most int) returns bigint
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off set lock_timeout = '30ms'
as $$
declare
    part regclass;
    gone bigint;
begin
    if not rota.may_change_days() then
        return 0;
    end if;
    part := to_regclass(format('rota.%I', day));
    if part is null then
        return 0;
    end if;
    execute format('select count(*) from (select from %s limit $1) as counted', part)
    into gone
    using counted_most;
    if gone = counted_most then
        select greatest(gone, reltuples::bigint) into gone
        from pg_class
        where oid = part;
    end if;
    execute format('drop table %s', part);
    return gone;
end
$$;

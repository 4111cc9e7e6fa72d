-- What is done inside a caller's own transaction, from any language: record effects, complete the
-- task that the caller works for, cancel others. Such a transaction may stay open for long, and
-- nothing here locks what a worker or another caller would wait for. At the end, what the next
-- step checks its input with.

-- What has been done once, by the key that the one who did it gave it.
create table rota.effect (
    key text collate "C" primary key,
    at bigint not null
);

create index effect_age on rota.effect (at);

-- Requests to stop what runs. They wait here until a node marks the tasks: to mark them in the
-- caller's transaction would lock them, and their worker could not finish them until that ends.
create table rota.cancel_request (
    task_id uuid not null,
    requested_at bigint not null,
    deadline bigint
);

-- Returns the server's clock.
create function rota.clock() returns bigint
language sql volatile parallel safe
return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- Cancels tasks in the caller's transaction: what waits at once, what runs is asked to stop, and by
-- the deadline, if there is one, it will be. Returns for each task that there is what became of it:
-- completed, accepted or too_late.
create function rota.cancel(ids uuid[], deadline bigint default null)
returns table (id uuid, outcome text)
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    moment constant bigint := rota.clock();
    wanted constant uuid[] := array(select distinct one from unnest(ids) as one order by one);
    done uuid[] := '{}';
begin
    -- Twice: what was about to become ready or to be tried again has done so by the second time.
    for try in 1..2 loop
        with waiting as (
            delete from rota.scheduled
            where id = any(wanted)
            returning *
        ),
        standing as (
            delete from rota.ready
            where id = any(wanted)
                and (session is null) is true
            returning *
        ),
        gone as (
            select
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, progress_done, progress_total, replay_of
            from waiting
            union all
            select
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, progress_done, progress_total, replay_of
            from standing
        ),
        counted as (
            insert into rota.tally as tally (minute, queue, kind, state, shard, count)
            select
                moment - moment % 60000000, queue, kind, 'cancelled', rota.shard(), count(*)
            from gone
            group by queue, kind
            order by queue, kind
            on conflict (minute, queue, kind, state, shard) do update
            set count = tally.count + excluded.count
        ),
        kept as (
            insert into rota.finished (
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, progress_done, progress_total, replay_of,
                state, finished_at, reason
            )
            select *, 'cancelled', moment, 'cancelled by request'
            from gone
            returning id
        )
        select done || coalesce(array_agg(id), '{}') into done
        from kept;
    end loop;
    insert into rota.cancel_request (task_id, requested_at, deadline)
    select id, moment, deadline
    from rota.ready
    where id = any(wanted);
    return query
    select one, 'completed'
    from unnest(done) as one
    union all
    select id, 'accepted'
    from rota.ready
    where id = any(wanted)
    union all
    select id, 'too_late'
    from rota.dead_letter
    where id = any(wanted)
    union all
    select id, 'too_late'
    from rota.finished
    where id = any(wanted)
        and id <> all(done);
end
$$;

-- Records an effect in the caller's transaction: true the first time only.
create function rota.once(key text) returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
    insert into rota.effect (key, at)
    values (once.key, rota.clock())
    on conflict do nothing;
    return found;
end
$$;

-- Completes a task in the caller's transaction, if the session holds it under that fence.
create function rota.complete(id uuid, session uuid, fence bigint, result jsonb) returns boolean
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
declare
    moment constant bigint := rota.clock();
begin
    with gone as (
        delete from rota.ready as task
        where task.id = complete.id
            and task.fence = complete.fence
            and task.session is not distinct from complete.session
        returning task.*
    ),
    counted as (
        insert into rota.tally as tally (minute, queue, kind, state, shard, count)
        select moment - moment % 60000000, gone.queue, gone.kind, 'completed', rota.shard(), 1
        from gone
        on conflict (minute, queue, kind, state, shard) do update
        set count = tally.count + excluded.count
    )
    insert into rota.finished (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, state, started_at, finished_at, session, result,
        progress_done, progress_total, replay_of
    )
    select
        gone.id, gone.kind, gone.queue, gone.tenant, gone.priority, gone.class, gone.run_at,
        gone.rank, gone.created_at, gone.fence, gone.attempt, gone.lost, gone.snoozes,
        gone.payload, gone.timeout, gone.retry, gone.expires_at, gone.key, gone.tags, gone.headers,
        gone.errors, 'completed', gone.started_at, moment, gone.session, complete.result,
        gone.progress_done, gone.progress_total, gone.replay_of
    from gone;
    return found;
end
$$;

-- Returns a new id: a UUID of version 7, which begins with the time of its birth.
create function rota.new_id() returns uuid
language sql volatile parallel safe
return encode(
    set_bit(
        set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                placing substring(int8send(rota.clock() / 1000) from 3) from 1 for 6
            ),
            52, 1
        ),
        53, 1
    ),
    'hex'
)::uuid;

-- Refuses a field.
create function rota.refuse(field text, problem text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    raise exception using errcode = 'RT001', message = field || ': ' || problem, detail = field;
end
$$;

-- Returns the name of a kind, queue or tenant, if it can be one.
create function rota.checked_name(given jsonb, field text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
    if jsonb_typeof(given) <> 'string'
        or given #>> '{}' !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'
    then
        perform rota.refuse(field, format(
            '%s is no name; take 1 to 128 letters, digits, ''.'', ''_'' or ''-'', '
            'beginning with a letter or digit', left(given::text, 80)
        ));
    end if;
    return given #>> '{}';
end
$$;

-- Returns a text of 1 to `most` characters.
create function rota.checked_text(given jsonb, field text, most int) returns text
language plpgsql immutable set search_path = ''
as $$
begin
    if jsonb_typeof(given) <> 'string' or length(given #>> '{}') not between 1 and most then
        perform rota.refuse(field, format(
            'must be text of 1 to %s characters, not %s', most, left(given::text, 80)
        ));
    end if;
    return given #>> '{}';
end
$$;

-- Returns a duration that is given in seconds; 0 only where `may_be_zero`.
create function rota.checked_duration(given jsonb, field text, may_be_zero boolean) returns bigint
language plpgsql immutable set search_path = ''
as $$
begin
    if jsonb_typeof(given) <> 'number' then
        perform rota.refuse(field, left(given::text, 80) || ' is no duration; give seconds');
    end if;
    if given::numeric not between 0 and 3650 * 86400 then
        perform rota.refuse(field, 'must lie between 0 and 10 years, got ' || left(given::text, 80));
    end if;
    if round(given::numeric * 1000000) = 0 and not may_be_zero then
        perform rota.refuse(field, 'must be more than 0');
    end if;
    return round(given::numeric * 1000000)::bigint;
end
$$;

-- Returns an instant that is given as text with a zone.
create function rota.checked_instant(given jsonb, field text) returns bigint
language plpgsql stable set search_path = ''
as $$
declare
    given_text constant text := given #>> '{}';
    moment timestamptz;
begin
    if jsonb_typeof(given) <> 'string' or given_text !~ (
        '^\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?$'
    ) then
        perform rota.refuse(field, left(given::text, 80)
            || ' is no instant; give text such as "2026-11-30T10:00:00Z"');
    end if;
    if given_text !~ '([Zz]|[+-]\d\d:\d\d)$' then
        perform rota.refuse(field, given::text || ' has no time zone; add one, for instance a "Z"');
    end if;
    if given_text ~ '\.\d{7}' then
        perform rota.refuse(field, given::text || ' is finer than a microsecond');
    end if;
    begin
        moment := given_text::timestamptz;
    exception when datetime_field_overflow or invalid_datetime_format then
        perform rota.refuse(field, given::text || ' is no instant: ' || sqlerrm);
    end;
    if moment < 'epoch' then
        perform rota.refuse(field, given::text || ' lies before 1970');
    end if;
    return (extract(epoch from moment) * 1000000)::bigint;
end
$$;

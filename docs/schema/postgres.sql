CREATE SCHEMA rota;

CREATE FUNCTION rota.add_error(errors jsonb, error jsonb, kept integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (error IS NULL) THEN errors WHEN (errors IS NULL) THEN jsonb_build_array(error) WHEN (jsonb_array_length(errors) < kept) THEN (errors || jsonb_build_array(error)) ELSE ((errors - 1) || jsonb_build_array(error)) END;

CREATE FUNCTION rota.admit(gates text[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
    left_over text[];
    moved bigint;
    total bigint := 0;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise feature_not_supported using
            message = 'tasks can be let in at a gate only at the isolation level read committed',
            hint = 'Set default_transaction_isolation of this role or database to read committed.';
    end if;
    left_over := array(select gate from rota.roomy_gates(gates));
    perform pg_advisory_xact_lock(number)
    from (
        select distinct hashtextextended('rota.gate:' || gate, 0) as number
        from unnest(left_over) as gate
        order by number
    ) as lock;
    while left_over <> '{}' and total < 5000 loop
        with gate as materialized (
            select gate as key, inside, room
            from rota.roomy_gates(left_over)
        ),
        next as materialized (
            select gate.key, gate.inside, gate.room, task.place, task.rank, task.id,
                task.max_concurrency
            from gate
            cross join lateral (
                select
                    ctid as place, rank, id, coalesce(max_concurrency, 1) as max_concurrency
                from rota.scheduled
                where concurrency_key = gate.key
                    and at_gate
                    and cancel_requested_at is null
                order by rank, id
                limit least(gate.room, 1000)
                for update skip locked
            ) as task
        ),
        line as materialized (
            select
                key, room, place,
                bool_and(inside + number <= max_concurrency) over (
                    partition by key order by number
                ) as goes_in
            from (
                select *, row_number() over (partition by key order by rank, id) as number
                from next
            ) as numbered
        ),
        gone as (
            delete from rota.scheduled
            where ctid = any(array(select place from line where goes_in))
            returning *
        ),
        entered as (
            insert into rota.ready (
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, cancel_requested_at, cancel_deadline, checkpoint,
                progress_done, progress_total, replay_of,
                concurrency_key, max_concurrency, schedule, slot
            )
            select
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, cancel_requested_at, cancel_deadline, checkpoint,
                progress_done, progress_total, replay_of,
                concurrency_key, max_concurrency, schedule, slot
            from gone
            -- One that is in there already was submitted twice while it went in.
            on conflict (id) do nothing
            returning 1
        )
        select
            (select count(*) from entered),
            -- All room that the first one had is taken; the next may ask for more.
            array(
                select key
                from line
                where goes_in
                group by key, room
                having count(*) = least(room, 1000)
            )
        into moved, left_over;
        total := total + moved;
    end loop;
    return total;
end
$$;

CREATE FUNCTION rota.cancel(ids uuid[], deadline bigint DEFAULT NULL::bigint) RETURNS TABLE(id uuid, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
declare
    broken_in text;
begin
    return query select * from rota.try_cancel(ids, deadline);
exception when check_violation then
    get stacked diagnostics broken_in = table_name;
    if broken_in <> 'finished_default' then
        raise;
    end if;
    return query select * from rota.try_cancel(ids, deadline);
end
$$;

CREATE FUNCTION rota.cancel_runs(schedules uuid[], moment bigint, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
begin
    with waiting as (
        delete from rota.scheduled
        where id = any(array(
            select task.id
            from rota.scheduled as task
            where task.schedule = any(schedules)
            for update skip locked
        ))
        returning *
    ),
    standing as (
        delete from rota.ready
        where id = any(array(
            select task.id
            from rota.ready as task
            where task.schedule = any(schedules)
                and (task.session is null) is true
            for update skip locked
        ))
        returning *
    ),
    asked as (
        update rota.ready as task
        set cancel_requested_at = coalesce(task.cancel_requested_at, moment)
        where task.id = any(array(
            select running.id
            from rota.ready as running
            where running.schedule = any(schedules)
                and (running.session is not null) is true
            for no key update skip locked
        ))
    ),
    gone as (
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
            headers, errors, progress_done, progress_total, replay_of,
            concurrency_key, max_concurrency, schedule, slot
        from waiting
        union all
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
            headers, errors, progress_done, progress_total, replay_of,
            concurrency_key, max_concurrency, schedule, slot
        from standing
    ),
    counted as (
        insert into rota.tally as tally (minute, queue, kind, state, shard, count)
        select moment - moment % 60000000, queue, kind, 'cancelled', rota.shard(), count(*)
        from gone
        group by queue, kind
        order by queue, kind
        on conflict (minute, queue, kind, state, shard) do update
        set count = tally.count + excluded.count
    )
    insert into rota.finished (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
        headers, errors, progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot,
        state, finished_at, reason
    )
    select *, 'cancelled', moment, reason
    from gone;
    -- What is left was locked, or moved on meanwhile.
    insert into rota.cancel_request (task_id, requested_at)
    select task.id, moment
    from rota.scheduled as task
    where task.schedule = any(schedules)
    union all
    select task.id, moment
    from rota.ready as task
    where task.schedule = any(schedules)
        and task.cancel_requested_at is null;
end
$$;

CREATE FUNCTION rota.check_payload(payload jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $_$
begin
    if payload is null or jsonb_typeof(payload) <> 'object' then
        perform rota.refuse('payload', 'must be an object: the arguments of the handler by name');
    end if;
    if octet_length(payload::text) > 262144 and rota.json_bytes(payload) > 262144 then
        perform rota.refuse('payload', format(
            'is %s bytes of JSON; at most 262,144 are taken', rota.json_bytes(payload)
        ));
    end if;
    if payload @? 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")' then
        perform rota.refuse('payload', 'is nested deeper than 32 levels');
    end if;
    if payload @? 'strict $.** ? (@.type() == "number" && (@ > 1.7e308 || @ < -1.7e308))' then
        perform rota.refuse('payload', 'has a number that is too large');
    end if;
end
$_$;

CREATE FUNCTION rota.checked_duration(given jsonb, field text, may_be_zero boolean) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
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

CREATE FUNCTION rota.checked_headers(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
declare
    name text;
    item jsonb;
begin
    if jsonb_typeof(given) <> 'object'
        or (select count(*) from jsonb_object_keys(given)) > 16
    then
        perform rota.refuse('headers', 'must be an object of at most 16 texts');
    end if;
    for name, item in select * from jsonb_each(given) loop
        if jsonb_typeof(item) <> 'string' then
            perform rota.refuse('headers.' || name, 'must be text');
        end if;
    end loop;
    if rota.json_bytes(given) > 4096 then
        perform rota.refuse('headers', format(
            'is %s bytes of JSON; at most 4,096 are taken', rota.json_bytes(given)
        ));
    end if;
    return nullif(given, '{}');
end
$$;

CREATE FUNCTION rota.checked_instant(given jsonb, field text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $_$
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
$_$;

CREATE FUNCTION rota.checked_name(given jsonb, field text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $_$
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
$_$;

CREATE FUNCTION rota.checked_retry(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $_$
declare
    defaults constant jsonb := '{
        "type": "exponential", "base": 2.0, "multiplier": 2.0, "cap": 300.0, "jitter": 0.25,
        "max_attempts": 5
    }';
    most constant jsonb := '{"base": 315360000, "cap": 315360000, "jitter": 1}';
    field text;
    item jsonb;
    least numeric;
begin
    if jsonb_typeof(given) <> 'object' then
        perform rota.refuse('retry', 'must be an object, not ' || left(given::text, 80));
    end if;
    for field, item in select * from jsonb_each(given) loop
        if not defaults ? field then
            perform rota.refuse('retry.' || field, 'is no field of a retry policy');
        elsif field = 'type' then
            if item not in ('"exponential"', '"linear"', '"fixed"') then
                perform rota.refuse('retry.type', 'must be one of exponential, linear, fixed');
            end if;
        else
            least := case when field in ('multiplier', 'max_attempts') then 1 else 0 end;
            if jsonb_typeof(item) <> 'number'
                or item::numeric < least
                or item::numeric > coalesce((most ->> field)::numeric, 1e15)
                or field = 'max_attempts' and item::text !~ '^\d+$'
            then
                perform rota.refuse('retry.' || field, format(
                    'must be a%s number, %s%s, not %s',
                    case when field = 'max_attempts' then ' whole' else '' end, least,
                    coalesce(' to ' || (most ->> field), ' or more'), left(item::text, 80)
                ));
            end if;
        end if;
    end loop;
    return defaults || given;
end
$_$;

CREATE FUNCTION rota.checked_tags(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
begin
    if jsonb_typeof(given) <> 'array' or jsonb_array_length(given) > 16 then
        perform rota.refuse('tags', 'must be a list of at most 16 texts');
    end if;
    perform rota.checked_text(tag, format('tags[%s]', place - 1), 64)
    from jsonb_array_elements(given) with ordinality as item (tag, place);
    return given;
end
$$;

CREATE FUNCTION rota.checked_text(given jsonb, field text, most integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
begin
    if jsonb_typeof(given) <> 'string' or length(given #>> '{}') not between 1 and most then
        perform rota.refuse(field, format(
            'must be text of 1 to %s characters, not %s', most, left(given::text, 80)
        ));
    end if;
    return given #>> '{}';
end
$$;

CREATE FUNCTION rota.clock() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    RETURN ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint;

CREATE FUNCTION rota.complete(id uuid, session uuid, fence bigint, result jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    broken_in text;
begin
    return rota.try_complete(id, session, fence, result);
exception when check_violation then
    get stacked diagnostics broken_in = table_name;
    if broken_in <> 'finished_default' then
        raise;
    end if;
    return rota.try_complete(id, session, fence, result);
end
$$;

CREATE FUNCTION rota.drop_day(day text, counted_most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '30ms'
    AS $_$
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
$_$;

CREATE FUNCTION rota.enter(tasks jsonb, moment bigint, let_in boolean DEFAULT false) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    holders jsonb := '{}';
    wish record;
begin
    -- In one order everywhere, so that two batches with the same keys cannot block each other.
    for wish in
        select distinct on (kind collate "C", tenant collate "C", key collate "C")
            id, kind, tenant, key, key_until
        from rota.new_tasks(tasks)
        where key is not null
        order by kind collate "C", tenant collate "C", key collate "C", place
    loop
        holders := holders || jsonb_build_object(
            jsonb_build_array(wish.kind, wish.tenant, wish.key)::text,
            rota.hold_key(
                wish.kind, wish.tenant, wish.key, wish.id, coalesce(wish.key_until, 0), moment
            )
        );
    end loop;
    return query
    with task as materialized (
        select
            *,
            coalesce(
                (holders ->> jsonb_build_array(kind, tenant, key)::text)::uuid, id
            ) as holder
        from rota.new_tasks(tasks)
    ),
    fresh as materialized (
        select *
        from task
        where id = holder
            and (select id from rota.ready where id = task.id) is null
            and (select id from rota.scheduled where id = task.id) is null
            and (select id from rota.dead_letter where id = task.id) is null
            and (
                select id
                from rota.finished
                where id = task.id
                    and finished_at > task.created_at - 86400000000
            ) is null
    ),
    due as (
        insert into rota.ready (
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot
        )
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot
        from fresh
        where run_at <= moment
            and concurrency_key is null
        order by place
        on conflict do nothing
    ),
    later as (
        insert into rota.scheduled (
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot, at_gate
        )
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot,
            let_in and run_at <= moment
        from fresh
        where run_at > moment
            or concurrency_key is not null
        order by place
        on conflict do nothing
    )
    select holder, holder = id
    from task
    order by place;
    if let_in then
        perform rota.admit(array(
            select distinct concurrency_key
            from rota.new_tasks(tasks)
            where concurrency_key is not null
        ));
    end if;
end
$$;

CREATE FUNCTION rota.enter_at_once(tasks jsonb, moment bigint) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    ready uuid[];
begin
    -- At another level the count below would not see what others let in before they let go of a
    -- gate; who lets in the others refuses that.
    if current_setting('transaction_isolation') <> 'read committed' then
        return tasks;
    end if;
    perform pg_advisory_xact_lock(number)
    from (
        select distinct hashtextextended('rota.gate:' || concurrency_key, 0) as number
        from jsonb_to_recordset(tasks) as task (concurrency_key text, run_at bigint)
        where concurrency_key is not null
            and run_at <= moment
        order by number
    ) as lock;
    with due as materialized (
        select
            *,
            count(*) over (partition by concurrency_key) as number
        from rota.new_tasks(tasks)
        where run_at <= moment
    ),
    entered as (
        insert into rota.ready (
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot
        )
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers,
            concurrency_key, max_concurrency, schedule, slot
        from due
        where key is null
            and (
                concurrency_key is null
                or number = 1
                and (
                    select id
                    from rota.scheduled
                    where concurrency_key = due.concurrency_key
                        and at_gate
                    order by rank, id
                    limit 1
                ) is null
                and (
                    select count(*)
                    from (
                        select
                        from rota.ready
                        where concurrency_key = due.concurrency_key
                        limit coalesce(due.max_concurrency, 1)
                    ) as inside
                ) < coalesce(max_concurrency, 1)
            )
        order by place
        on conflict do nothing
        returning id
    )
    select array(select id from entered)
    into ready;
    if cardinality(ready) = jsonb_array_length(tasks) then
        return null;
    end if;
    return (
        select jsonb_agg(task order by place)
        from jsonb_array_elements(tasks) with ordinality as item (task, place)
        where (task ->> 'id')::uuid <> all(ready)
    );
end
$$;

CREATE FUNCTION rota.fire(firings jsonb, moment bigint, most bigint, reason text) RETURNS TABLE(place bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    applied bigint[];
    cancelling uuid[];
    tasks jsonb;
begin
    with firing as materialized (
        select *
        from rows from (
            jsonb_to_recordset(firings) as (
                schedule_id uuid, version bigint, cursor bigint, runs jsonb, skips jsonb,
                new_cursor bigint, next_slot bigint, next_at bigint, tz_data text,
                cancel_previous boolean
            )
        ) with ordinality as firing (
            schedule_id, version, cursor, runs, skips, new_cursor, next_slot, next_at, tz_data,
            cancel_previous, place
        )
    ),
    held as materialized (
        select schedule.id, firing.place
        from firing
        join rota.schedule as schedule
            on schedule.id = firing.schedule_id
        where schedule.version = firing.version
            and schedule.cursor = firing.cursor
            and schedule.paused_at is null
        for no key update of schedule skip locked
    ),
    -- Of two firings of one schedule the first alone is as the schedule expects.
    chosen as materialized (
        select firing.*
        from firing
        join (
            select id, min(place) as place
            from held
            group by id
        ) as first
            on first.place = firing.place
    ),
    run as materialized (
        select chosen.schedule_id, run.slot, run.task, (run.task ->> 'id')::uuid as task_id
        from chosen
        cross join jsonb_to_recordset(chosen.runs) as run (slot bigint, task jsonb)
    ),
    made as materialized (
        insert into rota.slot as slot (schedule, slot, task_id, fired_at, backfilled)
        select schedule_id, slot, task_id, moment, false
        from run
        order by schedule_id, slot
        on conflict do nothing
        returning schedule, slot, task_id
    ),
    skip as materialized (
        select chosen.schedule_id, skip.first, skip.last, skip.count, skip.state
        from chosen
        cross join jsonb_to_recordset(chosen.skips) as skip (
            first bigint, last bigint, count bigint, state text
        )
    ),
    noted as (
        insert into rota.skip (schedule, first, last, count, state, at)
        select schedule_id, first, last, count, state, moment
        from skip
    ),
    change as (
        select
            chosen.*,
            runs.number as fired,
            runs.latest,
            coalesce(skips.number, 0) as skipped
        from chosen
        left join (
            select schedule, count(*) as number, max(slot) as latest
            from made
            group by schedule
        ) as runs
            on runs.schedule = chosen.schedule_id
        left join (
            select schedule_id, sum(coalesce(count, most))::bigint as number
            from skip
            group by schedule_id
        ) as skips
            on skips.schedule_id = chosen.schedule_id
    ),
    moved as (
        update rota.schedule
        set cursor = change.new_cursor,
            next_slot = change.next_slot,
            next_at = change.next_at,
            tz_data = coalesce(nullif(change.tz_data, ''), schedule.tz_data),
            last_slot = greatest(schedule.last_slot, change.latest),
            last_fired_at = case
                when change.fired is null then schedule.last_fired_at
                else moment
            end,
            fired = schedule.fired + coalesce(change.fired, 0),
            skipped = schedule.skipped + change.skipped
        from change
        where schedule.id = change.schedule_id
    )
    select
        array(select place from chosen),
        array(select schedule_id from chosen where cancel_previous),
        (select jsonb_agg(run.task order by run.slot) from run join made using (task_id))
    into applied, cancelling, tasks;
    if cancelling <> '{}' then
        perform rota.cancel_runs(cancelling, moment, reason);
    end if;
    if tasks is not null then
        tasks := rota.enter_at_once(tasks, moment);
    end if;
    if tasks is not null then
        perform rota.enter(tasks, moment, true);
    end if;
    return query
    select unnest(applied);
end
$$;

CREATE FUNCTION rota.fire_extra(schedule_id uuid, runs jsonb, moment bigint, slots boolean) RETURNS TABLE(made boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
declare
    tasks jsonb;
begin
    -- It shall not be removed meanwhile, with the record of its slots.
    perform
    from rota.schedule
    where id = fire_extra.schedule_id
    for key share;
    if not found then
        return query
        select false
        from jsonb_array_elements(runs);
        return;
    end if;
    if slots then
        with fired as (
            insert into rota.slot as slot (schedule, slot, task_id, fired_at, backfilled)
            select fire_extra.schedule_id, run.slot, (run.task ->> 'id')::uuid, moment, true
            from jsonb_to_recordset(runs) as run (slot bigint, task jsonb)
            order by run.slot
            on conflict do nothing
            returning task_id
        )
        select jsonb_agg(run.task order by run.slot)
        into tasks
        from jsonb_to_recordset(runs) as run (slot bigint, task jsonb)
        join fired
            on fired.task_id = (run.task ->> 'id')::uuid;
    else
        tasks := jsonb_path_query_array(runs, '$[*].task');
    end if;
    if tasks is not null then
        perform rota.enter(tasks, moment, true);
    end if;
    return query
    select
        not slots
        or (run.task ->> 'id')::uuid is not distinct from (
            select task_id
            from rota.slot as fired
            where fired.schedule = fire_extra.schedule_id
                and fired.slot = run.slot
        )
    from rows from (
        jsonb_to_recordset(runs) as (slot bigint, task jsonb)
    ) with ordinality as run (slot, task, place)
    order by place;
end
$_$;

CREATE FUNCTION rota.hold_key(task_kind text, task_tenant text, task_key text, task uuid, until bigint, moment bigint) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '5s'
    AS $$
declare
    holder uuid;
begin
    loop
        select held.task_id into holder
        from rota.task_key as held
        where (kind, tenant, key) = (task_kind, task_tenant, task_key)
            and (
                expires_at > moment
                or exists (select from rota.ready where id = held.task_id)
                or exists (select from rota.scheduled where id = held.task_id)
            );
        exit when found;
        -- As in `hold_keys`: a holder that came after this statement began stays.
        insert into rota.task_key as held (kind, tenant, key, task_id, expires_at)
        values (task_kind, task_tenant, task_key, task, until)
        on conflict (kind, tenant, key) do update
        set task_id = excluded.task_id, expires_at = excluded.expires_at
        where held.expires_at <= moment
            and not exists (select from rota.ready where id = held.task_id)
            and not exists (select from rota.scheduled where id = held.task_id)
            and held.task_id = (
                select seen.task_id
                from rota.task_key as seen
                where (seen.kind, seen.tenant, seen.key) = (held.kind, held.tenant, held.key)
            )
        returning held.task_id into holder;
        exit when found;
    end loop;
    return holder;
exception when lock_not_available then
    raise exception using errcode = 'RT002', detail = 'key', message = format(
        'key: %s is held by a transaction that is still open; try again', task_key
    );
end
$$;

CREATE FUNCTION rota.json_bytes(given jsonb) RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN octet_length(regexp_replace((given)::text, '("(?:[^"\\]|\\.)*")|([,:]) '::text, '\1\2'::text, 'g'::text));

CREATE FUNCTION rota.keep_audit() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    raise exception 'the audit record is not changed';
end
$$;

CREATE FUNCTION rota.make_day(day text, since bigint, until bigint, moved_most integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '30ms'
    AS $_$
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
$_$;

CREATE FUNCTION rota.may_change_days() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform set_config('idle_in_transaction_session_timeout', '1s', true);
    return pg_try_advisory_xact_lock(1919906914);
end
$$;

CREATE FUNCTION rota.move_alert(alert jsonb, old_version bigint, gone boolean, tasks jsonb, moment bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    new rota.alert := jsonb_populate_record(null::rota.alert, alert);
begin
    if old_version = 0 then
        insert into rota.alert
        select new.*
        on conflict do nothing;
    elsif gone then
        delete from rota.alert as old
        where old.id = new.id
            and old.version = old_version;
    else
        update rota.alert as old
        set value = new.value,
            threshold = new.threshold,
            fired_at = new.fired_at,
            told_at = new.told_at,
            cleared_at = new.cleared_at,
            silenced_until = new.silenced_until,
            version = old_version + 1
        where old.id = new.id
            and old.version = old_version;
    end if;
    if not found then
        return false;
    end if;
    perform rota.enter(tasks, moment);
    return true;
end
$$;

CREATE FUNCTION rota.new_id() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING SUBSTRING(int8send((rota.clock() / 1000)) FROM 3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

CREATE FUNCTION rota.new_task(kind text, payload jsonb, options jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    moment constant bigint := rota.clock();
    known constant text[] := '{queue, tenant, priority, run_at, delay, timeout, retry, key,
        key_window, expires_at, expires_in, tags, headers, concurrency_key, max_concurrency}';
    task jsonb := '{"queue": "default", "tenant": "", "priority": 5}';
    run_at bigint := moment;
    expires_at bigint;
    key_window bigint := 86400000000;
    name text;
    given jsonb;
begin
    if jsonb_typeof(options) is distinct from 'object' then
        perform rota.refuse('options', 'must be an object');
    end if;
    perform rota.checked_name(coalesce(to_jsonb(kind), 'null'), 'kind');
    perform rota.check_payload(payload);
    for name, given in select * from jsonb_each(options) loop
        if name = 'queue' or name = 'tenant' and given <> '""' then
            task := task || jsonb_build_object(name, rota.checked_name(given, name));
        elsif name = 'priority' then
            if given::text !~ '^(\d|10)$' then
                perform rota.refuse(name, format(
                    'must be a whole number from 0 (highest) to 10, not %s', left(given::text, 80)
                ));
            end if;
            task := task || jsonb_build_object(name, given);
        elsif name = 'run_at' then
            run_at := rota.checked_instant(given, name);
        elsif name = 'delay' then
            run_at := moment + rota.checked_duration(given, name, true);
        elsif name = 'timeout' and given <> 'null' then
            task := task
                || jsonb_build_object(name, rota.checked_duration(given, name, false));
        elsif name = 'retry' then
            task := task || jsonb_build_object(name, rota.checked_retry(given));
        elsif name = 'key' then
            task := task || jsonb_build_object(name, rota.checked_text(given, name, 255));
        elsif name = 'key_window' then
            key_window := rota.checked_duration(given, name, false);
        elsif name = 'expires_at' then
            expires_at := rota.checked_instant(given, name);
        elsif name = 'expires_in' then
            expires_at := moment + rota.checked_duration(given, name, false);
        elsif name = 'tags' then
            task := task || jsonb_build_object(name, rota.checked_tags(given));
        elsif name = 'headers' then
            task := task || jsonb_build_object(name, rota.checked_headers(given));
        elsif name = 'concurrency_key' then
            task := task || jsonb_build_object(name, rota.checked_text(given, name, 255));
        elsif name = 'max_concurrency' then
            if given::text !~ '^[1-9]\d{0,6}$' or given::text::int > 1000000 then
                perform rota.refuse(name, format(
                    'must be a whole number from 1 to 1,000,000, not %s', left(given::text, 80)
                ));
            end if;
            task := task || jsonb_build_object(name, given);
        elsif name <> all(known) then
            perform rota.refuse(name, 'is no option; the options are '
                || array_to_string(known, ', '));
        end if;
    end loop;
    if options ?& '{run_at, delay}' then
        perform rota.refuse('run_at', 'and delay exclude each other; give one of them');
    elsif options ?& '{expires_at, expires_in}' then
        perform rota.refuse('expires_at', 'and expires_in exclude each other; give one of them');
    elsif options ? 'max_concurrency' and not options ? 'concurrency_key' then
        perform rota.refuse('max_concurrency', 'needs a concurrency_key: who shares the room');
    end if;
    if task ? 'concurrency_key' then
        task := '{"max_concurrency": 1}' || task;
    end if;
    return task || jsonb_build_object(
        'id', rota.new_id(), 'kind', kind, 'payload', payload, 'run_at', run_at,
        'rank', run_at + (task ->> 'priority')::bigint * 600000000, 'created_at', moment,
        'expires_at', expires_at, 'key_until', moment + key_window
    );
end
$_$;

CREATE FUNCTION rota.new_tasks(tasks jsonb) RETURNS TABLE(place bigint, id uuid, kind text, queue text, tenant text, priority smallint, class smallint, run_at bigint, rank bigint, created_at bigint, payload jsonb, timeout bigint, retry jsonb, expires_at bigint, key text, key_until bigint, tags text[], headers jsonb, concurrency_key text, max_concurrency integer, schedule uuid, slot bigint)
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT task.place,
     task.id,
     task.kind,
     task.queue,
     task.tenant,
     task.priority,
     (LEAST(((task.priority + 2) / 3), 3))::smallint AS "least",
     task.run_at,
     task.rank,
     task.created_at,
     (task.payload)::jsonb AS payload,
     task.timeout,
     (task.retry)::jsonb AS retry,
     task.expires_at,
     task.key,
     task.key_until,
     NULLIF(task.tags, '{}'::text[]) AS "nullif",
     (task.headers)::jsonb AS headers,
     task.concurrency_key,
     task.max_concurrency,
     task.schedule,
     task.slot
    FROM ROWS FROM(jsonb_to_recordset(new_tasks.tasks) AS (id uuid, kind text, queue text, tenant text, priority smallint, run_at bigint, rank bigint, created_at bigint, payload text, timeout bigint, retry text, expires_at bigint, key text, key_until bigint, tags text[], headers text, concurrency_key text, max_concurrency integer, schedule uuid, slot bigint)) WITH ORDINALITY task(id, kind, queue, tenant, priority, run_at, rank, created_at, payload, timeout, retry, expires_at, key, key_until, tags, headers, concurrency_key, max_concurrency, schedule, slot, place);
END;

CREATE FUNCTION rota.once(key text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    insert into rota.effect (key, at)
    values (once.key, rota.clock())
    on conflict do nothing;
    return found;
end
$$;

CREATE FUNCTION rota.refuse(field text, problem text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
begin
    raise exception using errcode = 'RT001', message = field || ': ' || problem, detail = field;
end
$$;

CREATE TABLE rota.ready (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    session uuid,
    started_at bigint,
    cancel_requested_at bigint,
    cancel_deadline bigint,
    checkpoint jsonb,
    progress_done bigint,
    progress_total bigint,
    replay_of uuid,
    concurrency_key text COLLATE pg_catalog."C",
    max_concurrency integer,
    schedule uuid,
    slot bigint
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE rota.scheduled (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    cancel_requested_at bigint,
    cancel_deadline bigint,
    checkpoint jsonb,
    progress_done bigint,
    progress_total bigint,
    replay_of uuid,
    concurrency_key text COLLATE pg_catalog."C",
    max_concurrency integer,
    schedule uuid,
    slot bigint,
    at_gate boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

CREATE FUNCTION rota.roomy_gates(gates text[]) RETURNS TABLE(gate text, inside bigint, room bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT wanted.gate,
     counted.inside,
     (first.most - counted.inside)
    FROM ((( SELECT DISTINCT one.gate
            FROM unnest(roomy_gates.gates) one(gate)) wanted
      CROSS JOIN LATERAL ( SELECT COALESCE(scheduled.max_concurrency, 1) AS most
            FROM rota.scheduled
           WHERE ((scheduled.concurrency_key = wanted.gate) AND scheduled.at_gate AND (scheduled.cancel_requested_at IS NULL))
           ORDER BY scheduled.rank, scheduled.id
          LIMIT 1) first)
      CROSS JOIN LATERAL ( SELECT count(*) AS inside
            FROM ( SELECT
                    FROM rota.ready
                   WHERE (ready.concurrency_key = wanted.gate)
                  LIMIT first.most) present) counted)
   WHERE (counted.inside < first.most);
END;

CREATE FUNCTION rota.running(limits text[]) RETURNS TABLE(id text, running bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    holders uuid[];
begin
    -- Each step is one descent into the index to the next session.
    holders := array(
        with recursive hop as (
            (
                select session
                from rota.ready
                where session is not null
                order by session
                limit 1
            )
            union all
            select next.session
            from hop
            cross join lateral (
                select session
                from rota.ready
                where session > hop.session
                    and session is not null
                order by session
                limit 1
            ) as next
        )
        select session
        from hop
    );
    if cardinality(limits) * cardinality(holders) <= 2000 then
        return query
        select
            held.id,
            case
                when held.tenant is null then (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and queue = held.queue
                )
                when held.queue is null then (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and tenant = held.tenant
                )
                else (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and queue = held.queue
                        and tenant = held.tenant
                )
            end
        from rota.lane_limit as held
        where held.id = any(limits);
        return;
    end if;
    return query
    select held.id, coalesce(task.number, 0)
    from rota.lane_limit as held
    left join (
        select
            coalesce(queue, '') as queue,
            grouping(tenant) = 1 as any_tenant,
            coalesce(tenant, '') as tenant,
            count(*) as number
        from rota.ready
        where session is not null
        group by grouping sets ((queue), (tenant), (queue, tenant))
    ) as task
        on task.queue = coalesce(held.queue, '')
        and task.any_tenant = (held.tenant is null)
        and task.tenant = coalesce(held.tenant, '')
    where held.id = any(limits);
end
$$;

CREATE FUNCTION rota.shard() RETURNS smallint
    LANGUAGE sql STABLE PARALLEL RESTRICTED
    RETURN ((pg_backend_pid() % 32768))::smallint;

CREATE FUNCTION rota.submit_many(tasks jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT entered.id,
     entered.created
    FROM rota.enter(submit_many.tasks, rota.clock()) entered(id, created);
END;

CREATE FUNCTION rota.submit(kind text, payload jsonb, options jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT made.id,
     made.created
    FROM rota.submit_many(jsonb_build_array(rota.new_task(submit.kind, submit.payload, submit.options))) made(id, created);
END;

CREATE FUNCTION rota.take(session uuid, queues text[], classes smallint[], tenants text[], counts integer[], bound integer[], limits text[], avoid text[], moment bigint, version bigint) RETURNS TABLE(id text, fence bigint, attempt integer, lost integer, snoozes integer, kind text, queue text, tenant text, priority smallint, run_at bigint, created_at bigint, payload jsonb, timeout bigint, retry jsonb, expires_at bigint, headers jsonb, checkpoint jsonb, concurrency_key text, schedule text, slot bigint, blocked text, why text, until bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
#variable_conflict use_column
declare
    -- Of each limit that we have: how many more may run, what is left to spend at which instant.
    known text[];
    rooms bigint[];
    rates float8[];
    purses float8[];
    starts bigint[];
    spent int[];
    full_up boolean[];
    busy text[] := '{}';
    -- Of each share: how many it may have, by which limits, and what it gets.
    place int := 1;
    most bigint;
    start bigint;
    binding int[];
    nth int;
    got tid[];
    places tid[] := '{}';
    times bigint[] := '{}';
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise feature_not_supported using
            message = 'limits can be kept only at the isolation level read committed',
            hint = 'Set default_transaction_isolation of this role or database to read committed.';
    end if;
    if not exists (
        select
        from rota.settings_version
        where one
            and version = take.version
    ) then
        why := 'stale';
        return next;
        return;
    end if;
    if not exists (
        select
        from rota.session
        where id = take.session
            and closed_at is null
            and lease_until > moment
    ) then
        return;
    end if;
    known := array(
        select id
        from rota.lane_limit
        where id = any(limits)
        order by id
        for update skip locked
    );
    -- A clock that is behind fills nothing up, and what starts by it counts as started when the
    -- limit was filled last. One that is behind by ten seconds was set back: it counts from there.
    select
        array_agg(held.max_running - task.running order by held.id),
        array_agg(held.rate order by held.id),
        array_agg(
            least(burst, tokens + greatest(clock.start - filled_at, 0) * rate / 1000000)
            order by held.id
        ),
        array_agg(clock.start order by held.id),
        array_agg(0),
        array_agg(false)
    into rooms, rates, purses, starts, spent, full_up
    from rota.lane_limit as held
    cross join lateral (
        select
            case
                when rate is null or filled_at > moment + 10000000 then moment
                else greatest(filled_at, moment)
            end as start
    ) as clock
    left join rota.running(
        array(
            select id
            from rota.lane_limit
            where id = any(known)
                and max_running is not null
        )
    ) as task
        on task.id = held.id
    where held.id = any(known);
    for n in 1..cardinality(queues) loop
        most := counts[n];
        start := moment;
        binding := '{}';
        while bound[place] = n loop
            nth := array_position(known, limits[place]);
            if nth is null then
                busy := busy || limits[place];
                most := 0;
            else
                binding := binding || nth;
                -- A token may fall short of a whole one by what arithmetic loses.
                most := least(most, rooms[nth], floor(purses[nth] + 0.000001));
                start := greatest(start, starts[nth]);
            end if;
            place := place + 1;
        end loop;
        got := '{}';
        if most > 0 then
            got := array(
                select ctid
                from rota.ready
                where queue = queues[n]
                    and class = classes[n]
                    and tenant = tenants[n]
                    and session is null
                    and cancel_requested_at is null
                    and kind <> all(avoid)
                order by rank, id
                limit most
                for update skip locked
            );
        end if;
        places := places || got;
        times := times || array_fill(start, array[cardinality(got)]);
        foreach nth in array binding loop
            rooms[nth] := rooms[nth] - cardinality(got);
            purses[nth] := purses[nth] - cardinality(got);
            spent[nth] := spent[nth] + cardinality(got);
            full_up[nth] := full_up[nth] or coalesce(
                cardinality(got) < counts[n] and (rooms[nth] <= 0 or purses[nth] < 0.999999), false
            );
        end loop;
    end loop;
    update rota.lane_limit as held
    set tokens = used.tokens,
        filled_at = used.start
    from unnest(known, purses, starts, spent) as used (id, tokens, start, spent)
    where held.id = used.id
        and held.rate is not null
        and (used.spent > 0 or held.filled_at > used.start);
    return query
    update rota.ready as task
    set session = take.session,
        fence = task.fence + 1,
        attempt = task.attempt + 1,
        started_at = chosen.start
    from unnest(places, times) as chosen (place, start)
    where task.ctid = chosen.place
    returning
        task.id::text, task.fence, task.attempt, task.lost, task.snoozes, task.kind, task.queue,
        task.tenant, task.priority, task.run_at, task.created_at, task.payload, task.timeout,
        task.retry, task.expires_at, task.headers, task.checkpoint,
        task.concurrency_key, task.schedule::text, task.slot,
        null::text, null::text, null::bigint;
    for nth in 1..cardinality(known) loop
        if full_up[nth] then
            blocked := known[nth];
            why := case when rooms[nth] <= 0 then 'cap' else 'rate' end;
            until := case
                when why = 'rate'
                then starts[nth] + ceil((1 - purses[nth]) / rates[nth] * 1000000)
            end;
            return next;
        end if;
    end loop;
    for blocked in select distinct one from unnest(busy) as one loop
        why := 'busy';
        until := null;
        return next;
    end loop;
end
$$;

CREATE FUNCTION rota.try_cancel(ids uuid[], deadline bigint DEFAULT NULL::bigint) RETURNS TABLE(id uuid, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
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
                headers, errors, progress_done, progress_total, replay_of,
                concurrency_key, max_concurrency, schedule, slot
            from waiting
            union all
            select
                id, kind, queue, tenant, priority, class, run_at, rank, created_at,
                fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags,
                headers, errors, progress_done, progress_total, replay_of,
                concurrency_key, max_concurrency, schedule, slot
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
                concurrency_key, max_concurrency, schedule, slot,
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

CREATE FUNCTION rota.try_complete(id uuid, session uuid, fence bigint, result jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    moment constant bigint := rota.clock();
begin
    with gone as (
        delete from rota.ready as task
        where task.id = try_complete.id
            and task.fence = try_complete.fence
            and task.session is not distinct from try_complete.session
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
        progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    )
    select
        gone.id, gone.kind, gone.queue, gone.tenant, gone.priority, gone.class, gone.run_at,
        gone.rank, gone.created_at, gone.fence, gone.attempt, gone.lost, gone.snoozes,
        gone.payload, gone.timeout, gone.retry, gone.expires_at, gone.key, gone.tags, gone.headers,
        gone.errors, 'completed', gone.started_at, moment, gone.session, try_complete.result,
        gone.progress_done, gone.progress_total, gone.replay_of,
        gone.concurrency_key, gone.max_concurrency, gone.schedule, gone.slot
    from gone;
    return found;
end
$$;

CREATE TABLE rota.access_key (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    roles text NOT NULL,
    admin boolean NOT NULL,
    tenant text COLLATE pg_catalog."C",
    queues text,
    payloads boolean NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
);

CREATE TABLE rota.action (
    id uuid NOT NULL,
    tenant text COLLATE pg_catalog."C",
    queues text[],
    body jsonb NOT NULL,
    state text NOT NULL,
    after uuid,
    done bigint NOT NULL,
    changed bigint NOT NULL,
    skipped jsonb NOT NULL,
    error text,
    next_at bigint NOT NULL,
    ended_at bigint,
    hold bigint DEFAULT 0 NOT NULL,
    held_until bigint DEFAULT 0 NOT NULL,
    CONSTRAINT action_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'stopped'::text, 'failed'::text])))
);

CREATE TABLE rota.alert (
    id text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL COLLATE pg_catalog."C",
    figure text NOT NULL COLLATE pg_catalog."C",
    queue text COLLATE pg_catalog."C",
    value double precision NOT NULL,
    threshold double precision NOT NULL,
    since bigint NOT NULL,
    fired_at bigint,
    told_at bigint,
    cleared_at bigint,
    silenced_until bigint,
    version bigint NOT NULL
);

CREATE TABLE rota.alert_rule (
    name text NOT NULL COLLATE pg_catalog."C",
    body jsonb NOT NULL,
    version bigint NOT NULL
);

CREATE TABLE rota.alert_turn (
    one boolean DEFAULT true NOT NULL,
    taken_at bigint NOT NULL,
    CONSTRAINT alert_turn_one_check CHECK (one)
);

CREATE TABLE rota.audit (
    id text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    key_name text NOT NULL,
    via text NOT NULL,
    tenant text COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    target text,
    request_id text NOT NULL,
    address text NOT NULL,
    outcome text NOT NULL,
    count bigint NOT NULL,
    change text,
    reason text
);

CREATE TABLE rota.cancel_request (
    task_id uuid NOT NULL,
    requested_at bigint NOT NULL,
    deadline bigint
);

CREATE TABLE rota.dead_letter (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    started_at bigint,
    failed_at bigint NOT NULL,
    session uuid,
    reason text,
    checkpoint jsonb,
    error_group text COLLATE pg_catalog."C",
    error_type text,
    error_shape text,
    replay_of uuid,
    replayed_as uuid,
    replayed_at bigint,
    discarded_at bigint,
    discard_reason text,
    concurrency_key text COLLATE pg_catalog."C",
    max_concurrency integer,
    schedule uuid,
    slot bigint
);

CREATE TABLE rota.duty (
    name text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE rota.effect (
    key text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);

CREATE TABLE rota.finished (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    state text NOT NULL,
    started_at bigint,
    finished_at bigint NOT NULL,
    session uuid,
    result jsonb,
    reason text,
    progress_done bigint,
    progress_total bigint,
    replay_of uuid,
    concurrency_key text COLLATE pg_catalog."C",
    max_concurrency integer,
    schedule uuid,
    slot bigint,
    CONSTRAINT finished_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])))
)
PARTITION BY RANGE (finished_at);

CREATE TABLE rota.finished_default (
    id uuid CONSTRAINT finished_id_not_null NOT NULL,
    kind text CONSTRAINT finished_kind_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT finished_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT finished_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    priority smallint CONSTRAINT finished_priority_not_null NOT NULL,
    class smallint CONSTRAINT finished_class_not_null NOT NULL,
    run_at bigint CONSTRAINT finished_run_at_not_null NOT NULL,
    rank bigint CONSTRAINT finished_rank_not_null NOT NULL,
    created_at bigint CONSTRAINT finished_created_at_not_null NOT NULL,
    fence bigint DEFAULT 0 CONSTRAINT finished_fence_not_null NOT NULL,
    attempt integer DEFAULT 0 CONSTRAINT finished_attempt_not_null NOT NULL,
    lost integer DEFAULT 0 CONSTRAINT finished_lost_not_null NOT NULL,
    snoozes integer DEFAULT 0 CONSTRAINT finished_snoozes_not_null NOT NULL,
    payload jsonb CONSTRAINT finished_payload_not_null NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    state text CONSTRAINT finished_state_not_null NOT NULL,
    started_at bigint,
    finished_at bigint CONSTRAINT finished_finished_at_not_null NOT NULL,
    session uuid,
    result jsonb,
    reason text,
    progress_done bigint,
    progress_total bigint,
    replay_of uuid,
    concurrency_key text COLLATE pg_catalog."C",
    max_concurrency integer,
    schedule uuid,
    slot bigint,
    CONSTRAINT finished_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])))
);

CREATE TABLE rota.lane_limit (
    id text NOT NULL COLLATE pg_catalog."C",
    queue text COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    max_running integer,
    rate double precision,
    burst integer,
    tokens double precision NOT NULL,
    filled_at bigint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT lane_limit_burst_check CHECK ((burst >= 1)),
    CONSTRAINT lane_limit_check CHECK (((queue IS NOT NULL) OR (tenant IS NOT NULL))),
    CONSTRAINT lane_limit_check1 CHECK (((max_running IS NOT NULL) OR (rate IS NOT NULL))),
    CONSTRAINT lane_limit_check2 CHECK (((rate IS NULL) = (burst IS NULL))),
    CONSTRAINT lane_limit_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT lane_limit_rate_check CHECK ((rate > (0)::double precision))
)
WITH (fillfactor='50');

CREATE TABLE rota.login (
    id_hash bytea NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE TABLE rota.migration (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at bigint NOT NULL
);

CREATE TABLE rota.schedule (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    rule jsonb NOT NULL,
    policy jsonb NOT NULL,
    work jsonb NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    cursor bigint NOT NULL,
    next_slot bigint,
    next_at bigint,
    tz_data text NOT NULL COLLATE pg_catalog."C",
    paused_at bigint,
    pause_reason text,
    last_slot bigint,
    last_fired_at bigint,
    fired bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

CREATE TABLE rota.server_secret (
    name text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL,
    made_at bigint NOT NULL
);

CREATE TABLE rota.service (
    span bigint NOT NULL,
    at bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    completed bigint NOT NULL,
    ran bigint NOT NULL
);

CREATE TABLE rota.session (
    id uuid NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues text[] NOT NULL,
    kinds text[] NOT NULL,
    slots integer NOT NULL,
    started_at bigint NOT NULL,
    lease_until bigint NOT NULL,
    closed_at bigint,
    process text DEFAULT ''::text NOT NULL,
    owner text DEFAULT ''::text NOT NULL,
    claimed bigint DEFAULT 0 NOT NULL,
    claim_open boolean DEFAULT false NOT NULL,
    drain_at bigint,
    heard_at bigint DEFAULT 0 NOT NULL
);

CREATE TABLE rota.setting (
    noun text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body jsonb NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT setting_noun_check CHECK ((noun = ANY (ARRAY['queue'::text, 'tenant'::text, 'kind'::text])))
);

CREATE TABLE rota.settings_version (
    one boolean DEFAULT true NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT settings_version_one_check CHECK (one)
);

CREATE TABLE rota.skip (
    schedule uuid NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    count bigint,
    state text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

CREATE TABLE rota.slot (
    schedule uuid NOT NULL,
    slot bigint NOT NULL,
    task_id uuid NOT NULL,
    fired_at bigint NOT NULL,
    backfilled boolean NOT NULL
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

CREATE TABLE rota.statistic (
    span bigint NOT NULL,
    at bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    counts jsonb NOT NULL
);

CREATE TABLE rota.submission (
    id uuid NOT NULL,
    scope text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    task_ids uuid[] NOT NULL,
    created_at bigint NOT NULL,
    key_until bigint,
    keep_until bigint NOT NULL
);

CREATE TABLE rota.tally (
    minute bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    shard smallint NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT tally_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text, 'failed'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

CREATE VIEW rota.task AS
 SELECT scheduled.id,
    'scheduled'::text AS state,
    scheduled.kind,
    scheduled.queue,
    scheduled.tenant,
    scheduled.priority,
    to_timestamp((((scheduled.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((scheduled.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    NULL::timestamp with time zone AS started_at,
    NULL::timestamp with time zone AS finished_at,
    to_timestamp((((scheduled.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((scheduled.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    scheduled.attempt,
    scheduled.fence,
    scheduled.lost,
    scheduled.snoozes,
    NULL::uuid AS session,
    scheduled.payload,
    NULL::jsonb AS result,
    scheduled.errors,
    NULL::text AS reason,
    scheduled.key,
    scheduled.tags,
    scheduled.headers,
    scheduled.retry,
    to_timestamp((((scheduled.cancel_requested_at)::numeric / '1000000'::numeric))::double precision) AS cancel_requested_at,
    scheduled.progress_done,
    scheduled.progress_total,
    scheduled.checkpoint,
    NULL::text AS error_group,
    scheduled.replay_of,
    NULL::uuid AS replayed_as,
    NULL::timestamp with time zone AS discarded_at,
    scheduled.concurrency_key,
    scheduled.max_concurrency,
    scheduled.at_gate,
    scheduled.schedule,
    to_timestamp((((scheduled.slot)::numeric / '1000000'::numeric))::double precision) AS slot
   FROM rota.scheduled
UNION ALL
 SELECT ready.id,
        CASE
            WHEN (ready.session IS NULL) THEN 'ready'::text
            ELSE 'running'::text
        END AS state,
    ready.kind,
    ready.queue,
    ready.tenant,
    ready.priority,
    to_timestamp((((ready.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((ready.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((ready.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    NULL::timestamp with time zone AS finished_at,
    to_timestamp((((ready.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((ready.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    ready.attempt,
    ready.fence,
    ready.lost,
    ready.snoozes,
    ready.session,
    ready.payload,
    NULL::jsonb AS result,
    ready.errors,
    NULL::text AS reason,
    ready.key,
    ready.tags,
    ready.headers,
    ready.retry,
    to_timestamp((((ready.cancel_requested_at)::numeric / '1000000'::numeric))::double precision) AS cancel_requested_at,
    ready.progress_done,
    ready.progress_total,
    ready.checkpoint,
    NULL::text AS error_group,
    ready.replay_of,
    NULL::uuid AS replayed_as,
    NULL::timestamp with time zone AS discarded_at,
    ready.concurrency_key,
    ready.max_concurrency,
    false AS at_gate,
    ready.schedule,
    to_timestamp((((ready.slot)::numeric / '1000000'::numeric))::double precision) AS slot
   FROM rota.ready
UNION ALL
 SELECT dead_letter.id,
    'failed'::text AS state,
    dead_letter.kind,
    dead_letter.queue,
    dead_letter.tenant,
    dead_letter.priority,
    to_timestamp((((dead_letter.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((dead_letter.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((dead_letter.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    to_timestamp((((dead_letter.failed_at)::numeric / '1000000'::numeric))::double precision) AS finished_at,
    to_timestamp((((dead_letter.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((dead_letter.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    dead_letter.attempt,
    dead_letter.fence,
    dead_letter.lost,
    dead_letter.snoozes,
    dead_letter.session,
    dead_letter.payload,
    NULL::jsonb AS result,
    dead_letter.errors,
    dead_letter.reason,
    dead_letter.key,
    dead_letter.tags,
    dead_letter.headers,
    dead_letter.retry,
    NULL::timestamp with time zone AS cancel_requested_at,
    NULL::bigint AS progress_done,
    NULL::bigint AS progress_total,
    dead_letter.checkpoint,
    dead_letter.error_group,
    dead_letter.replay_of,
    dead_letter.replayed_as,
    to_timestamp((((dead_letter.discarded_at)::numeric / '1000000'::numeric))::double precision) AS discarded_at,
    dead_letter.concurrency_key,
    dead_letter.max_concurrency,
    false AS at_gate,
    dead_letter.schedule,
    to_timestamp((((dead_letter.slot)::numeric / '1000000'::numeric))::double precision) AS slot
   FROM rota.dead_letter
UNION ALL
 SELECT finished.id,
    finished.state,
    finished.kind,
    finished.queue,
    finished.tenant,
    finished.priority,
    to_timestamp((((finished.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((finished.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((finished.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    to_timestamp((((finished.finished_at)::numeric / '1000000'::numeric))::double precision) AS finished_at,
    to_timestamp((((finished.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((finished.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    finished.attempt,
    finished.fence,
    finished.lost,
    finished.snoozes,
    finished.session,
    finished.payload,
    finished.result,
    finished.errors,
    finished.reason,
    finished.key,
    finished.tags,
    finished.headers,
    finished.retry,
    NULL::timestamp with time zone AS cancel_requested_at,
    finished.progress_done,
    finished.progress_total,
    NULL::jsonb AS checkpoint,
    NULL::text AS error_group,
    finished.replay_of,
    NULL::uuid AS replayed_as,
    NULL::timestamp with time zone AS discarded_at,
    finished.concurrency_key,
    finished.max_concurrency,
    false AS at_gate,
    finished.schedule,
    to_timestamp((((finished.slot)::numeric / '1000000'::numeric))::double precision) AS slot
   FROM rota.finished;

CREATE TABLE rota.task_key (
    kind text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE rota.webhook (
    id text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    shape text NOT NULL,
    enabled boolean NOT NULL,
    off_reason text,
    created_at bigint NOT NULL,
    last_success_at bigint,
    last_failure_at bigint,
    failure text,
    failing_since bigint,
    version bigint NOT NULL,
    secret text NOT NULL,
    old_secret text,
    old_until bigint
);

ALTER TABLE ONLY rota.finished ATTACH PARTITION rota.finished_default DEFAULT;

ALTER TABLE ONLY rota.access_key
    ADD CONSTRAINT access_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.action
    ADD CONSTRAINT action_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.alert_rule
    ADD CONSTRAINT alert_rule_pkey PRIMARY KEY (name);

ALTER TABLE ONLY rota.alert_turn
    ADD CONSTRAINT alert_turn_pkey PRIMARY KEY (one);

ALTER TABLE ONLY rota.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.duty
    ADD CONSTRAINT duty_pkey PRIMARY KEY (name);

ALTER TABLE ONLY rota.effect
    ADD CONSTRAINT effect_pkey PRIMARY KEY (key);

ALTER TABLE ONLY rota.finished
    ADD CONSTRAINT finished_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.finished_default
    ADD CONSTRAINT finished_default_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.lane_limit
    ADD CONSTRAINT lane_limit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.login
    ADD CONSTRAINT login_pkey PRIMARY KEY (id_hash);

ALTER TABLE ONLY rota.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY rota.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.schedule
    ADD CONSTRAINT schedule_name_key UNIQUE (name);

ALTER TABLE ONLY rota.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.server_secret
    ADD CONSTRAINT server_secret_pkey PRIMARY KEY (name);

ALTER TABLE ONLY rota.service
    ADD CONSTRAINT service_pkey PRIMARY KEY (span, at, tenant);

ALTER TABLE ONLY rota.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (noun, name);

ALTER TABLE ONLY rota.settings_version
    ADD CONSTRAINT settings_version_pkey PRIMARY KEY (one);

ALTER TABLE ONLY rota.slot
    ADD CONSTRAINT slot_pkey PRIMARY KEY (schedule, slot);

ALTER TABLE ONLY rota.statistic
    ADD CONSTRAINT statistic_pkey PRIMARY KEY (span, at, queue, kind);

ALTER TABLE ONLY rota.submission
    ADD CONSTRAINT submission_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (minute, queue, kind, state, shard);

ALTER TABLE ONLY rota.task_key
    ADD CONSTRAINT task_key_pkey PRIMARY KEY (kind, tenant, key);

ALTER TABLE ONLY rota.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);

CREATE INDEX action_ended ON rota.action USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX action_running ON rota.action USING btree (next_at) WHERE (state = 'running'::text);

CREATE INDEX alert_age ON rota.alert USING btree (cleared_at) WHERE (cleared_at IS NOT NULL);

CREATE UNIQUE INDEX alert_open ON rota.alert USING btree (rule, COALESCE(queue, ''::text)) WHERE (cleared_at IS NULL);

CREATE INDEX audit_action ON rota.audit USING btree (action, id);

CREATE INDEX audit_age ON rota.audit USING btree (at);

CREATE INDEX audit_key ON rota.audit USING btree (key_id, id);

CREATE INDEX dead_letter_age ON rota.dead_letter USING btree (failed_at, id) WHERE (discarded_at IS NULL);

CREATE INDEX dead_letter_discarded ON rota.dead_letter USING btree (discarded_at) WHERE (discarded_at IS NOT NULL);

CREATE INDEX dead_letter_group ON rota.dead_letter USING btree (error_group, id);

CREATE INDEX dead_letter_open ON rota.dead_letter USING btree (error_group, failed_at, id) INCLUDE (tenant, queue) WHERE ((replayed_as IS NULL) AND (discarded_at IS NULL));

CREATE INDEX effect_age ON rota.effect USING btree (at);

CREATE INDEX finished_at ON ONLY rota.finished USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_cancelled ON ONLY rota.finished USING btree (id) WHERE (state = 'cancelled'::text);

CREATE INDEX finished_default_finished_at_idx ON rota.finished_default USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_default_id_idx ON rota.finished_default USING btree (id) WHERE (state = 'cancelled'::text);

CREATE UNIQUE INDEX lane_limit_scope ON rota.lane_limit USING btree (COALESCE(queue, ''::text), ((tenant IS NULL)), COALESCE(tenant, ''::text));

CREATE INDEX login_end ON rota.login USING btree (ends_at);

CREATE INDEX ready_asked ON rota.ready USING btree (session) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX ready_expiry ON rota.ready USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (session IS NULL));

CREATE INDEX ready_gate ON rota.ready USING btree (concurrency_key) WHERE (concurrency_key IS NOT NULL);

CREATE INDEX ready_held ON rota.ready USING btree (session, queue, tenant) WHERE (session IS NOT NULL);

CREATE INDEX ready_lane ON rota.ready USING btree (queue, class, tenant, rank, id) WHERE (session IS NULL);

CREATE INDEX ready_overdue ON rota.ready USING btree (cancel_deadline) WHERE (cancel_deadline IS NOT NULL);

CREATE INDEX ready_schedule ON rota.ready USING btree (schedule) WHERE (schedule IS NOT NULL);

CREATE INDEX schedule_due ON rota.schedule USING btree (next_at) WHERE ((paused_at IS NULL) AND (next_at IS NOT NULL));

CREATE INDEX schedule_tz_data ON rota.schedule USING btree (tz_data) WHERE (next_slot IS NOT NULL);

CREATE INDEX scheduled_asked ON rota.scheduled USING btree (cancel_requested_at) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX scheduled_due ON rota.scheduled USING btree (run_at, id) WHERE (NOT at_gate);

CREATE INDEX scheduled_expiry ON rota.scheduled USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX scheduled_gate ON rota.scheduled USING btree (concurrency_key, rank, id) WHERE at_gate;

CREATE INDEX scheduled_schedule ON rota.scheduled USING btree (schedule) WHERE (schedule IS NOT NULL);

CREATE INDEX skip_age ON rota.skip USING btree (at);

CREATE INDEX skip_slot ON rota.skip USING btree (schedule, first);

CREATE INDEX slot_age ON rota.slot USING btree (fired_at);

CREATE INDEX submission_age ON rota.submission USING btree (keep_until);

CREATE UNIQUE INDEX submission_key ON rota.submission USING btree (scope, operation, key) WHERE (key IS NOT NULL);

CREATE INDEX tally_shards ON rota.tally USING btree (minute) WHERE (shard >= 0);

CREATE INDEX task_key_expires ON rota.task_key USING btree (expires_at);

ALTER INDEX rota.finished_at ATTACH PARTITION rota.finished_default_finished_at_idx;

ALTER INDEX rota.finished_cancelled ATTACH PARTITION rota.finished_default_id_idx;

ALTER INDEX rota.finished_pkey ATTACH PARTITION rota.finished_default_pkey;

CREATE TRIGGER audit_stays BEFORE UPDATE ON rota.audit FOR EACH STATEMENT EXECUTE FUNCTION rota.keep_audit();

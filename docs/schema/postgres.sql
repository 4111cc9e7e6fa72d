CREATE SCHEMA rota;

CREATE FUNCTION rota.add_error(errors jsonb, error jsonb, kept integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (error IS NULL) THEN errors WHEN (errors IS NULL) THEN jsonb_build_array(error) WHEN (jsonb_array_length(errors) < kept) THEN (errors || jsonb_build_array(error)) ELSE ((errors - 1) || jsonb_build_array(error)) END;

CREATE FUNCTION rota.cancel(ids uuid[], deadline bigint DEFAULT NULL::bigint) RETURNS TABLE(id uuid, outcome text)
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
    SET enable_seqscan TO 'off'
    AS $$
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
        key_window, expires_at, expires_in, tags, headers}';
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
        elsif name <> all(known) then
            perform rota.refuse(name, 'is no option; the options are '
                || array_to_string(known, ', '));
        end if;
    end loop;
    if options ?& '{run_at, delay}' then
        perform rota.refuse('run_at', 'and delay exclude each other; give one of them');
    elsif options ?& '{expires_at, expires_in}' then
        perform rota.refuse('expires_at', 'and expires_in exclude each other; give one of them');
    end if;
    return task || jsonb_build_object(
        'id', rota.new_id(), 'kind', kind, 'payload', payload, 'run_at', run_at,
        'rank', run_at + (task ->> 'priority')::bigint * 600000000, 'created_at', moment,
        'expires_at', expires_at, 'key_until', moment + key_window
    );
end
$_$;

CREATE FUNCTION rota.new_tasks(tasks jsonb) RETURNS TABLE(place bigint, id uuid, kind text, queue text, tenant text, priority smallint, class smallint, run_at bigint, rank bigint, created_at bigint, payload jsonb, timeout bigint, retry jsonb, expires_at bigint, key text, key_until bigint, tags text[], headers jsonb)
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
     (task.headers)::jsonb AS headers
    FROM ROWS FROM(jsonb_to_recordset(new_tasks.tasks) AS (id uuid, kind text, queue text, tenant text, priority smallint, run_at bigint, rank bigint, created_at bigint, payload text, timeout bigint, retry text, expires_at bigint, key text, key_until bigint, tags text[], headers text)) WITH ORDINALITY task(id, kind, queue, tenant, priority, run_at, rank, created_at, payload, timeout, retry, expires_at, key, key_until, tags, headers, place);
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

CREATE FUNCTION rota.shard() RETURNS smallint
    LANGUAGE sql STABLE PARALLEL RESTRICTED
    RETURN ((pg_backend_pid() % 32768))::smallint;

CREATE FUNCTION rota.submit_many(tasks jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    moment constant bigint := rota.clock();
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
            payload, timeout, retry, expires_at, key, tags, headers
        )
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers
        from fresh
        where run_at <= moment
        order by place
        on conflict do nothing
    ),
    later as (
        insert into rota.scheduled (
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers
        )
        select
            id, kind, queue, tenant, priority, class, run_at, rank, created_at,
            payload, timeout, retry, expires_at, key, tags, headers
        from fresh
        where run_at > moment
        order by place
        on conflict do nothing
    )
    select holder, holder = id
    from task
    order by place;
end
$$;

CREATE FUNCTION rota.submit(kind text, payload jsonb, options jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT made.id,
     made.created
    FROM rota.submit_many(jsonb_build_array(rota.new_task(submit.kind, submit.payload, submit.options))) made(id, created);
END;

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
    discard_reason text
);

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
    CONSTRAINT finished_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])))
);

CREATE TABLE rota.migration (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at bigint NOT NULL
);

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
    replay_of uuid
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
    replay_of uuid
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

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
    process text DEFAULT ''::text NOT NULL
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
    NULL::timestamp with time zone AS discarded_at
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
    NULL::timestamp with time zone AS discarded_at
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
    to_timestamp((((dead_letter.discarded_at)::numeric / '1000000'::numeric))::double precision) AS discarded_at
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
    NULL::timestamp with time zone AS discarded_at
   FROM rota.finished;

CREATE TABLE rota.task_key (
    kind text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    expires_at bigint NOT NULL
);

ALTER TABLE ONLY rota.finished ATTACH PARTITION rota.finished_default DEFAULT;

ALTER TABLE ONLY rota.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.effect
    ADD CONSTRAINT effect_pkey PRIMARY KEY (key);

ALTER TABLE ONLY rota.finished
    ADD CONSTRAINT finished_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.finished_default
    ADD CONSTRAINT finished_default_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY rota.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (minute, queue, kind, state, shard);

ALTER TABLE ONLY rota.task_key
    ADD CONSTRAINT task_key_pkey PRIMARY KEY (kind, tenant, key);

CREATE INDEX dead_letter_age ON rota.dead_letter USING btree (failed_at) WHERE (discarded_at IS NULL);

CREATE INDEX dead_letter_discarded ON rota.dead_letter USING btree (discarded_at) WHERE (discarded_at IS NOT NULL);

CREATE INDEX dead_letter_group ON rota.dead_letter USING btree (error_group, id);

CREATE INDEX dead_letter_open ON rota.dead_letter USING btree (error_group, failed_at, id) WHERE ((replayed_as IS NULL) AND (discarded_at IS NULL));

CREATE INDEX effect_age ON rota.effect USING btree (at);

CREATE INDEX finished_at ON ONLY rota.finished USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_cancelled ON ONLY rota.finished USING btree (id) WHERE (state = 'cancelled'::text);

CREATE INDEX finished_default_finished_at_idx ON rota.finished_default USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_default_id_idx ON rota.finished_default USING btree (id) WHERE (state = 'cancelled'::text);

CREATE INDEX ready_asked ON rota.ready USING btree (session) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX ready_expiry ON rota.ready USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (session IS NULL));

CREATE INDEX ready_held ON rota.ready USING btree (session) WHERE (session IS NOT NULL);

CREATE INDEX ready_lane ON rota.ready USING btree (queue, class, tenant, rank, id) WHERE (session IS NULL);

CREATE INDEX ready_overdue ON rota.ready USING btree (cancel_deadline) WHERE (cancel_deadline IS NOT NULL);

CREATE INDEX scheduled_asked ON rota.scheduled USING btree (cancel_requested_at) WHERE (cancel_requested_at IS NOT NULL);

CREATE INDEX scheduled_due ON rota.scheduled USING btree (run_at);

CREATE INDEX scheduled_expiry ON rota.scheduled USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX tally_shards ON rota.tally USING btree (minute) WHERE (shard >= 0);

CREATE INDEX task_key_expires ON rota.task_key USING btree (expires_at);

ALTER INDEX rota.finished_at ATTACH PARTITION rota.finished_default_finished_at_idx;

ALTER INDEX rota.finished_cancelled ATTACH PARTITION rota.finished_default_id_idx;

ALTER INDEX rota.finished_pkey ATTACH PARTITION rota.finished_default_pkey;

-- Submitting from any language, inside the caller's transaction: `select * from rota.submit(…)`, with
-- the checks that Python makes. What is refused has the code RT001 and names the field in its
-- message and its detail; nothing is stored then.
--
-- Such a transaction may stay open for long. It locks nothing that others wait for but a key: who
-- submits with a key that an open transaction has taken must know first whether that commits.

-- Returns a retry policy with every field, so that later defaults do not change it.
create function rota.checked_retry(given jsonb) returns jsonb
language plpgsql immutable set search_path = ''
as $$
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
$$;

-- Returns how many bytes JSON has when it is written without spaces.
create function rota.json_bytes(given jsonb) returns int
language sql immutable
return octet_length(
    regexp_replace(given::text, '("(?:[^"\\]|\\.)*")|([,:]) ', '\1\2', 'g')
);

-- Refuses a payload that no worker could take.
create function rota.check_payload(payload jsonb) returns void
language plpgsql immutable set search_path = ''
as $$
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
$$;

-- Returns tags as a list of texts.
create function rota.checked_tags(given jsonb) returns jsonb
language plpgsql immutable set search_path = ''
as $$
begin
    if jsonb_typeof(given) <> 'array' or jsonb_array_length(given) > 16 then
        perform rota.refuse('tags', 'must be a list of at most 16 texts');
    end if;
    perform rota.checked_text(tag, format('tags[%s]', place - 1), 64)
    from jsonb_array_elements(given) with ordinality as item (tag, place);
    return given;
end
$$;

-- Returns headers, null if there are none.
create function rota.checked_headers(given jsonb) returns jsonb
language plpgsql immutable set search_path = ''
as $$
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

-- Returns a new task, as `submit_many` takes it, from a kind, a payload and options that have been
-- checked by this.
create function rota.new_task(kind text, payload jsonb, options jsonb) returns jsonb
language plpgsql volatile set search_path = ''
as $$
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
$$;

-- Returns which task holds a key after this one has asked for it: itself, if nobody else did.
-- It looks before it writes, so that who does not get the key locks nothing. A key that an open
-- transaction has taken is waited for, but not for ever.
create function rota.hold_key(
    task_kind text, task_tenant text, task_key text, task uuid, until bigint, moment bigint
) returns uuid
language plpgsql volatile
set search_path = '' set enable_seqscan = off set lock_timeout = '5s'
as $$
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

-- Returns new tasks as rows. Payloads and the like may be JSON or text that holds JSON.
create function rota.new_tasks(tasks jsonb) returns table (
    place bigint, id uuid, kind text, queue text, tenant text, priority smallint, class smallint,
    run_at bigint, rank bigint, created_at bigint, payload jsonb, timeout bigint, retry jsonb,
    expires_at bigint, key text, key_until bigint, tags text[], headers jsonb
)
language sql immutable
begin atomic
    select
        place, id, kind, queue, tenant, priority,
        least((priority + 2) / 3, 3)::smallint,
        run_at, rank, created_at, payload::jsonb, timeout, retry::jsonb, expires_at, key, key_until,
        nullif(tags, '{}'), headers::jsonb
    from rows from (
        jsonb_to_recordset(tasks) as (
            id uuid, kind text, queue text, tenant text, priority smallint, run_at bigint,
            rank bigint, created_at bigint, payload text, timeout bigint, retry text,
            expires_at bigint, key text, key_until bigint, tags text[], headers text
        )
    ) with ordinality as task (
        id, kind, queue, tenant, priority, run_at, rank, created_at, payload, timeout, retry,
        expires_at, key, key_until, tags, headers, place
    );
end;

-- Stores tasks that have been checked, as JSON with the fields of `NewTask`; returns for each, in
-- order, the task that there is now and whether this call made it.
create function rota.submit_many(tasks jsonb) returns table (id uuid, created boolean)
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
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

-- Checks a task and stores it in the caller's transaction; returns its id, or that of the task that
-- has its key already, and whether this call made it. Options: queue, tenant, priority, run_at or
-- delay, timeout, retry, key, key_window, expires_at or expires_in, tags, headers; instants are
-- texts with a zone, durations are seconds.
create function rota.submit(kind text, payload jsonb, options jsonb default '{}')
returns table (id uuid, created boolean)
language sql volatile security invoker
begin atomic
    select made.id, made.created
    from rota.submit_many(
        jsonb_build_array(rota.new_task(submit.kind, submit.payload, submit.options))
    ) as made;
end;

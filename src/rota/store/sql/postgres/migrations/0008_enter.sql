-- Submitting with a gate from any language, and what schedules make of their slots; otherwise as it
-- was. `submit_many` is still there by its name: that is what clients look for.

-- Returns a new task, as `submit_many` takes it, from a kind, a payload and options that have been
-- checked by this.
create or replace function rota.new_task(kind text, payload jsonb, options jsonb) returns jsonb
language plpgsql volatile set search_path = ''
as $$
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
$$;

drop function rota.new_tasks(jsonb);

-- Returns new tasks as rows. Payloads and the like may be JSON or text that holds JSON.
create function rota.new_tasks(tasks jsonb) returns table (
    place bigint, id uuid, kind text, queue text, tenant text, priority smallint, class smallint,
    run_at bigint, rank bigint, created_at bigint, payload jsonb, timeout bigint, retry jsonb,
    expires_at bigint, key text, key_until bigint, tags text[], headers jsonb,
    concurrency_key text, max_concurrency int, schedule uuid, slot bigint
)
language sql immutable
begin atomic
    select
        place, id, kind, queue, tenant, priority,
        least((priority + 2) / 3, 3)::smallint,
        run_at, rank, created_at, payload::jsonb, timeout, retry::jsonb, expires_at, key, key_until,
        nullif(tags, '{}'), headers::jsonb,
        concurrency_key, max_concurrency, schedule, slot
    from rows from (
        jsonb_to_recordset(tasks) as (
            id uuid, kind text, queue text, tenant text, priority smallint, run_at bigint,
            rank bigint, created_at bigint, payload text, timeout bigint, retry text,
            expires_at bigint, key text, key_until bigint, tags text[], headers text,
            concurrency_key text, max_concurrency int, schedule uuid, slot bigint
        )
    ) with ordinality as task (
        id, kind, queue, tenant, priority, run_at, rank, created_at, payload, timeout, retry,
        expires_at, key, key_until, tags, headers,
        concurrency_key, max_concurrency, schedule, slot, place
    );
end;

-- Stores tasks that have been checked, as JSON with the fields of `NewTask`, at an instant; returns
-- for each, in order, the task that there is now and whether this call made it. Those with a gate
-- are scheduled, for staging to let them in; with `let_in` those that are due go in here and now as
-- far as there is room. That takes locks until the transaction ends: one of a single statement, as
-- its last step.
create function rota.enter(tasks jsonb, moment bigint, let_in boolean default false)
returns table (id uuid, created boolean)
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
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

-- Stores tasks as `enter` does, now and in the caller's transaction.
create or replace function rota.submit_many(tasks jsonb) returns table (id uuid, created boolean)
language sql volatile security invoker
begin atomic
    select entered.id, entered.created
    from rota.enter(submit_many.tasks, rota.clock()) as entered;
end;

-- Checks a task and stores it in the caller's transaction; returns its id, or that of the task that
-- has its key already, and whether this call made it. Options: queue, tenant, priority, run_at or
-- delay, timeout, retry, key, key_window, expires_at or expires_in, tags, headers, concurrency_key,
-- max_concurrency; instants are texts with a zone, durations are seconds.
create or replace function rota.submit(kind text, payload jsonb, options jsonb default '{}')
returns table (id uuid, created boolean)
language sql volatile security invoker
begin atomic
    select made.id, made.created
    from rota.submit_many(
        jsonb_build_array(rota.new_task(submit.kind, submit.payload, submit.options))
    ) as made;
end;

-- Makes tasks of a schedule besides its firings, from JSON with the fields of `Run`; returns for
-- each, in order, whether it was made by this or an earlier such call. With `slots` each stands for
-- its slot, and one whose slot has a task already is not made.
create function rota.fire_extra(schedule_id uuid, runs jsonb, moment bigint, slots boolean)
returns table (made boolean)
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
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
$$;

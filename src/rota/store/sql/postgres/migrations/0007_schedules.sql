-- Schedules, and what became of their slots. A slot that has a row in `slot` makes no second task,
-- whoever tries and whenever, until the row is pruned.

create table rota.schedule (
    id uuid primary key,
    name text collate "C" not null unique,
    source text collate "C" not null,
    kind text collate "C" not null,
    tenant text collate "C" not null,
    rule jsonb not null,
    policy jsonb not null,
    work jsonb not null,
    version bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    cursor bigint not null,
    next_slot bigint,
    next_at bigint,
    tz_data text collate "C" not null,
    paused_at bigint,
    pause_reason text,
    last_slot bigint,
    last_fired_at bigint,
    fired bigint not null default 0,
    skipped bigint not null default 0
)
-- Each firing rewrites its row. The dead ones lie at the head of the index of what is due, where
-- every look passes them, so vacuum comes early.
with (
    fillfactor = 70,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

create index schedule_due on rota.schedule (next_at)
where paused_at is null and next_at is not null;
create index schedule_tz_data on rota.schedule (tz_data) where next_slot is not null;

-- Slots of which tasks were made.
create table rota.slot (
    schedule uuid not null,
    slot bigint not null,
    task_id uuid not null,
    fired_at bigint not null,
    backfilled boolean not null,
    primary key (schedule, slot)
)
with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

create index slot_age on rota.slot (fired_at);

-- Slots, from the first to the last of a range, of which no tasks were made; count is null if there
-- are too many to count.
create table rota.skip (
    schedule uuid not null,
    first bigint not null,
    last bigint not null,
    count bigint,
    state text collate "C" not null,
    at bigint not null
)
with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

create index skip_slot on rota.skip (schedule, first);
create index skip_age on rota.skip (at);

-- Cancels the tasks of schedules that have not started, and asks those that run to stop. What
-- somebody else is changing is not waited for: a node marks it once that has been done.
create function rota.cancel_runs(schedules uuid[], moment bigint, reason text) returns void
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
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

-- Stores what of new tasks can be ready at once: those that are due and have no gate, or come alone
-- to one that has room and nobody waiting. Returns the others, null if there are none. It takes the
-- locks of all their gates, so that whoever lets in those others has nothing more to wait for.
create function rota.enter_at_once(tasks jsonb, moment bigint) returns jsonb
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off set enable_bitmapscan = off
as $$
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

-- Carries out firings, as JSON with the fields of `Firing`, whose schedules are as they expect and
-- not paused; returns the places of those that applied. `most` stands for what is too many to
-- count, `reason` is that of tasks that are cancelled because a later one takes their place.
-- It waits for nobody who holds a schedule, and who holds what it needs does so for one statement.
create function rota.fire(firings jsonb, moment bigint, most bigint, reason text)
returns table (place bigint)
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
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

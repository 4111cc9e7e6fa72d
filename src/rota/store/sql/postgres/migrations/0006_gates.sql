-- Gates and what schedules make. A gate is a concurrency key: its tasks wait in scheduled, with
-- `at_gate` from when they are due, until fewer than their `max_concurrency` are in ready. Rows are
-- counted, never a counter, so nothing can be left behind that would have to be put right.
--
-- Processes of the version before go on with tasks that have no gate: use gates and schedules once
-- all have been replaced, for the old ones let tasks in without asking. Until then their staging
-- reads all that is scheduled, because `scheduled_due` leaves out what waits at a gate.

alter table rota.scheduled
    add column concurrency_key text collate "C",
    add column max_concurrency int,
    add column schedule uuid,
    add column slot bigint,
    add column at_gate boolean not null default false;

drop index rota.scheduled_due;
create index scheduled_due on rota.scheduled (run_at) where not at_gate;
create index scheduled_gate on rota.scheduled (concurrency_key, rank, id) where at_gate;
create index scheduled_schedule on rota.scheduled (schedule) where schedule is not null;

alter table rota.ready
    add column concurrency_key text collate "C",
    add column max_concurrency int,
    add column schedule uuid,
    add column slot bigint;

create index ready_gate on rota.ready (concurrency_key) where concurrency_key is not null;
create index ready_schedule on rota.ready (schedule) where schedule is not null;

alter table rota.dead_letter
    add column concurrency_key text collate "C",
    add column max_concurrency int,
    add column schedule uuid,
    add column slot bigint;

alter table rota.finished
    add column concurrency_key text collate "C",
    add column max_concurrency int,
    add column schedule uuid,
    add column slot bigint;

create or replace view rota.task as
select
    id, 'scheduled' as state, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6) as created_at,
    to_timestamp(run_at / 1e6) as run_at,
    null::timestamptz as started_at,
    null::timestamptz as finished_at,
    to_timestamp(expires_at / 1e6) as expires_at,
    make_interval(secs => timeout / 1e6) as timeout,
    attempt, fence, lost, snoozes, null::uuid as session,
    payload, null::jsonb as result, errors, null as reason, key, tags, headers, retry,
    to_timestamp(cancel_requested_at / 1e6) as cancel_requested_at,
    progress_done, progress_total, checkpoint, null as error_group,
    replay_of, null::uuid as replayed_as, null::timestamptz as discarded_at,
    concurrency_key, max_concurrency, at_gate, schedule,
    to_timestamp(slot / 1e6) as slot
from rota.scheduled
union all
select
    id, case when session is null then 'ready' else 'running' end, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    null,
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, null, errors, null, key, tags, headers, retry,
    to_timestamp(cancel_requested_at / 1e6),
    progress_done, progress_total, checkpoint, null,
    replay_of, null, null,
    concurrency_key, max_concurrency, false, schedule,
    to_timestamp(slot / 1e6)
from rota.ready
union all
select
    id, 'failed', kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    to_timestamp(failed_at / 1e6),
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, null, errors, reason, key, tags, headers, retry,
    null,
    null, null, checkpoint, error_group,
    replay_of, replayed_as, to_timestamp(discarded_at / 1e6),
    concurrency_key, max_concurrency, false, schedule,
    to_timestamp(slot / 1e6)
from rota.dead_letter
union all
select
    id, state, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    to_timestamp(finished_at / 1e6),
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, result, errors, reason, key, tags, headers, retry,
    null,
    progress_done, progress_total, null, null,
    replay_of, null, null,
    concurrency_key, max_concurrency, false, schedule,
    to_timestamp(slot / 1e6)
from rota.finished;

-- Returns those of the gates that have a task waiting and room for it, with how many are inside and
-- how many more may come.
create function rota.roomy_gates(gates text[])
returns table (gate text, inside bigint, room bigint)
language sql stable
begin atomic
    select wanted.gate, counted.inside, first.most - counted.inside
    from (select distinct gate from unnest(gates) as one (gate)) as wanted
    cross join lateral (
        select coalesce(max_concurrency, 1) as most
        from rota.scheduled
        where concurrency_key = wanted.gate
            and at_gate
            and cancel_requested_at is null
        order by rank, id
        limit 1
    ) as first
    cross join lateral (
        select count(*) as inside
        from (
            select
            from rota.ready
            where concurrency_key = wanted.gate
            limit first.most
        ) as present
    ) as counted
    where counted.inside < first.most;
end;

-- Lets in, in rank order, what waits at gates as far as they have room; returns how many tasks. A
-- task goes in while fewer than its own `max_concurrency` are inside, and those behind one that may
-- not go in do not pass it. After some thousands it stops, whatever is left.
--
-- Who finds room at a gate takes its lock and counts again: by then whoever had the lock has
-- committed, and the next statement sees what they let in. The locks are taken in one order. A gate
-- that seems full needs none: who leaves it asks anew after that.
create function rota.admit(gates text[]) returns bigint
language plpgsql volatile security invoker
set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
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

-- Cancels tasks in the caller's transaction: what waits at once, what runs is asked to stop, and by
-- the deadline, if there is one, it will be. Returns for each task that there is what became of it:
-- completed, accepted or too_late.
create or replace function rota.cancel(ids uuid[], deadline bigint default null)
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

-- Completes a task in the caller's transaction, if the session holds it under that fence.
create or replace function rota.complete(id uuid, session uuid, fence bigint, result jsonb)
returns boolean
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
        progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    )
    select
        gone.id, gone.kind, gone.queue, gone.tenant, gone.priority, gone.class, gone.run_at,
        gone.rank, gone.created_at, gone.fence, gone.attempt, gone.lost, gone.snoozes,
        gone.payload, gone.timeout, gone.retry, gone.expires_at, gone.key, gone.tags, gone.headers,
        gone.errors, 'completed', gone.started_at, moment, gone.session, complete.result,
        gone.progress_done, gone.progress_total, gone.replay_of,
        gone.concurrency_key, gone.max_concurrency, gone.schedule, gone.slot
    from gone;
    return found;
end
$$;

-- name: cancel
-- Cancel tasks that wait: move them to finished and count them. Ask running ones to stop: the first
-- request and the earliest deadline count. Return what became of each; what moved on meanwhile is
-- left out. Written like this, "no session" does not lead to the index of the lanes.
with scheduled as (
    delete from rota.scheduled
    where id = any(:ids::uuid[])
    returning *
),
ready as (
    delete from rota.ready
    where id = any(:ids::uuid[])
        and (session is null) is true
    returning *
),
asked as (
    update rota.ready
    set cancel_requested_at = coalesce(cancel_requested_at, :now::bigint),
        cancel_deadline = least(cancel_deadline, :deadline::bigint)
    where id = any(:ids::uuid[])
        and (session is not null) is true
    returning id
),
gone as (
    select
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    from scheduled
    union all
    select
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    from ready
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'cancelled', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
),
cancelled as (
    insert into rota.finished (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot,
        state, finished_at, reason
    )
    select *, 'cancelled', :now::bigint, :reason::text
    from gone
    returning id
)
select id::text, 'completed'
from cancelled
union all
select id::text, 'accepted'
from asked;

-- name: retry_failed
-- Move dead letters that are still to be dealt with to ready, or to their gate if they have one,
-- their counters back at zero, without an expiry that has passed; return their ids.
with gone as (
    delete from rota.dead_letter
    where id = any(:ids::uuid[])
        and replayed_as is null
        and discarded_at is null
    returning *
),
renewed as (
    select
        id, kind, queue, tenant, priority, class,
        :now::bigint, :now::bigint + priority * :level::bigint, created_at,
        fence, 0, 0, 0, payload, timeout, retry, case when expires_at > :now then expires_at end,
        key, tags, headers, errors, checkpoint, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    from gone
),
at_once as (
    insert into rota.ready (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, checkpoint, replay_of, concurrency_key, max_concurrency, schedule, slot
    )
    select *
    from renewed
    where concurrency_key is null
    returning id
),
through_gate as (
    insert into rota.scheduled (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, checkpoint, replay_of, concurrency_key, max_concurrency, schedule, slot
    )
    select *
    from renewed
    where concurrency_key is not null
    returning id
)
select id::text
from at_once
union all
select id::text
from through_gate;

-- name: retry_scheduled
-- Move scheduled tasks to ready before their time, or to their gate if they have one, where they
-- lose no place that they have already; return their ids.
with gone as (
    delete from rota.scheduled
    where id = any(:ids::uuid[])
        and concurrency_key is null
    returning *
),
at_once as (
    insert into rota.ready (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, schedule, slot
    )
    select
        id, kind, queue, tenant, priority, class,
        :now::bigint, :now::bigint + priority * :level::bigint, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, schedule, slot
    from gone
    returning id
),
through_gate as (
    update rota.scheduled
    set run_at = least(run_at, :now::bigint),
        rank = least(rank, :now::bigint + priority * :level::bigint)
    where id = any(:ids::uuid[])
        and concurrency_key is not null
    returning id
)
select id::text
from at_once
union all
select id::text
from through_gate;

-- name: states_of
-- Return the state of each task that there is, and whether it is a dead letter that was replayed or
-- discarded.
select id::text, 'scheduled' as state, false as dealt_with
from rota.scheduled
where id = any(:ids::uuid[])
union all
select id::text, case when session is null then 'ready' else 'running' end, false
from rota.ready
where id = any(:ids::uuid[])
union all
select id::text, 'failed', replayed_as is not null or discarded_at is not null
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select id::text, state, false
from rota.finished
where id = any(:ids::uuid[]);

-- name: get
-- Return tasks wherever they lie. Each part stands for itself too: `find` takes those it needs.
select
    id, kind, queue, tenant, priority, 'scheduled' as state, payload, created_at, run_at,
    null::bigint as started_at, null::bigint as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, null::uuid as session,
    null::jsonb as result, errors, null::text as reason,
    cancel_requested_at, progress_done, progress_total, checkpoint, null::text as error_group,
    replay_of, null::uuid as replayed_as, null::bigint as discarded_at,
    null::text as discard_reason,
    concurrency_key, max_concurrency, at_gate, schedule, slot
from rota.scheduled
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority,
    case when session is null then 'ready' else 'running' end as state,
    payload, created_at, run_at,
    started_at, null::bigint as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    null::jsonb as result, errors, null::text as reason,
    cancel_requested_at, progress_done, progress_total, checkpoint, null::text as error_group,
    replay_of, null::uuid as replayed_as, null::bigint as discarded_at,
    null::text as discard_reason,
    concurrency_key, max_concurrency, false as at_gate, schedule, slot
from rota.ready
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority, 'failed' as state, payload, created_at, run_at,
    started_at, failed_at as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    null::jsonb as result, errors, reason,
    null::bigint as cancel_requested_at, null::bigint as progress_done,
    null::bigint as progress_total, checkpoint, error_group,
    replay_of, replayed_as, discarded_at, discard_reason,
    concurrency_key, max_concurrency, false as at_gate, schedule, slot
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority, state, payload, created_at, run_at,
    started_at, finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    result, errors, reason,
    null::bigint as cancel_requested_at, progress_done, progress_total,
    null::jsonb as checkpoint, null::text as error_group,
    replay_of, null::uuid as replayed_as, null::bigint as discarded_at,
    null::text as discard_reason,
    concurrency_key, max_concurrency, false as at_gate, schedule, slot
from rota.finished
where id = any(:ids::uuid[]);

-- name: ahead
-- Count what stands before a ready task in its lane, up to a cap; none if it stands in no lane.
select count(*)
from (
    select
    from rota.ready as task
    cross join lateral (
        select
        from rota.ready as other
        where other.queue = task.queue
            and other.class = task.class
            and other.tenant = task.tenant
            and other.session is null
            and other.cancel_requested_at is null
            and (other.rank, other.id) < (task.rank, task.id)
        limit :cap
    ) as before
    where task.id = :id
        and (task.session is null) is true
        and task.cancel_requested_at is null
) as counted;

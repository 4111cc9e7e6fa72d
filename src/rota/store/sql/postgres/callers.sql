-- name: cancel_scheduled
-- Move scheduled tasks to finished, as cancelled; return their ids.
with gone as (
    delete from rota.scheduled
    where id = any(:ids::uuid[])
    returning *
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now::bigint,
    :reason::text
from gone
returning id::text;

-- name: cancel_ready
-- Move ready tasks that no session holds to finished, as cancelled; return their ids.
-- Written like this, "no session" does not lead to the index of the lanes, which has it too.
with gone as (
    delete from rota.ready
    where id = any(:ids::uuid[])
        and (session is null) is true
    returning *
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now::bigint,
    :reason::text
from gone
returning id::text;

-- name: retry_failed
-- Move dead letters to ready, their counters back at zero; return their ids.
with gone as (
    delete from rota.dead_letter
    where id = any(:ids::uuid[])
    returning *
)
insert into rota.ready (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors
)
select
    id, kind, queue, tenant, priority, class,
    :now::bigint, :now::bigint + priority * :level::bigint, created_at, fence, 0, 0, 0,
    payload, timeout, retry, expires_at, key, tags, headers, errors
from gone
returning id::text;

-- name: retry_scheduled
-- Move scheduled tasks to ready before their time; return their ids.
with gone as (
    delete from rota.scheduled
    where id = any(:ids::uuid[])
    returning *
)
insert into rota.ready (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors
)
select
    id, kind, queue, tenant, priority, class,
    :now::bigint, :now::bigint + priority * :level::bigint, created_at, fence,
    attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors
from gone
returning id::text;

-- name: states_of
-- Return the state of each task that there is.
select id::text, 'scheduled' as state
from rota.scheduled
where id = any(:ids::uuid[])
union all
select id::text, case when session is null then 'ready' else 'running' end
from rota.ready
where id = any(:ids::uuid[])
union all
select id::text, 'failed'
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select id::text, state
from rota.finished
where id = any(:ids::uuid[]);

-- name: get
-- Return tasks wherever they lie. Each part stands for itself too: `find` takes those it needs.
select
    id, kind, queue, tenant, priority, 'scheduled' as state, payload, created_at, run_at,
    null::bigint as started_at, null::bigint as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, null::uuid as session,
    null::jsonb as result, errors, null::text as reason
from rota.scheduled
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority,
    case when session is null then 'ready' else 'running' end as state,
    payload, created_at, run_at,
    started_at, null::bigint as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    null::jsonb as result, errors, null::text as reason
from rota.ready
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority, 'failed' as state, payload, created_at, run_at,
    started_at, failed_at as finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    null::jsonb as result, errors, reason
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select
    id, kind, queue, tenant, priority, state, payload, created_at, run_at,
    started_at, finished_at, expires_at, timeout, retry,
    key, tags, headers, attempt, fence, lost, snoozes, session,
    result, errors, reason
from rota.finished
where id = any(:ids::uuid[]);

-- name: cancel_scheduled
-- Copy scheduled tasks to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, :reason
from scheduled
where id in (select value from json_each(:ids));

-- name: cancel_ready
-- Copy ready tasks to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, :reason
from ready
where id in (select value from json_each(:ids));

-- name: retry_failed
-- Copy dead letters to ready, their counters back at zero.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors
)
select
    id, kind, queue, tenant, priority, :now, :now + priority * :level, created_at, fence, 0, 0, 0,
    payload, timeout, retry, expires_at, key, tags, headers, errors
from dead_letter
where id in (select value from json_each(:ids));

-- name: retry_scheduled
-- Copy scheduled tasks to ready before their time.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors
)
select
    id, kind, queue, tenant, priority, :now, :now + priority * :level, created_at, fence,
    attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors
from scheduled
where id in (select value from json_each(:ids));

-- name: states_of
-- Return the state of each task that there is.
select id, state
from task
where id in (select value from json_each(:ids));

-- name: get
-- Return tasks wherever they lie, each as JSON.
select
    id,
    json_object(
        'id', id,
        'kind', kind,
        'queue', queue,
        'tenant', tenant,
        'priority', priority,
        'state', state,
        'created_at', created_at,
        'run_at', run_at,
        'started_at', started_at,
        'finished_at', finished_at,
        'expires_at', expires_at,
        'timeout', timeout,
        'key', key,
        'attempt', attempt,
        'fence', fence,
        'lost', lost,
        'snoozes', snoozes,
        'session', session,
        'reason', reason,
        'payload', json(payload),
        'retry', json(retry),
        'tags', json(coalesce(tags, '[]')),
        'headers', json(coalesce(headers, '{}')),
        'result', json(result),
        'errors', json(coalesce(errors, '[]'))
    )
from task
where id in (select value from json_each(:ids));

-- name: leave_dead_letter
-- Remove tasks that have been copied elsewhere from the dead letters.
delete from dead_letter
where id in (select value from json_each(:ids));

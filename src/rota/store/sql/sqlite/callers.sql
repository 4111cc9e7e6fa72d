-- name: cancel_scheduled
-- Copy scheduled tasks to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, :reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from scheduled
where id in (select value from json_each(:ids));

-- name: cancel_ready
-- Copy ready tasks to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, :reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from ready
where id in (select value from json_each(:ids));

-- name: ask_to_cancel
-- Mark running tasks as asked to stop; the first request and the earliest deadline count.
update ready
set cancel_requested_at = coalesce(cancel_requested_at, :now),
    cancel_deadline = coalesce(min(cancel_deadline, :deadline), cancel_deadline, :deadline)
where id in (select value from json_each(:ids))
    and session is not null;

-- name: retry_failed
-- Copy dead letters without a gate to ready, their counters back at zero, without an expiry that
-- has passed.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors, checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, :now, :now + priority * :level, created_at, fence, 0, 0, 0,
    payload, timeout, retry, iif(expires_at > :now, expires_at, null), key, tags, headers, errors,
    checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from dead_letter
where id in (select value from json_each(:ids))
    and concurrency_key is null;

-- name: retry_scheduled
-- Copy scheduled tasks without a gate to ready before their time.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, :now, :now + priority * :level, created_at, fence,
    attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from scheduled
where id in (select value from json_each(:ids))
    and concurrency_key is null;

-- name: states_of
-- Return the state of each task that there is, and whether it is a dead letter that was replayed or
-- discarded.
select id, state, replayed_as is not null or discarded_at is not null
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
        'cancel_requested_at', cancel_requested_at,
        'payload', json(payload),
        'retry', json(retry),
        'tags', json(coalesce(tags, '[]')),
        'headers', json(coalesce(headers, '{}')),
        'result', json(result),
        'errors', json(coalesce(errors, '[]')),
        'progress', json(
            iif(
                progress_done is null,
                null,
                json_object('done', progress_done, 'total', progress_total)
            )
        ),
        'checkpoint', json(checkpoint),
        'group', error_group,
        'replay_of', replay_of,
        'replayed_as', replayed_as,
        'discarded_at', discarded_at,
        'discard_reason', discard_reason,
        'concurrency_key', concurrency_key,
        'max_concurrency', max_concurrency,
        'at_gate', json(iif(at_gate, 'true', 'false')),
        'schedule', schedule,
        'slot', slot
    )
from task
where id in (select value from json_each(:ids));

-- name: ahead
-- Count what stands before a ready task in its lane, up to a cap; none if it stands in no lane.
-- `+` keeps the affinity of a column out of the comparison, as in `pick`.
select count(*)
from (
    select 1
    from ready as task
    cross join ready as other
        on other.queue = task.queue
        and other.class = task.class
        and other.tenant = task.tenant
        and other.session is null
        and other.cancel_requested_at is null
        and (other.rank, other.id) < (task.rank, +task.id)
    where task.id = :id
        and task.session is null
        and task.cancel_requested_at is null
    limit :cap
);

-- name: leave_dead_letter
-- Remove tasks that have been copied elsewhere from the dead letters.
delete from dead_letter
where id in (select value from json_each(:ids));

-- name: retry_failed_gated
-- Copy dead letters with a gate to scheduled, likewise.
insert into scheduled (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors, checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, :now, :now + priority * :level, created_at, fence, 0, 0, 0,
    payload, timeout, retry, iif(expires_at > :now, expires_at, null), key, tags, headers, errors,
    checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from dead_letter
where id in (select value from json_each(:ids))
    and concurrency_key is not null;

-- name: bring_forward
-- Make scheduled tasks with a gate due, where they lose no place that they have already; return
-- their ids.
update scheduled
set run_at = min(run_at, :now),
    rank = min(rank, :now + priority * :level)
where id in (select value from json_each(:ids))
    and concurrency_key is not null
returning id;

-- name: to_completed
-- Copy each task that the session holds under its fence to finished, as completed.
-- `+` keeps the index on session out of it: each report is one descent by id.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, result, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    task.id, task.kind, task.queue, task.tenant, task.priority,
    task.run_at, task.rank, task.created_at, task.fence,
    task.attempt, task.lost, task.snoozes,
    task.payload, task.timeout, task.retry, task.expires_at, task.key, task.tags, task.headers,
    task.errors,
    'completed', task.started_at, :now, task.session, report.value ->> 'result',
    task.progress_done, task.progress_total, task.replay_of,
    task.concurrency_key, task.max_concurrency, task.schedule, task.slot
from jsonb_each(:reports) as report
cross join ready as task
    on task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: to_cancelled
-- Copy each task that the session holds under its fence to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    task.id, task.kind, task.queue, task.tenant, task.priority,
    task.run_at, task.rank, task.created_at, task.fence,
    task.attempt, task.lost, task.snoozes,
    task.payload, task.timeout, task.retry, task.expires_at, task.key, task.tags, task.headers,
    task.errors,
    'cancelled', task.started_at, :now, task.session, report.value ->> 'reason',
    task.progress_done, task.progress_total, task.replay_of,
    task.concurrency_key, task.max_concurrency, task.schedule, task.slot
from jsonb_each(:reports) as report
cross join ready as task
    on task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: to_scheduled
-- Copy each task that the session holds under its fence to scheduled.
insert into scheduled (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    task.id, task.kind, task.queue, task.tenant, task.priority,
    report.value ->> 'run_at', report.value ->> 'rank', task.created_at, task.fence,
    report.value ->> 'attempt', report.value ->> 'lost', report.value ->> 'snoozes',
    task.payload, task.timeout, task.retry, task.expires_at, task.key, task.tags, task.headers,
    task.errors,
    task.cancel_requested_at, task.cancel_deadline, task.checkpoint,
    task.progress_done, task.progress_total, task.replay_of,
    task.concurrency_key, task.max_concurrency, task.schedule, task.slot
from jsonb_each(:reports) as report
cross join ready as task
    on task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: to_ready
-- Put each task that the session holds under its fence back into its lane.
update ready as task
set session = null,
    started_at = null,
    run_at = report.value ->> 'run_at',
    rank = report.value ->> 'rank',
    attempt = report.value ->> 'attempt',
    lost = report.value ->> 'lost',
    snoozes = report.value ->> 'snoozes'
from jsonb_each(:reports) as report
where task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: to_failed
-- Copy each task that the session holds under its fence to the dead letters.
insert into dead_letter (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    started_at, failed_at, session, reason,
    checkpoint, error_group, error_type, error_shape, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    task.id, task.kind, task.queue, task.tenant, task.priority,
    task.run_at, task.rank, task.created_at, task.fence,
    report.value ->> 'attempt', report.value ->> 'lost', report.value ->> 'snoozes',
    task.payload, task.timeout, task.retry, task.expires_at, task.key, task.tags, task.headers,
    task.errors,
    task.started_at, :now, task.session, report.value ->> 'reason',
    task.checkpoint, report.value ->> 'group', report.value ->> 'error_type',
    report.value ->> 'error_shape', task.replay_of,
    task.concurrency_key, task.max_concurrency, task.schedule, task.slot
from jsonb_each(:reports) as report
cross join ready as task
    on task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: to_nothing
-- Remove each task that the session holds under its fence: only its count is kept.
delete from ready
where rowid in (
    select task.rowid
    from jsonb_each(:reports) as report
    cross join ready as task
        on task.id = report.value ->> 'id'
        and task.fence = report.value ->> 'fence'
        and +task.session = :session
);

-- name: add_errors
-- Add each report's error to a task that the session holds under its fence, as the newest; of
-- more than `kept` the oldest but the very first goes.
update ready as task
set errors = json_insert(
    case
        when task.errors is null then '[]'
        when json_array_length(task.errors) < :kept then task.errors
        else json_remove(task.errors, '$[1]')
    end,
    '$[#]',
    json(report.value ->> 'error')
)
from jsonb_each(:reports) as report
where task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session
    and report.value ->> 'error' is not null;

-- name: holding
-- Return the id and the fence of the reports that still count, as JSON.
select json_group_array(json_array(task.id, task.fence))
from jsonb_each(:reports) as report
cross join ready as task
    on task.id = report.value ->> 'id'
    and task.fence = report.value ->> 'fence'
    and +task.session = :session;

-- name: leave_ready
-- Remove tasks that have been copied elsewhere from ready.
delete from ready
where id in (select value from json_each(:ids));

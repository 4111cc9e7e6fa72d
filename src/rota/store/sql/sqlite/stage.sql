-- name: stage
-- Copy tasks that are due from scheduled to ready.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of
from scheduled
where id in (select value from json_each(:ids));

-- name: next_due
-- Return when the next task is due.
select min(run_at)
from scheduled;

-- name: due_ids
-- Return the ids of tasks that are due, the earliest first, as JSON.
select json_group_array(id)
from (
    select id
    from scheduled
    where run_at <= :now
    order by run_at
    limit :limit
);

-- name: leave_scheduled
-- Remove tasks that have been copied elsewhere from scheduled.
delete from scheduled
where id in (select value from json_each(:ids));

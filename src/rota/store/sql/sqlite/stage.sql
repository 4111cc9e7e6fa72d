-- name: stage
-- Copy tasks that are due, or that their gate lets in, from scheduled to ready.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from scheduled
where id in (select value from json_each(:ids));

-- name: next_due
-- Return when the next task is due.
select min(run_at)
from scheduled
where not at_gate;

-- name: due_ids
-- Return the tasks that are due, the earliest first, each with its gate, as JSON.
select json_group_array(json_array(id, concurrency_key))
from (
    select id, concurrency_key
    from scheduled
    where run_at <= :now
        and not at_gate
    order by run_at
    limit :limit
);

-- name: leave_scheduled
-- Remove tasks that have been copied elsewhere from scheduled.
delete from scheduled
where id in (select value from json_each(:ids));

-- name: come_to_gate
-- Have tasks that are due wait at their gates.
update scheduled
set at_gate = 1
where id in (select value from json_each(:ids));

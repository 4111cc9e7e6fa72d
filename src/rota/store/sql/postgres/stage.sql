-- name: stage
-- Move tasks that are due from scheduled to ready, the earliest first.
with gone as (
    delete from rota.scheduled
    where ctid = any(array(
        select ctid
        from rota.scheduled
        where run_at <= :now
        order by run_at
        limit :limit
        for update skip locked
    ))
    returning *
)
insert into rota.ready (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of
from gone;

-- name: next_due
-- Return when the next task is due.
select min(run_at)
from rota.scheduled;

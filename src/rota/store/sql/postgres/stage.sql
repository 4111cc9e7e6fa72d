-- name: stage
-- Move tasks that are due from scheduled to ready, or to their gate if they have one, the earliest
-- first; return how many are ready and at which gates the others have come.
with due as materialized (
    select ctid as place, concurrency_key as gate
    from rota.scheduled
    where run_at <= :now
        and not at_gate
    order by run_at
    limit :limit
    for update skip locked
),
gone as (
    delete from rota.scheduled
    where ctid = any(array(select place from due where gate is null))
    returning *
),
moved as (
    insert into rota.ready (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, schedule, slot
    )
    select
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, schedule, slot
    from gone
    returning 1
),
arrived as (
    update rota.scheduled
    set at_gate = true
    where ctid = any(array(select place from due where gate is not null))
    returning concurrency_key
)
select (select count(*) from moved), array(select distinct concurrency_key from arrived);

-- name: next_due
-- Return when the next task is due.
select min(run_at)
from rota.scheduled
where not at_gate;

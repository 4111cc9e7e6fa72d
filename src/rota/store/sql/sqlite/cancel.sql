-- name: asked_cancels
-- Return what a session holds and is asked to stop, as JSON.
select json_group_array(json_object('id', id, 'fence', fence, 'deadline', cancel_deadline))
from (
    select id, fence, cancel_deadline
    from ready
    where session = :session
        and cancel_requested_at is not null
    order by id
);

-- name: revoke_overdue
-- Copy running tasks that did not stop by their deadline to finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', started_at, :now, session, :reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from ready
where id in (select value from json_each(:ids));

-- name: expire_ready
-- Copy ready tasks whose time is over, or that came back after they were asked to stop, to
-- finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, iif(cancel_requested_at is null, :expired, :asked),
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from ready
where id in (select value from json_each(:ids));

-- name: expire_scheduled
-- Copy scheduled tasks whose time is over, or that came back after they were asked to stop, to
-- finished, as cancelled.
insert into finished (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now, iif(cancel_requested_at is null, :expired, :asked),
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from scheduled
where id in (select value from json_each(:ids));

-- name: overdue_ids
-- Return the ids of running tasks whose deadline to stop has passed, the longest overdue first, as
-- JSON.
select json_group_array(id)
from (
    select id
    from ready
    where cancel_deadline <= :now
        and session is not null
    order by cancel_deadline, id
    limit :limit
);

-- name: expired_ready_ids
-- Return the ids of ready tasks whose time is over or that were asked to stop, as JSON.
select json_group_array(id)
from (
    select *
    from (
        select id
        from ready
        where session is null
            and cancel_requested_at <= :now
        limit :limit
    )
    union
    select *
    from (
        select id
        from ready
        where session is null
            and expires_at <= :now
        order by expires_at
        limit :limit
    )
    limit :limit
);

-- name: expired_scheduled_ids
-- Return the ids of scheduled tasks whose time is over or that were asked to stop, as JSON.
select json_group_array(id)
from (
    select *
    from (
        select id
        from scheduled
        where cancel_requested_at <= :now
        limit :limit
    )
    union
    select *
    from (
        select id
        from scheduled
        where expires_at <= :now
        order by expires_at
        limit :limit
    )
    limit :limit
);

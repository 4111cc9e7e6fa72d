-- name: asked_cancels
-- Return what a session holds and is asked to stop.
select id::text, fence, cancel_deadline
from rota.ready
where session = :session
    and cancel_requested_at is not null
order by ready.id;

-- name: revoke_overdue
-- Move running tasks that did not stop by their deadline to finished, as cancelled, the longest
-- overdue first, and count them; return their ids.
with gone as (
    delete from rota.ready
    where ctid = any(array(
        select ctid
        from rota.ready
        where cancel_deadline <= :now
            and session is not null
        order by cancel_deadline
        limit :limit
        for update skip locked
    ))
    returning *
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'cancelled', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', started_at, :now::bigint, session, :reason::text,
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text;

-- name: expire_ready
-- Move ready tasks whose time is over, or that came back after they were asked to stop, to
-- finished, as cancelled, and count them; return their ids.
with asked as materialized (
    select ctid as place
    from rota.ready
    where session is null
        and cancel_requested_at is not null
    limit :limit
    for update skip locked
),
late as materialized (
    select ctid as place
    from rota.ready
    where session is null
        and cancel_requested_at is null
        and expires_at <= :now
    order by expires_at
    limit greatest(:limit - (select count(*) from asked), 0)
    for update skip locked
),
gone as (
    delete from rota.ready
    where ctid = any(array(
        select place
        from asked
        union all
        select place
        from late
    ))
    returning *
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'cancelled', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now::bigint,
    case when cancel_requested_at is null then :expired::text else :asked::text end,
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text;

-- name: expire_scheduled
-- Move scheduled tasks whose time is over, or that came back after they were asked to stop, to
-- finished, as cancelled, and count them; return their ids.
with asked as materialized (
    select ctid as place
    from rota.scheduled
    where cancel_requested_at is not null
    limit :limit
    for update skip locked
),
late as materialized (
    select ctid as place
    from rota.scheduled
    where cancel_requested_at is null
        and expires_at <= :now
    order by expires_at
    limit greatest(:limit - (select count(*) from asked), 0)
    for update skip locked
),
gone as (
    delete from rota.scheduled
    where ctid = any(array(
        select place
        from asked
        union all
        select place
        from late
    ))
    returning *
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'cancelled', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, finished_at, reason, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'cancelled', :now::bigint,
    case when cancel_requested_at is null then :expired::text else :asked::text end,
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text;

-- name: anything_overdue
-- Say whether a running task did not stop by its deadline.
select exists (
    select
    from rota.ready
    where cancel_deadline <= :now
        and session is not null
);

-- name: anything_over
-- Say whether a waiting task is to be cancelled, or anybody asks for that in a transaction.
select
    exists (select from rota.cancel_request)
    or exists (
        select
        from rota.ready
        where session is null
            and cancel_requested_at is not null
    )
    or exists (
        select
        from rota.ready
        where session is null
            and expires_at <= :now
    )
    or exists (
        select
        from rota.scheduled
        where cancel_requested_at is not null
    )
    or exists (
        select
        from rota.scheduled
        where expires_at <= :now
    );

-- name: apply_requests
-- Mark the tasks that callers asked to stop in transactions of their own, wherever they are by now.
-- One that somebody has locked is left for the next time; a request whose task is over is dropped.
with request as materialized (
    select ctid as place, task_id, requested_at, deadline
    from rota.cancel_request
    limit :limit
    for update skip locked
),
wish as materialized (
    select task_id, min(requested_at) as requested_at, min(deadline) as deadline
    from request
    group by task_id
),
free_ready as materialized (
    select id
    from rota.ready
    where id = any(array(select task_id from wish))
    for no key update skip locked
),
free_scheduled as materialized (
    select id
    from rota.scheduled
    where id = any(array(select task_id from wish))
    for no key update skip locked
),
marked_ready as (
    update rota.ready
    set cancel_requested_at = coalesce(cancel_requested_at, wish.requested_at),
        cancel_deadline = least(cancel_deadline, wish.deadline)
    from wish
    where ready.id = wish.task_id
        and ready.id = any(array(select id from free_ready))
    returning ready.id
),
marked_scheduled as (
    update rota.scheduled
    set cancel_requested_at = coalesce(cancel_requested_at, wish.requested_at),
        cancel_deadline = least(cancel_deadline, wish.deadline)
    from wish
    where scheduled.id = wish.task_id
        and scheduled.id = any(array(select id from free_scheduled))
    returning scheduled.id
)
delete from rota.cancel_request
using request
where cancel_request.ctid = request.place
    and (
        request.task_id in (
            select id
            from marked_ready
            union all
            select id
            from marked_scheduled
        )
        or not exists (select from rota.ready where id = request.task_id)
        and not exists (select from rota.scheduled where id = request.task_id)
    );

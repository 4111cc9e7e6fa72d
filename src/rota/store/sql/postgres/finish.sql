-- name: to_completed
-- Move each task that the session holds under its fence to finished, as completed, and count them.
-- Id and session are compared, here and below, in ways that leave one plan: for each report one
-- descent by id. A plan made while the table was empty would else read all of it once it is full.
with report as materialized (
    select id, fence, result
    from unnest(:ids::uuid[], :fences::bigint[], :results::jsonb[]) as report (id, fence, result)
),
gone as (
    delete from rota.ready
    using report
    where ready.id = any(array[report.id])
        and ready.fence = report.fence
        and ready.session is not distinct from :session::uuid
    returning ready.*, report.result
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'completed', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, result, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'completed', started_at, :now::bigint, session, result,
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text, fence;

-- name: to_cancelled
-- Move each task that the session holds under its fence to finished, as cancelled, and count them.
with report as materialized (
    select id, fence, error, reason
    from unnest(:ids::uuid[], :fences::bigint[], :errors::jsonb[], :reasons::text[])
        as report (id, fence, error, reason)
),
gone as (
    delete from rota.ready
    using report
    where ready.id = any(array[report.id])
        and ready.fence = report.fence
        and ready.session is not distinct from :session::uuid
    returning ready.*, report.error, report.reason
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
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
    rota.add_error(errors, error, :kept),
    'cancelled', started_at, :now::bigint, session, reason,
    progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text, fence;

-- name: to_scheduled
-- Move each task that the session holds under its fence to scheduled.
with report as materialized (
    select id, fence, run_at, rank, attempt, lost, snoozes, error
    from unnest(
        :ids::uuid[], :fences::bigint[], :run_ats::bigint[], :ranks::bigint[],
        :attempts::int[], :losts::int[], :snoozes::int[], :errors::jsonb[]
    ) as report (id, fence, run_at, rank, attempt, lost, snoozes, error)
),
gone as (
    delete from rota.ready
    using report
    where ready.id = any(array[report.id])
        and ready.fence = report.fence
        and ready.session is not distinct from :session::uuid
    returning
        ready.id, ready.kind, ready.queue, ready.tenant, ready.priority, ready.class,
        report.run_at, report.rank, ready.created_at, ready.fence,
        report.attempt, report.lost, report.snoozes,
        ready.payload, ready.timeout, ready.retry, ready.expires_at, ready.key, ready.tags,
        ready.headers, rota.add_error(ready.errors, report.error, :kept) as errors,
        ready.cancel_requested_at, ready.cancel_deadline, ready.checkpoint,
        ready.progress_done, ready.progress_total, ready.replay_of,
        ready.concurrency_key, ready.max_concurrency, ready.schedule, ready.slot
)
insert into rota.scheduled (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text, fence;

-- name: to_ready
-- Put each task that the session holds under its fence back into its lane.
with report as materialized (
    select id, fence, run_at, rank, attempt, lost, snoozes, error
    from unnest(
        :ids::uuid[], :fences::bigint[], :run_ats::bigint[], :ranks::bigint[],
        :attempts::int[], :losts::int[], :snoozes::int[], :errors::jsonb[]
    ) as report (id, fence, run_at, rank, attempt, lost, snoozes, error)
)
update rota.ready
set session = null,
    started_at = null,
    run_at = report.run_at,
    rank = report.rank,
    attempt = report.attempt,
    lost = report.lost,
    snoozes = report.snoozes,
    errors = rota.add_error(ready.errors, report.error, :kept)
from report
where ready.id = any(array[report.id])
    and ready.fence = report.fence
    and ready.session is not distinct from :session::uuid
returning ready.id::text, ready.fence;

-- name: to_failed
-- Move each task that the session holds under its fence to the dead letters, and count them.
with report as materialized (
    select id, fence, attempt, lost, snoozes, error, reason, alike, error_type, error_shape
    from unnest(
        :ids::uuid[], :fences::bigint[], :attempts::int[], :losts::int[], :snoozes::int[],
        :errors::jsonb[], :reasons::text[], :groups::text[], :error_types::text[],
        :error_shapes::text[]
    ) as report (
        id, fence, attempt, lost, snoozes, error, reason, alike, error_type, error_shape
    )
),
gone as (
    delete from rota.ready
    using report
    where ready.id = any(array[report.id])
        and ready.fence = report.fence
        and ready.session is not distinct from :session::uuid
    returning
        ready.id, ready.kind, ready.queue, ready.tenant, ready.priority, ready.class,
        ready.run_at, ready.rank, ready.created_at, ready.fence,
        report.attempt, report.lost, report.snoozes,
        ready.payload, ready.timeout, ready.retry, ready.expires_at, ready.key, ready.tags,
        ready.headers, rota.add_error(ready.errors, report.error, :kept) as errors,
        ready.started_at, ready.session, report.reason,
        ready.checkpoint, report.alike, report.error_type, report.error_shape, ready.replay_of,
        ready.concurrency_key, ready.max_concurrency, ready.schedule, ready.slot
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'failed', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
insert into rota.dead_letter (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    started_at, failed_at, session, reason,
    checkpoint, error_group, error_type, error_shape, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    started_at, :now::bigint, session, reason,
    checkpoint, alike, error_type, error_shape, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from gone
returning id::text, fence;

-- name: to_nothing
-- Remove each task that the session holds under its fence: only its count is kept.
with report as materialized (
    select id, fence
    from unnest(:ids::uuid[], :fences::bigint[]) as report (id, fence)
),
gone as (
    delete from rota.ready
    using report
    where ready.id = any(array[report.id])
        and ready.fence = report.fence
        and ready.session is not distinct from :session::uuid
    returning ready.id, ready.fence, ready.queue, ready.kind
),
counted as (
    insert into rota.tally as tally (minute, queue, kind, state, shard, count)
    select :minute::bigint, queue, kind, 'completed', rota.shard(), count(*)
    from gone
    group by queue, kind
    on conflict (minute, queue, kind, state, shard) do update
    set count = tally.count + excluded.count
)
select id::text, fence
from gone;

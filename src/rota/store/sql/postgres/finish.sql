-- name: to_completed
-- Move each task that the session holds under its fence to finished, as completed.
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
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, result
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    'completed', started_at, :now::bigint, session, result
from gone
returning id::text, fence;

-- name: to_cancelled
-- Move each task that the session holds under its fence to finished, as cancelled.
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
)
insert into rota.finished (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    state, started_at, finished_at, session, reason
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
    rota.add_error(errors, error, :kept),
    'cancelled', started_at, :now::bigint, session, reason
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
        ready.headers, rota.add_error(ready.errors, report.error, :kept) as errors
)
insert into rota.scheduled (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors
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
-- Move each task that the session holds under its fence to the dead letters.
with report as materialized (
    select id, fence, attempt, lost, snoozes, error, reason
    from unnest(
        :ids::uuid[], :fences::bigint[], :attempts::int[], :losts::int[], :snoozes::int[],
        :errors::jsonb[], :reasons::text[]
    ) as report (id, fence, attempt, lost, snoozes, error, reason)
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
        ready.started_at, ready.session, report.reason
)
insert into rota.dead_letter (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    started_at, failed_at, session, reason
)
select
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers, errors,
    started_at, :now::bigint, session, reason
from gone
returning id::text, fence;

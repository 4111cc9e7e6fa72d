-- A task lies in exactly one of scheduled, ready, dead_letter and finished, and its state is where
-- it is. Instants and durations are whole microseconds; an id is a UUID of version 7 as text.

create table migration (
    number integer not null primary key,
    name text not null,
    applied_at integer not null
) strict;

-- Due later.
create table scheduled (
    id text not null primary key,
    kind text not null,
    queue text not null,
    tenant text not null,
    priority integer not null check (priority between 0 and 10),
    run_at integer not null,
    rank integer not null,
    created_at integer not null,
    fence integer not null default 0,
    attempt integer not null default 0,
    lost integer not null default 0,
    snoozes integer not null default 0,
    payload text not null,
    timeout integer,
    retry text,
    expires_at integer,
    key text,
    tags text,
    headers text,
    errors text
) strict;

create index scheduled_due on scheduled (run_at);

-- Due now: ready while session is null, running while it is set.
create table ready (
    id text not null primary key,
    kind text not null,
    queue text not null,
    tenant text not null,
    priority integer not null check (priority between 0 and 10),
    run_at integer not null,
    rank integer not null,
    created_at integer not null,
    fence integer not null default 0,
    attempt integer not null default 0,
    lost integer not null default 0,
    snoozes integer not null default 0,
    payload text not null,
    timeout integer,
    retry text,
    expires_at integer,
    key text,
    tags text,
    headers text,
    errors text,
    class integer not null generated always as (
        case
            when priority = 0 then 0
            when priority <= 3 then 1
            when priority <= 6 then 2
            else 3
        end
    ) virtual,
    session text,
    started_at integer
) strict;

create index ready_lane on ready (queue, class, tenant, rank, id) where session is null;

create index ready_held on ready (session) where session is not null;

-- Given up; may be retried by hand.
create table dead_letter (
    id text not null primary key,
    kind text not null,
    queue text not null,
    tenant text not null,
    priority integer not null check (priority between 0 and 10),
    run_at integer not null,
    rank integer not null,
    created_at integer not null,
    fence integer not null default 0,
    attempt integer not null default 0,
    lost integer not null default 0,
    snoozes integer not null default 0,
    payload text not null,
    timeout integer,
    retry text,
    expires_at integer,
    key text,
    tags text,
    headers text,
    errors text,
    started_at integer,
    failed_at integer not null,
    session text,
    reason text
) strict;

-- Over: completed or cancelled. Only added to, and dropped by age.
create table finished (
    id text not null primary key,
    kind text not null,
    queue text not null,
    tenant text not null,
    priority integer not null check (priority between 0 and 10),
    run_at integer not null,
    rank integer not null,
    created_at integer not null,
    fence integer not null default 0,
    attempt integer not null default 0,
    lost integer not null default 0,
    snoozes integer not null default 0,
    payload text not null,
    timeout integer,
    retry text,
    expires_at integer,
    key text,
    tags text,
    headers text,
    errors text,
    state text not null check (state in ('completed', 'cancelled')),
    started_at integer,
    finished_at integer not null,
    session text,
    result text,
    reason text
) strict;

create index finished_age on finished (finished_at);

-- Which task holds an idempotency key, and until when at least.
create table task_key (
    kind text not null,
    tenant text not null,
    key text not null,
    task_id text not null,
    expires_at integer not null,
    primary key (kind, tenant, key)
) strict, without rowid;

create index task_key_age on task_key (expires_at);

-- Worker processes and their leases; closed_at is set when one is over.
create table session (
    id text not null primary key,
    name text not null,
    host text not null,
    pid integer not null,
    version text not null,
    queues text not null,
    kinds text not null,
    slots integer not null,
    started_at integer not null,
    lease_until integer not null,
    closed_at integer
) strict;

-- Every task wherever it lies, for reading.
create view task as
select
    id, kind, queue, tenant, priority, 'scheduled' as state, run_at, rank, created_at,
    null as started_at, null as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, null as session, null as result, null as reason
from scheduled
union all
select
    id, kind, queue, tenant, priority,
    case when session is null then 'ready' else 'running' end as state, run_at, rank, created_at,
    started_at, null as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, null as reason
from ready
union all
select
    id, kind, queue, tenant, priority, 'failed' as state, run_at, rank, created_at,
    started_at, failed_at as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, reason
from dead_letter
union all
select
    id, kind, queue, tenant, priority, state, run_at, rank, created_at,
    started_at, finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, result, reason
from finished;

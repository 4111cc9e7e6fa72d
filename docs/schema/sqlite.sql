CREATE TABLE dead_letter (
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

CREATE TABLE finished (
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

CREATE INDEX finished_age on finished (finished_at);

CREATE TABLE migration (
    number integer not null primary key,
    name text not null,
    applied_at integer not null
) strict;

CREATE TABLE ready (
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

CREATE INDEX ready_held on ready (session) where session is not null;

CREATE INDEX ready_lane on ready (queue, class, tenant, rank, id) where session is null;

CREATE TABLE scheduled (
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

CREATE INDEX scheduled_due on scheduled (run_at);

CREATE TABLE session (
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

CREATE VIEW task as
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

CREATE TABLE task_key (
    kind text not null,
    tenant text not null,
    key text not null,
    task_id text not null,
    expires_at integer not null,
    primary key (kind, tenant, key)
) strict, without rowid;

CREATE INDEX task_key_age on task_key (expires_at);

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
, checkpoint text, error_group text, error_type text, error_shape text, replay_of text, replayed_as text, replayed_at integer, discarded_at integer, discard_reason text) strict;

CREATE INDEX dead_letter_age on dead_letter (failed_at) where discarded_at is null;

CREATE INDEX dead_letter_discarded on dead_letter (discarded_at) where discarded_at is not null;

CREATE INDEX dead_letter_group on dead_letter (error_group, id);

CREATE INDEX dead_letter_open on dead_letter (
    error_group, kind, failed_at, id, replayed_as, discarded_at
)
where replayed_as is null and discarded_at is null;

CREATE TABLE effect (
    key text not null primary key,
    at integer not null
) strict, without rowid;

CREATE INDEX effect_age on effect (at);

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
, progress_done integer, progress_total integer, replay_of text) strict;

CREATE INDEX finished_age on finished (state, queue, finished_at);

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
, cancel_requested_at integer, cancel_deadline integer, checkpoint text, progress_done integer, progress_total integer, replay_of text) strict;

CREATE INDEX ready_asked on ready (session) where cancel_requested_at is not null;

CREATE INDEX ready_expiry on ready (expires_at) where expires_at is not null and session is null;

CREATE INDEX ready_held on ready (session) where session is not null;

CREATE INDEX ready_lane on ready (queue, class, tenant, rank, id) where session is null;

CREATE INDEX ready_overdue on ready (cancel_deadline) where cancel_deadline is not null;

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
, cancel_requested_at integer, cancel_deadline integer, checkpoint text, progress_done integer, progress_total integer, replay_of text) strict;

CREATE INDEX scheduled_asked on scheduled (cancel_requested_at)
where cancel_requested_at is not null;

CREATE INDEX scheduled_due on scheduled (run_at);

CREATE INDEX scheduled_expiry on scheduled (expires_at) where expires_at is not null;

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
, process text not null default '') strict;

CREATE TABLE tally (
    minute integer not null,
    queue text not null,
    kind text not null,
    state text not null check (state in ('completed', 'cancelled', 'failed')),
    count integer not null,
    primary key (minute, queue, kind, state)
) strict, without rowid;

CREATE VIEW task as
select
    id, kind, queue, tenant, priority, 'scheduled' as state, run_at, rank, created_at,
    null as started_at, null as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, null as session, null as result, null as reason,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
    null as error_group, replay_of, null as replayed_as, null as discarded_at,
    null as discard_reason
from scheduled
union all
select
    id, kind, queue, tenant, priority,
    case when session is null then 'ready' else 'running' end as state, run_at, rank, created_at,
    started_at, null as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, null as reason,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
    null as error_group, replay_of, null as replayed_as, null as discarded_at,
    null as discard_reason
from ready
union all
select
    id, kind, queue, tenant, priority, 'failed' as state, run_at, rank, created_at,
    started_at, failed_at as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, reason,
    null as cancel_requested_at, null as cancel_deadline, checkpoint,
    null as progress_done, null as progress_total,
    error_group, replay_of, replayed_as, discarded_at, discard_reason
from dead_letter
union all
select
    id, kind, queue, tenant, priority, state, run_at, rank, created_at,
    started_at, finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, result, reason,
    null as cancel_requested_at, null as cancel_deadline, null as checkpoint,
    progress_done, progress_total,
    null as error_group, replay_of, null as replayed_as, null as discarded_at,
    null as discard_reason
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

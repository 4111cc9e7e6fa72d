-- The core: tasks, keys and sessions. A task lies in exactly one of scheduled, ready, dead_letter
-- and finished, and its state is where it is. Instants and durations are whole microseconds.
--
-- Names are compared byte by byte (collate "C"): lanes then have one order whatever the locale of
-- the database is, and a new version of the system's collations cannot damage an index.
-- The class follows from the priority (0 | 1-3 | 4-6 | 7-10) and is written along with it. It is no
-- generated column, because PostgreSQL reads the expression of one anew for each row of an update:
-- a hand-out took 13 µs instead of 8.

create schema if not exists rota;

create table rota.migration (
    number int primary key,
    name text not null,
    applied_at bigint not null
);

create table rota.session (
    id uuid primary key,
    name text not null,
    host text not null,
    pid int not null,
    version text not null,
    queues text[] not null,
    kinds text[] not null,
    slots int not null,
    started_at bigint not null,
    lease_until bigint not null,
    closed_at bigint
);

create table rota.scheduled (
    id uuid primary key,
    kind text collate "C" not null,
    queue text collate "C" not null,
    tenant text collate "C" not null,
    priority smallint not null,
    class smallint not null,
    run_at bigint not null,
    rank bigint not null,
    created_at bigint not null,
    fence bigint not null default 0,
    attempt int not null default 0,
    lost int not null default 0,
    snoozes int not null default 0,
    payload jsonb not null,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text collate "C",
    tags text[],
    headers jsonb,
    errors jsonb
)
with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

create index scheduled_due on rota.scheduled (run_at);

create table rota.ready (
    id uuid primary key,
    kind text collate "C" not null,
    queue text collate "C" not null,
    tenant text collate "C" not null,
    priority smallint not null,
    class smallint not null,
    run_at bigint not null,
    rank bigint not null,
    created_at bigint not null,
    fence bigint not null default 0,
    attempt int not null default 0,
    lost int not null default 0,
    snoozes int not null default 0,
    payload jsonb not null,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text collate "C",
    tags text[],
    headers jsonb,
    errors jsonb,
    session uuid,
    started_at bigint
)
-- Each row is rewritten once, when it is handed out: half of a page is left free, so that the new
-- version goes beside the old one (440 bytes of WAL a hand-out, 550 on full pages) and the table
-- ends up no larger. Dead rows are all there is to scan past at the head of a lane, so vacuum comes
-- early, in proportion to what is live, and without pauses. It keeps the empty pages at the end:
-- giving them back needs a lock that stops everybody, and they are soon filled again.
with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);

create index ready_lane on rota.ready (queue, class, tenant, rank, id) where session is null;
create index ready_held on rota.ready (session) where session is not null;

create table rota.dead_letter (
    id uuid primary key,
    kind text collate "C" not null,
    queue text collate "C" not null,
    tenant text collate "C" not null,
    priority smallint not null,
    class smallint not null,
    run_at bigint not null,
    rank bigint not null,
    created_at bigint not null,
    fence bigint not null default 0,
    attempt int not null default 0,
    lost int not null default 0,
    snoozes int not null default 0,
    payload jsonb not null,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text collate "C",
    tags text[],
    headers jsonb,
    errors jsonb,
    started_at bigint,
    failed_at bigint not null,
    session uuid,
    reason text
);

create table rota.finished (
    id uuid not null,
    kind text collate "C" not null,
    queue text collate "C" not null,
    tenant text collate "C" not null,
    priority smallint not null,
    class smallint not null,
    run_at bigint not null,
    rank bigint not null,
    created_at bigint not null,
    fence bigint not null default 0,
    attempt int not null default 0,
    lost int not null default 0,
    snoozes int not null default 0,
    payload jsonb not null,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text collate "C",
    tags text[],
    headers jsonb,
    errors jsonb,
    state text not null check (state in ('completed', 'cancelled')),
    started_at bigint,
    finished_at bigint not null,
    session uuid,
    result jsonb,
    reason text,
    primary key (id, finished_at)
) partition by range (finished_at);

create table rota.finished_default partition of rota.finished default;

-- History grows at its end only, so a summary per range of pages finds what is old; it costs next
-- to nothing on insert, where a tree would cost as much as the primary key.
create index finished_at on rota.finished using brin (finished_at) with (autosummarize = on);

-- Few among many, so that they are found without reading the many.
create index finished_cancelled on rota.finished (id) where state = 'cancelled';

create table rota.task_key (
    kind text collate "C" not null,
    tenant text collate "C" not null,
    key text collate "C" not null,
    task_id uuid not null,
    expires_at bigint not null,
    primary key (kind, tenant, key)
);

create index task_key_expires on rota.task_key (expires_at);

-- Returns errors with one more at the end; of more than `kept` the second goes, so that the first
-- one and the newest remain.
create function rota.add_error(errors jsonb, error jsonb, kept int) returns jsonb
language sql immutable parallel safe
return case
    when error is null then errors
    when errors is null then jsonb_build_array(error)
    when jsonb_array_length(errors) < kept then errors || jsonb_build_array(error)
    else (errors - 1) || jsonb_build_array(error)
end;

-- Every task, for people: instants as timestamps, the state as text.
create view rota.task as
select
    id, 'scheduled' as state, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6) as created_at,
    to_timestamp(run_at / 1e6) as run_at,
    null::timestamptz as started_at,
    null::timestamptz as finished_at,
    to_timestamp(expires_at / 1e6) as expires_at,
    make_interval(secs => timeout / 1e6) as timeout,
    attempt, fence, lost, snoozes, null::uuid as session,
    payload, null::jsonb as result, errors, null as reason, key, tags, headers, retry
from rota.scheduled
union all
select
    id, case when session is null then 'ready' else 'running' end, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    null,
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, null, errors, null, key, tags, headers, retry
from rota.ready
union all
select
    id, 'failed', kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    to_timestamp(failed_at / 1e6),
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, null, errors, reason, key, tags, headers, retry
from rota.dead_letter
union all
select
    id, state, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6),
    to_timestamp(run_at / 1e6),
    to_timestamp(started_at / 1e6),
    to_timestamp(finished_at / 1e6),
    to_timestamp(expires_at / 1e6),
    make_interval(secs => timeout / 1e6),
    attempt, fence, lost, snoozes, session,
    payload, result, errors, reason, key, tags, headers, retry
from rota.finished;

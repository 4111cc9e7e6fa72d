CREATE TABLE access_key (
    id text not null primary key,
    name text not null,
    secret_hash blob not null,
    roles text not null,
    admin integer not null,
    tenant text,
    queues text,
    payloads integer not null,
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer
) strict, without rowid;

CREATE TABLE action (
    id text not null primary key,
    tenant text,
    queues text,
    body text not null,
    state text not null check (state in ('running', 'completed', 'stopped', 'failed')),
    after text,
    done integer not null,
    changed integer not null,
    skipped text not null,
    error text,
    next_at integer not null,
    ended_at integer,
    hold integer not null default 0,
    held_until integer not null default 0
) strict;

CREATE INDEX action_ended on action (ended_at) where ended_at is not null;

CREATE INDEX action_running on action (next_at) where state = 'running';

CREATE TABLE alert (
    id text not null primary key,
    rule text not null,
    figure text not null,
    queue text,
    value real not null,
    threshold real not null,
    since integer not null,
    fired_at integer,
    told_at integer,
    cleared_at integer,
    silenced_until integer,
    version integer not null
) strict;

CREATE INDEX alert_age on alert (cleared_at) where cleared_at is not null;

CREATE UNIQUE INDEX alert_open on alert (rule, coalesce(queue, '')) where cleared_at is null;

CREATE TABLE alert_rule (
    name text not null primary key,
    body text not null,
    version integer not null
) strict, without rowid;

CREATE TABLE alert_turn (
    one integer not null primary key default 1 check (one = 1),
    taken_at integer not null
) strict;

CREATE TABLE audit (
    id text not null primary key,
    at integer not null,
    key_id text not null,
    key_name text not null,
    via text not null,
    tenant text,
    action text not null,
    target text,
    request_id text not null,
    address text not null,
    outcome text not null,
    count integer not null,
    change text,
    reason text
) strict, without rowid;

CREATE TRIGGER audit_stays
before update on audit
begin
    select raise(abort, 'the audit record is not changed');
end;

CREATE INDEX audit_action on audit (action, id);

CREATE INDEX audit_age on audit (at);

CREATE INDEX audit_key on audit (key_id, id);

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
, checkpoint text, error_group text, error_type text, error_shape text, replay_of text, replayed_as text, replayed_at integer, discarded_at integer, discard_reason text, concurrency_key text, max_concurrency integer, schedule text, slot integer) strict;

CREATE INDEX dead_letter_age on dead_letter (failed_at, id) where discarded_at is null;

CREATE INDEX dead_letter_discarded on dead_letter (discarded_at) where discarded_at is not null;

CREATE INDEX dead_letter_group on dead_letter (error_group, id);

CREATE INDEX dead_letter_open on dead_letter (
    error_group, failed_at, id, tenant, queue, kind, replayed_as, discarded_at
)
where replayed_as is null and discarded_at is null;

CREATE TABLE duty (
    name text not null primary key,
    at integer not null
) strict, without rowid;

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
, progress_done integer, progress_total integer, replay_of text, concurrency_key text, max_concurrency integer, schedule text, slot integer) strict;

CREATE INDEX finished_age on finished (state, queue, finished_at);

CREATE TABLE lane_limit (
    id text not null primary key,
    queue text,
    tenant text,
    max_running integer check (max_running >= 0),
    rate real check (rate > 0),
    burst integer check (burst >= 1),
    tokens real not null,
    filled_at integer not null,
    version integer not null,
    check (queue is not null or tenant is not null),
    check (max_running is not null or rate is not null),
    check ((rate is null) = (burst is null))
) strict;

CREATE UNIQUE INDEX lane_limit_scope on lane_limit (
    coalesce(queue, ''), (tenant is null), coalesce(tenant, '')
);

CREATE TABLE login (
    id_hash blob not null primary key,
    key_id text not null,
    created_at integer not null,
    seen_at integer not null,
    ends_at integer not null
) strict, without rowid;

CREATE INDEX login_end on login (ends_at);

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
, cancel_requested_at integer, cancel_deadline integer, checkpoint text, progress_done integer, progress_total integer, replay_of text, concurrency_key text, max_concurrency integer, schedule text, slot integer) strict;

CREATE INDEX ready_asked on ready (session) where cancel_requested_at is not null;

CREATE INDEX ready_expiry on ready (expires_at) where expires_at is not null and session is null;

CREATE INDEX ready_gate on ready (concurrency_key) where concurrency_key is not null;

CREATE INDEX ready_held on ready (session, queue, tenant) where session is not null;

CREATE INDEX ready_lane on ready (queue, class, tenant, rank, id) where session is null;

CREATE INDEX ready_overdue on ready (cancel_deadline) where cancel_deadline is not null;

CREATE INDEX ready_schedule on ready (schedule) where schedule is not null;

CREATE TABLE schedule (
    id text not null primary key,
    name text not null unique,
    source text not null,
    kind text not null,
    tenant text not null,
    rule text not null,
    policy text not null,
    work text not null,
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    cursor integer not null,
    next_slot integer,
    next_at integer,
    tz_data text not null,
    paused_at integer,
    pause_reason text,
    last_slot integer,
    last_fired_at integer,
    fired integer not null default 0,
    skipped integer not null default 0
) strict;

CREATE INDEX schedule_due on schedule (next_at)
where paused_at is null and next_at is not null;

CREATE INDEX schedule_tz_data on schedule (tz_data) where next_slot is not null;

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
, cancel_requested_at integer, cancel_deadline integer, checkpoint text, progress_done integer, progress_total integer, replay_of text, concurrency_key text, max_concurrency integer, schedule text, slot integer, at_gate integer not null default 0) strict;

CREATE INDEX scheduled_asked on scheduled (cancel_requested_at)
where cancel_requested_at is not null;

CREATE INDEX scheduled_due on scheduled (run_at, id) where not at_gate;

CREATE INDEX scheduled_expiry on scheduled (expires_at) where expires_at is not null;

CREATE INDEX scheduled_gate on scheduled (concurrency_key, rank, id) where at_gate;

CREATE INDEX scheduled_schedule on scheduled (schedule) where schedule is not null;

CREATE TABLE server_secret (
    name text not null primary key,
    secret blob not null,
    made_at integer not null
) strict, without rowid;

CREATE TABLE service (
    span integer not null,
    at integer not null,
    tenant text not null,
    completed integer not null,
    ran integer not null,
    primary key (span, at, tenant)
) strict, without rowid;

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
, process text not null default '', owner text not null default '', claimed integer not null default 0, claim_open integer not null default 0, drain_at integer, heard_at integer not null default 0) strict;

CREATE TABLE setting (
    noun text not null check (noun in ('queue', 'tenant', 'kind')),
    name text not null,
    body text not null,
    version integer not null,
    primary key (noun, name)
) strict, without rowid;

CREATE TABLE settings_version (
    one integer not null primary key default 1 check (one = 1),
    version integer not null
) strict;

CREATE TABLE skip (
    schedule text not null,
    first integer not null,
    last integer not null,
    count integer,
    state text not null,
    at integer not null
) strict;

CREATE INDEX skip_age on skip (at);

CREATE INDEX skip_slot on skip (schedule, first);

CREATE TABLE slot (
    schedule text not null,
    slot integer not null,
    task_id text not null,
    fired_at integer not null,
    backfilled integer not null,
    primary key (schedule, slot)
) strict;

CREATE INDEX slot_age on slot (fired_at);

CREATE TABLE statistic (
    span integer not null,
    at integer not null,
    queue text not null,
    kind text not null,
    counts text not null,
    primary key (span, at, queue, kind)
) strict, without rowid;

CREATE TABLE submission (
    id text not null primary key,
    scope text not null,
    operation text not null,
    key text,
    fingerprint text not null,
    task_ids text not null,
    created_at integer not null,
    key_until integer,
    keep_until integer not null
) strict;

CREATE INDEX submission_age on submission (keep_until);

CREATE UNIQUE INDEX submission_key on submission (scope, operation, key) where key is not null;

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
    null as discard_reason,
    concurrency_key, max_concurrency, at_gate, schedule, slot
from scheduled
union all
select
    id, kind, queue, tenant, priority,
    case when session is null then 'ready' else 'running' end as state, run_at, rank, created_at,
    started_at, null as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, null as reason,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
    null as error_group, replay_of, null as replayed_as, null as discarded_at,
    null as discard_reason,
    concurrency_key, max_concurrency, 0 as at_gate, schedule, slot
from ready
union all
select
    id, kind, queue, tenant, priority, 'failed' as state, run_at, rank, created_at,
    started_at, failed_at as finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, null as result, reason,
    null as cancel_requested_at, null as cancel_deadline, checkpoint,
    null as progress_done, null as progress_total,
    error_group, replay_of, replayed_as, discarded_at, discard_reason,
    concurrency_key, max_concurrency, 0 as at_gate, schedule, slot
from dead_letter
union all
select
    id, kind, queue, tenant, priority, state, run_at, rank, created_at,
    started_at, finished_at, fence, attempt, lost, snoozes, payload, timeout,
    retry, expires_at, key, tags, headers, errors, session, result, reason,
    null as cancel_requested_at, null as cancel_deadline, null as checkpoint,
    progress_done, progress_total,
    null as error_group, replay_of, null as replayed_as, null as discarded_at,
    null as discard_reason,
    concurrency_key, max_concurrency, 0 as at_gate, schedule, slot
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

CREATE TABLE webhook (
    id text not null primary key,
    url text not null,
    shape text not null,
    enabled integer not null,
    off_reason text,
    created_at integer not null,
    last_success_at integer,
    last_failure_at integer,
    failure text,
    failing_since integer,
    version integer not null,
    secret text not null,
    old_secret text,
    old_until integer
) strict;

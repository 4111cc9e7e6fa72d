-- Requests to stop and what handlers say while they run; dead letters that are dealt with; history
-- by queue; how many tasks ended in each minute.
--
-- Processes of the version before go on: what they write has nulls here, what they read is still
-- there. So `ready_lane` stays as it is, though what was asked to stop stands in no lane any more:
-- their claims know no other condition, and without the index would read all that is ready. Only
-- their pruning, once a minute, becomes slower.

alter table session add column process text not null default '';

alter table scheduled add column cancel_requested_at integer;
alter table scheduled add column cancel_deadline integer;
alter table scheduled add column checkpoint text;
alter table scheduled add column progress_done integer;
alter table scheduled add column progress_total integer;
alter table scheduled add column replay_of text;

create index scheduled_expiry on scheduled (expires_at) where expires_at is not null;

create index scheduled_asked on scheduled (cancel_requested_at)
where cancel_requested_at is not null;

alter table ready add column cancel_requested_at integer;
alter table ready add column cancel_deadline integer;
alter table ready add column checkpoint text;
alter table ready add column progress_done integer;
alter table ready add column progress_total integer;
alter table ready add column replay_of text;

create index ready_expiry on ready (expires_at) where expires_at is not null and session is null;

create index ready_asked on ready (session) where cancel_requested_at is not null;

create index ready_overdue on ready (cancel_deadline) where cancel_deadline is not null;

alter table dead_letter add column checkpoint text;
alter table dead_letter add column error_group text;
alter table dead_letter add column error_type text;
alter table dead_letter add column error_shape text;
alter table dead_letter add column replay_of text;
alter table dead_letter add column replayed_as text;
alter table dead_letter add column replayed_at integer;
alter table dead_letter add column discarded_at integer;
alter table dead_letter add column discard_reason text;

create index dead_letter_age on dead_letter (failed_at) where discarded_at is null;

create index dead_letter_discarded on dead_letter (discarded_at) where discarded_at is not null;

create index dead_letter_group on dead_letter (error_group, id);

-- Those still to be dealt with. Groups are counted in here, errors with their tracebacks unread; the
-- last two columns, always null, are there because SQLite looks at them all the same.
create index dead_letter_open on dead_letter (
    error_group, kind, failed_at, id, replayed_as, discarded_at
)
where replayed_as is null and discarded_at is null;

alter table finished add column progress_done integer;
alter table finished add column progress_total integer;
alter table finished add column replay_of text;

-- Each queue and each state may be kept for a time of its own.
drop index finished_age;

create index finished_age on finished (state, queue, finished_at);

-- How many tasks ended in each minute, with a row of their own or not.
create table tally (
    minute integer not null,
    queue text not null,
    kind text not null,
    state text not null check (state in ('completed', 'cancelled', 'failed')),
    count integer not null,
    primary key (minute, queue, kind, state)
) strict, without rowid;

drop view task;

create view task as
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

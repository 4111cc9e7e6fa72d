-- Gates and what schedules make. A gate is a concurrency key: its tasks wait in scheduled, with
-- `at_gate` from when they are due, until fewer than their `max_concurrency` are in ready. Rows are
-- counted, never a counter, so nothing can be left behind that would have to be put right.
--
-- Processes of the version before go on with tasks that have no gate: use gates and schedules once
-- all have been replaced, for the old ones let tasks in without asking. Until then their staging
-- reads all that is scheduled, because `scheduled_due` leaves out what waits at a gate.

alter table scheduled add column concurrency_key text;
alter table scheduled add column max_concurrency integer;
alter table scheduled add column schedule text;
alter table scheduled add column slot integer;
alter table scheduled add column at_gate integer not null default 0;

drop index scheduled_due;

create index scheduled_due on scheduled (run_at) where not at_gate;

create index scheduled_gate on scheduled (concurrency_key, rank, id) where at_gate;

create index scheduled_schedule on scheduled (schedule) where schedule is not null;

alter table ready add column concurrency_key text;
alter table ready add column max_concurrency integer;
alter table ready add column schedule text;
alter table ready add column slot integer;

create index ready_gate on ready (concurrency_key) where concurrency_key is not null;

create index ready_schedule on ready (schedule) where schedule is not null;

alter table dead_letter add column concurrency_key text;
alter table dead_letter add column max_concurrency integer;
alter table dead_letter add column schedule text;
alter table dead_letter add column slot integer;

alter table finished add column concurrency_key text;
alter table finished add column max_concurrency integer;
alter table finished add column schedule text;
alter table finished add column slot integer;

drop view task;

create view task as
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

-- Requests to stop and what handlers say while they run; dead letters that are dealt with; how many
-- tasks ended in each minute.
--
-- Processes of the version before go on: what they write has nulls here, what they read is still
-- there. So `ready_lane` stays as it is, though what was asked to stop stands in no lane any more:
-- their claims know no other condition, and without the index would read all that is ready.

alter table rota.session
    add column process text not null default '';

alter table rota.scheduled
    add column cancel_requested_at bigint,
    add column cancel_deadline bigint,
    add column checkpoint jsonb,
    add column progress_done bigint,
    add column progress_total bigint,
    add column replay_of uuid;

create index scheduled_expiry on rota.scheduled (expires_at) where expires_at is not null;
create index scheduled_asked on rota.scheduled (cancel_requested_at)
where cancel_requested_at is not null;

alter table rota.ready
    add column cancel_requested_at bigint,
    add column cancel_deadline bigint,
    add column checkpoint jsonb,
    add column progress_done bigint,
    add column progress_total bigint,
    add column replay_of uuid;

create index ready_expiry on rota.ready (expires_at)
where expires_at is not null and session is null;
create index ready_asked on rota.ready (session) where cancel_requested_at is not null;
create index ready_overdue on rota.ready (cancel_deadline) where cancel_deadline is not null;

alter table rota.dead_letter
    add column checkpoint jsonb,
    add column error_group text collate "C",
    add column error_type text,
    add column error_shape text,
    add column replay_of uuid,
    add column replayed_as uuid,
    add column replayed_at bigint,
    add column discarded_at bigint,
    add column discard_reason text;

create index dead_letter_age on rota.dead_letter (failed_at) where discarded_at is null;
create index dead_letter_discarded on rota.dead_letter (discarded_at)
where discarded_at is not null;
create index dead_letter_group on rota.dead_letter (error_group, id);

-- Those still to be dealt with: groups are counted in here, errors with their tracebacks unread.
create index dead_letter_open on rota.dead_letter (error_group, failed_at, id)
where replayed_as is null and discarded_at is null;

alter table rota.finished
    add column progress_done bigint,
    add column progress_total bigint,
    add column replay_of uuid;

-- How many tasks ended in each minute, with a row of their own or not. Whoever counts takes the row
-- of its own shard, so that none waits until another has committed; `prune` adds them up later.
create table rota.tally (
    minute bigint not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    state text not null check (state in ('completed', 'cancelled', 'failed')),
    shard smallint not null,
    count bigint not null,
    primary key (minute, queue, kind, state, shard)
)
-- Its newest rows are written with each batch that ends: there is room for that beside them.
with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.05
);

create index tally_shards on rota.tally (minute) where shard >= 0;

-- Returns the shard of whoever asks: no two transactions that are open at once have the same.
create function rota.shard() returns smallint
language sql stable parallel restricted
return (pg_backend_pid() % 32768)::smallint;

create or replace view rota.task as
select
    id, 'scheduled' as state, kind, queue, tenant, priority,
    to_timestamp(created_at / 1e6) as created_at,
    to_timestamp(run_at / 1e6) as run_at,
    null::timestamptz as started_at,
    null::timestamptz as finished_at,
    to_timestamp(expires_at / 1e6) as expires_at,
    make_interval(secs => timeout / 1e6) as timeout,
    attempt, fence, lost, snoozes, null::uuid as session,
    payload, null::jsonb as result, errors, null as reason, key, tags, headers, retry,
    to_timestamp(cancel_requested_at / 1e6) as cancel_requested_at,
    progress_done, progress_total, checkpoint, null as error_group,
    replay_of, null::uuid as replayed_as, null::timestamptz as discarded_at
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
    payload, null, errors, null, key, tags, headers, retry,
    to_timestamp(cancel_requested_at / 1e6),
    progress_done, progress_total, checkpoint, null,
    replay_of, null, null
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
    payload, null, errors, reason, key, tags, headers, retry,
    null,
    null, null, checkpoint, error_group,
    replay_of, replayed_as, to_timestamp(discarded_at / 1e6)
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
    payload, result, errors, reason, key, tags, headers, retry,
    null,
    progress_done, progress_total, null, null,
    replay_of, null, null
from rota.finished;

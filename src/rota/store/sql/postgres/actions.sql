-- name: placed
-- Return where tasks are, and where in line those that wait; the line is null for the others.
select id::text, queue, priority, run_at
from rota.scheduled
where id = any(:ids::uuid[])
union all
select id::text, case when session is null then queue end, priority, run_at
from rota.ready
where id = any(:ids::uuid[])
union all
select id::text, null, priority, run_at
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select id::text, null, priority, run_at
from rota.finished
where id = any(:ids::uuid[]);

-- name: amend
-- Put tasks that wait where they were seen in other places, and into the table where those belong;
-- return their ids. Each task fits one of the four cases and is touched by one part alone.
with wanted as materialized (
    select *
    from unnest(
        :ids::uuid[], :old_queues::text[], :old_priorities::smallint[], :old_run_ats::bigint[],
        :queues::text[], :priorities::smallint[], :classes::smallint[],
        :run_ats::bigint[], :ranks::bigint[]
    ) as wanted (
        id, old_queue, old_priority, old_run_at, queue, priority, class, run_at, rank
    )
),
still_scheduled as (
    update rota.scheduled as task
    set queue = wanted.queue,
        priority = wanted.priority,
        class = wanted.class,
        run_at = wanted.run_at,
        rank = wanted.rank,
        at_gate = task.at_gate and wanted.run_at <= :now,
        timeout = case when :with_timeout::boolean then :timeout::bigint else task.timeout end,
        tags = case when :with_tags::boolean then :tags::text[] else task.tags end
    from wanted
    where task.id = wanted.id
        and task.queue = wanted.old_queue
        and task.priority = wanted.old_priority
        and task.run_at = wanted.old_run_at
        and (wanted.run_at > :now or task.concurrency_key is not null)
    returning task.id
),
still_ready as (
    update rota.ready as task
    set queue = wanted.queue,
        priority = wanted.priority,
        class = wanted.class,
        run_at = wanted.run_at,
        rank = wanted.rank,
        timeout = case when :with_timeout::boolean then :timeout::bigint else task.timeout end,
        tags = case when :with_tags::boolean then :tags::text[] else task.tags end
    from wanted
    where task.id = wanted.id
        and (task.session is null) is true
        and task.queue = wanted.old_queue
        and task.priority = wanted.old_priority
        and task.run_at = wanted.old_run_at
        and wanted.run_at <= :now
    returning task.id
),
due as (
    delete from rota.scheduled as task
    using wanted
    where task.id = wanted.id
        and task.queue = wanted.old_queue
        and task.priority = wanted.old_priority
        and task.run_at = wanted.old_run_at
        and wanted.run_at <= :now
        and task.concurrency_key is null
    returning task.*
),
now_ready as (
    insert into rota.ready (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, schedule, slot
    )
    select
        due.id, kind, wanted.queue, tenant, wanted.priority, wanted.class, wanted.run_at,
        wanted.rank, created_at, fence, attempt, lost, snoozes, payload,
        case when :with_timeout::boolean then :timeout::bigint else timeout end,
        retry, expires_at, key,
        case when :with_tags::boolean then :tags::text[] else tags end,
        headers, errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done,
        progress_total, replay_of, schedule, slot
    from due
    join wanted on wanted.id = due.id
    returning id
),
later as (
    delete from rota.ready as task
    using wanted
    where task.id = wanted.id
        and (task.session is null) is true
        and task.queue = wanted.old_queue
        and task.priority = wanted.old_priority
        and task.run_at = wanted.old_run_at
        and wanted.run_at > :now
    returning task.*
),
now_scheduled as (
    insert into rota.scheduled (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total,
        replay_of, concurrency_key, max_concurrency, schedule, slot
    )
    select
        later.id, kind, wanted.queue, tenant, wanted.priority, wanted.class, wanted.run_at,
        wanted.rank, created_at, fence, attempt, lost, snoozes, payload,
        case when :with_timeout::boolean then :timeout::bigint else timeout end,
        retry, expires_at, key,
        case when :with_tags::boolean then :tags::text[] else tags end,
        headers, errors, cancel_requested_at, cancel_deadline, checkpoint, progress_done,
        progress_total, replay_of, concurrency_key, max_concurrency, schedule, slot
    from later
    join wanted on wanted.id = later.id
    returning id
)
select id::text
from still_scheduled
union all
select id::text
from still_ready
union all
select id::text
from now_ready
union all
select id::text
from now_scheduled;

-- name: delete_over
-- Delete finished tasks and dead letters; return their ids.
with gone as (
    delete from rota.finished
    where id = any(:ids::uuid[])
    returning id
),
dead as (
    delete from rota.dead_letter
    where id = any(:ids::uuid[])
    returning id
)
select id::text
from gone
union all
select id::text
from dead;

-- name: begin_action
-- Store an action, unless there is one with its id.
insert into rota.action (
    id, tenant, queues, body, state, after, done, changed, skipped, error, next_at, ended_at
)
values (
    :id, :tenant, :queues, :body, :state, :after, :done, :changed, :skipped, :error, :next_at,
    :ended_at
)
on conflict (id) do nothing;

-- name: get_action
-- Return an action.
select body::text, state, after::text, done, changed, skipped::text, error, next_at, ended_at, hold
from rota.action
where id = :id;

-- name: list_actions
-- Return actions of a tenant, and of none but some queues, the newest first.
select body::text, state, after::text, done, changed, skipped::text, error, next_at, ended_at, hold
from rota.action
where (id < :before_id::uuid or :before_id::uuid is null)
    and (tenant = :tenant::text or :tenant::text is null)
    and (queues <@ :queues::text[] or :queues::text[] is null)
order by id desc
limit :limit;

-- name: next_action
-- Return when the next action that runs wants to be carried on.
select min(greatest(next_at, held_until))
from rota.action
where state = 'running';

-- name: hold_action
-- Take in hand the action that has been due longest and that nobody else has, and return it.
update rota.action
set hold = hold + 1,
    held_until = :until
where id = (
    select id
    from rota.action
    where state = 'running'
        and next_at <= :now
        and held_until <= :now
    order by next_at
    limit 1
    for update skip locked
)
returning
    body::text, state, after::text, done, changed, skipped::text, error, next_at, ended_at, hold;

-- name: note_run
-- Write down how far an action is and let go of it, unless another hold is newer. What was stopped
-- meanwhile stays so.
update rota.action
set after = :after,
    done = :done,
    changed = :changed,
    skipped = :skipped,
    error = :error,
    next_at = :next_at,
    state = case when state = 'running' then :state else state end,
    ended_at = coalesce(ended_at, :ended_at),
    held_until = 0
where id = :id
    and hold = :hold;

-- name: stop_action
-- Stop an action that runs.
update rota.action
set state = 'stopped',
    ended_at = :now
where id = :id
    and state = 'running';

-- name: prune_actions
-- Forget some actions that ended before a time.
delete from rota.action
where id = any(array(
    select id
    from rota.action
    where ended_at < :before
    limit :limit
));

-- name: placed
-- Return where tasks are, and where in line those that wait; the line is null for the others.
select id, queue, priority, run_at
from scheduled
where id in (select value from json_each(:ids))
union all
select id, iif(session is null, queue, null), priority, run_at
from ready
where id in (select value from json_each(:ids))
union all
select id, null, priority, run_at
from dead_letter
where id in (select value from json_each(:ids))
union all
select id, null, priority, run_at
from finished
where id in (select value from json_each(:ids));

-- name: amend_scheduled
-- Put scheduled tasks in other places.
update scheduled
set queue = wanted.value ->> 'queue',
    priority = wanted.value ->> 'priority',
    run_at = wanted.value ->> 'run_at',
    rank = wanted.value ->> 'rank',
    at_gate = at_gate and wanted.value ->> 'run_at' <= :now,
    timeout = iif(:with_timeout, :timeout, timeout),
    tags = iif(:with_tags, :tags, tags)
from json_each(:moves) as wanted
where scheduled.id = wanted.value ->> 'id';

-- name: amend_ready
-- Put ready tasks in other places.
update ready
set queue = wanted.value ->> 'queue',
    priority = wanted.value ->> 'priority',
    run_at = wanted.value ->> 'run_at',
    rank = wanted.value ->> 'rank',
    timeout = iif(:with_timeout, :timeout, timeout),
    tags = iif(:with_tags, :tags, tags)
from json_each(:moves) as wanted
where ready.id = wanted.value ->> 'id';

-- name: put_off
-- Copy ready tasks that are not due any more to scheduled.
insert into scheduled (
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    id, kind, queue, tenant, priority, run_at, rank, created_at, fence, attempt, lost, snoozes,
    payload, timeout, retry, expires_at, key, tags, headers, errors,
    cancel_requested_at, cancel_deadline, checkpoint, progress_done, progress_total, replay_of,
    concurrency_key, max_concurrency, schedule, slot
from ready
where id in (select value from json_each(:ids));

-- name: amendable
-- Return which scheduled tasks are among some, each with whether it has a gate.
select id, concurrency_key is not null
from scheduled
where id in (select value from json_each(:ids));

-- name: delete_finished
-- Delete finished tasks; return their ids.
delete from finished
where id in (select value from json_each(:ids))
returning id;

-- name: delete_dead_letters
-- Delete dead letters; return their ids.
delete from dead_letter
where id in (select value from json_each(:ids))
returning id;

-- name: begin_action
-- Store an action, unless there is one with its id.
insert into action (
    id, tenant, queues, body, state, after, done, changed, skipped, error, next_at, ended_at
)
values (
    :id, :tenant, :queues, :body, :state, :after, :done, :changed, :skipped, :error, :next_at,
    :ended_at
)
on conflict (id) do nothing;

-- name: get_action
-- Return an action.
select body, state, after, done, changed, skipped, error, next_at, ended_at, hold
from action
where id = :id;

-- name: list_actions
-- Return actions of a tenant, and of none but some queues, the newest first.
select body, state, after, done, changed, skipped, error, next_at, ended_at, hold
from action
where id < coalesce(:before_id, 'g')
    and (tenant = :tenant or :tenant is null)
    and (
        :queues is null
        or queues is not null
        and not exists (
            select 1
            from json_each(queues) as its
            where its.value not in (select value from json_each(:queues))
        )
    )
order by id desc
limit :limit;

-- name: next_action
-- Return when the next action that runs wants to be carried on.
select min(max(next_at, held_until))
from action
where state = 'running';

-- name: hold_action
-- Take in hand the action that has been due longest and that nobody else has, and return it.
update action
set hold = hold + 1,
    held_until = :until
where id = (
    select id
    from action
    where state = 'running'
        and next_at <= :now
        and held_until <= :now
    order by next_at
    limit 1
)
returning body, state, after, done, changed, skipped, error, next_at, ended_at, hold;

-- name: note_run
-- Write down how far an action is and let go of it, unless another hold is newer. What was stopped
-- meanwhile stays so.
update action
set after = :after,
    done = :done,
    changed = :changed,
    skipped = :skipped,
    error = :error,
    next_at = :next_at,
    state = iif(state = 'running', :state, state),
    ended_at = coalesce(ended_at, :ended_at),
    held_until = 0
where id = :id
    and hold = :hold;

-- name: stop_action
-- Stop an action that runs.
update action
set state = 'stopped',
    ended_at = :now
where id = :id
    and state = 'running';

-- name: prune_actions
-- Forget some actions that ended before a time.
delete from action
where id in (
    select id
    from action
    where ended_at < :before
    limit :limit
);

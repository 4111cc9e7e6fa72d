-- name: insert_ready
-- Store the tasks that are due.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at,
    payload, timeout, retry, expires_at, key, tags, headers,
    concurrency_key, max_concurrency, schedule, slot
)
select
    value ->> 'id',
    value ->> 'kind',
    value ->> 'queue',
    value ->> 'tenant',
    value ->> 'priority',
    value ->> 'run_at',
    value ->> 'rank',
    value ->> 'created_at',
    value ->> 'payload',
    value ->> 'timeout',
    value ->> 'retry',
    value ->> 'expires_at',
    value ->> 'key',
    nullif(value -> 'tags', '[]'),
    value ->> 'headers',
    value ->> 'concurrency_key',
    value ->> 'max_concurrency',
    value ->> 'schedule',
    value ->> 'slot'
from jsonb_each(:tasks)
where true
on conflict (id) do nothing;

-- name: insert_scheduled
-- Store the tasks that are due later.
insert into scheduled (
    id, kind, queue, tenant, priority, run_at, rank, created_at,
    payload, timeout, retry, expires_at, key, tags, headers,
    concurrency_key, max_concurrency, schedule, slot
)
select
    value ->> 'id',
    value ->> 'kind',
    value ->> 'queue',
    value ->> 'tenant',
    value ->> 'priority',
    value ->> 'run_at',
    value ->> 'rank',
    value ->> 'created_at',
    value ->> 'payload',
    value ->> 'timeout',
    value ->> 'retry',
    value ->> 'expires_at',
    value ->> 'key',
    nullif(value -> 'tags', '[]'),
    value ->> 'headers',
    value ->> 'concurrency_key',
    value ->> 'max_concurrency',
    value ->> 'schedule',
    value ->> 'slot'
from jsonb_each(:tasks)
where true
on conflict (id) do nothing;

-- name: hold_keys
-- Give each key to its task if nobody has it, or if its window is over and its task is not live.
insert into task_key (kind, tenant, key, task_id, expires_at)
select
    value ->> 'kind',
    value ->> 'tenant',
    value ->> 'key',
    value ->> 'id',
    coalesce(value ->> 'key_until', 0)
from jsonb_each(:tasks)
where true
on conflict (kind, tenant, key) do update
set task_id = excluded.task_id, expires_at = excluded.expires_at
where task_key.expires_at <= :now
    and not exists (select 1 from ready where id = task_key.task_id)
    and not exists (select 1 from scheduled where id = task_key.task_id);

-- name: key_holders
-- Return the ids of the tasks that hold these tasks' keys, in the tasks' order, as JSON.
select json_group_array(task_id)
from (
    select held.task_id
    from jsonb_each(:tasks) as task
    cross join task_key as held
        on held.kind = task.value ->> 'kind'
        and held.tenant = task.value ->> 'tenant'
        and held.key = task.value ->> 'key'
    order by task.key
);

-- name: known_ids
-- Return which of these ids are stored already, as JSON.
select json_group_array(value)
from json_each(:ids)
where exists (select 1 from ready where id = value)
    or exists (select 1 from scheduled where id = value)
    or exists (select 1 from finished where id = value)
    or exists (select 1 from dead_letter where id = value);

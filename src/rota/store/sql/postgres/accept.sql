-- name: insert_ready
-- Store one task that is due, unless its id is stored anywhere already.
-- A task cannot have ended before it was made; the day is for clocks that differ.
insert into rota.ready (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    payload, timeout, retry, expires_at, key, tags, headers,
    concurrency_key, max_concurrency, schedule, slot
)
select
    :id::uuid, :kind, :queue, :tenant, :priority::smallint, :class::smallint,
    :run_at::bigint, :rank::bigint, :created_at::bigint,
    :payload::jsonb, :timeout::bigint, :retry::jsonb, :expires_at::bigint,
    :key, :tags::text[], :headers::jsonb,
    :concurrency_key, :max_concurrency::int, :schedule::uuid, :slot::bigint
where not exists (select from rota.scheduled where id = :id::uuid)
    and not exists (select from rota.dead_letter where id = :id::uuid)
    and not exists (
        select from rota.finished
        where id = :id::uuid
            and finished_at > :created_at::bigint - 86400000000
    )
on conflict (id) do nothing;

-- name: insert_scheduled
-- Store one task that is due later, unless its id is stored anywhere already.
insert into rota.scheduled (
    id, kind, queue, tenant, priority, class, run_at, rank, created_at,
    payload, timeout, retry, expires_at, key, tags, headers,
    concurrency_key, max_concurrency, schedule, slot
)
select
    :id::uuid, :kind, :queue, :tenant, :priority::smallint, :class::smallint,
    :run_at::bigint, :rank::bigint, :created_at::bigint,
    :payload::jsonb, :timeout::bigint, :retry::jsonb, :expires_at::bigint,
    :key, :tags::text[], :headers::jsonb,
    :concurrency_key, :max_concurrency::int, :schedule::uuid, :slot::bigint
where not exists (select from rota.ready where id = :id::uuid)
    and not exists (select from rota.dead_letter where id = :id::uuid)
    and not exists (
        select from rota.finished
        where id = :id::uuid
            and finished_at > :created_at::bigint - 86400000000
    )
on conflict (id) do nothing;

-- name: hold_keys
-- Give each key to its task if nobody has it, or if its window is over and its task is not live;
-- return those that were given. A holder that came after this statement began stays. Each look is
-- for one value, so that no plan can read a whole table instead.
insert into rota.task_key as held (kind, tenant, key, task_id, expires_at)
select wanted.kind, wanted.tenant, wanted.key, wanted.task_id, wanted.expires_at
from unnest(
    :kinds::text[], :tenants::text[], :keys::text[], :ids::uuid[], :until::bigint[]
) as wanted (kind, tenant, key, task_id, expires_at)
on conflict (kind, tenant, key) do update
set task_id = excluded.task_id, expires_at = excluded.expires_at
where held.expires_at <= :now
    and (select id from rota.ready where id = held.task_id) is null
    and (select id from rota.scheduled where id = held.task_id) is null
    and held.task_id = (
        select seen.task_id
        from rota.task_key as seen
        where seen.kind = held.kind
            and seen.tenant = held.tenant
            and seen.key = held.key
    )
returning kind, tenant, key;

-- name: key_holders
-- Return the task that holds each of these keys, null where none does.
select
    wanted.kind,
    wanted.tenant,
    wanted.key,
    (
        select held.task_id::text
        from rota.task_key as held
        where held.kind = wanted.kind
            and held.tenant = wanted.tenant
            and held.key = wanted.key
    )
from unnest(:kinds::text[], :tenants::text[], :keys::text[]) as wanted (kind, tenant, key);

-- name: known_ids
-- Return which of these ids are stored already, apart from those of `due` in ready and those of
-- `later` in scheduled.
select id::text
from rota.ready
where id = any(:later::uuid[])
union all
select id::text
from rota.scheduled
where id = any(:due::uuid[])
union all
select id::text
from rota.dead_letter
where id = any(:due::uuid[] || :later::uuid[])
union all
select id::text
from rota.finished
where id = any(:due::uuid[] || :later::uuid[])
    and finished_at > :made_since::bigint - 86400000000;

-- name: send_hint
-- Tell whoever listens from when on there is work.
select pg_notify('rota', :at);

-- name: send_news
-- Tell whoever follows what has changed.
select pg_notify('rota_changes', :text);

-- name: look_inside
-- On a caller's connection: say whether its database has our functions, and what time it is there.
-- Values cross as text, here and below, because drivers differ in how they send all others.
select
    to_regprocedure('rota.submit_many(jsonb)') is not null,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint::text;

-- name: submit_inside
-- In a caller's transaction: store tasks; return for each the task that there is now, in order.
select id::text, created
from rota.submit_many(cast(cast(:tasks as text) as jsonb));

-- name: cancel_inside
-- In a caller's transaction: cancel tasks; return what became of each that there is.
select id::text, outcome
from rota.cancel(
    string_to_array(cast(:ids as text), ',')::uuid[],
    cast(cast(:deadline as text) as bigint)
);

-- name: record_effect
-- In a caller's transaction: record an effect, and say whether this is the first time.
select rota.once(cast(:key as text));

-- name: complete_inside
-- In a caller's transaction: complete a held task, and say whether it was held under that fence.
select rota.complete(
    cast(cast(:id as text) as uuid),
    cast(cast(:session as text) as uuid),
    cast(cast(:fence as text) as bigint),
    cast(cast(:result as text) as jsonb)
);

-- name: held_free
-- Return what a session holds, apart from what somebody's open transaction has locked.
select
    id::text, fence, attempt, lost, snoozes, kind, queue, tenant, priority, run_at, created_at,
    payload, timeout, retry, expires_at, headers, checkpoint,
    concurrency_key, schedule::text, slot
from rota.ready
where session = :session
order by rank, ready.id
limit :limit
for update skip locked;

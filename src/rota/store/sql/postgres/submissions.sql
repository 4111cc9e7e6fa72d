-- name: free_submission_key
-- Let go of an idempotency key whose time is over.
update rota.submission
set key = null
where scope = :scope
    and operation = :operation
    and key = :key::text
    and key_until <= :now;

-- name: keep_submission
-- Keep a submission unless its key is held.
insert into rota.submission (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
values (
    :id::uuid, :scope, :operation, :key, :fingerprint, :task_ids::uuid[], :created_at, :key_until,
    :keep_until
)
on conflict (scope, operation, key) where key is not null do nothing;

-- name: keep_submissions
-- Keep each of these submissions of one task unless its key is held; return those that are kept.
insert into rota.submission (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
select
    id, scope, operation, key, fingerprint, array[task_id], created_at, key_until, keep_until
from unnest(
    :ids::uuid[], :scopes::text[], :operations::text[], :keys::text[], :fingerprints::text[],
    :task_ids::uuid[], :created_ats::bigint[], :key_untils::bigint[], :keep_untils::bigint[]
) as asked (
    id, scope, operation, key, fingerprint, task_id, created_at, key_until, keep_until
)
on conflict (scope, operation, key) where key is not null do nothing
returning id::text;

-- name: keep_batch
-- Keep a submission without a key; if it is there already, it gets the further tasks.
insert into rota.submission as held (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
values (
    :id::uuid, :scope, :operation, :key, :fingerprint, :task_ids::uuid[], :created_at, :key_until,
    :keep_until
)
on conflict (id) do update
set task_ids = held.task_ids || excluded.task_ids;

-- name: set_submission_tasks
-- Say which tasks a submission came to.
update rota.submission
set task_ids = :task_ids::uuid[]
where id = :id::uuid;

-- name: find_submission
-- Return the submission that holds an idempotency key.
select
    id::text, scope, operation, key, fingerprint, task_ids::text[], created_at, key_until,
    keep_until
from rota.submission
where scope = :scope
    and operation = :operation
    and key = :key::text
    and key_until > :now;

-- name: get_submission
-- Return a submission by its id.
select
    id::text, scope, operation, key, fingerprint, task_ids::text[], created_at, key_until,
    keep_until
from rota.submission
where id = :id::uuid;

-- name: prune_submissions
-- Drop submissions that nobody can ask for any more.
delete from rota.submission
where ctid = any(array(
    select ctid
    from rota.submission
    where keep_until <= :now
    limit :limit
    for update skip locked
));

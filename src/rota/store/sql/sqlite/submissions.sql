-- name: free_submission_key
-- Let go of an idempotency key whose time is over.
update submission
set key = null
where scope = :scope
    and operation = :operation
    and key = :key
    and key_until <= :now;

-- name: keep_submission
-- Keep a submission unless its key is held.
insert into submission (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
values (
    :id, :scope, :operation, :key, :fingerprint, :task_ids, :created_at, :key_until, :keep_until
)
on conflict (scope, operation, key) where key is not null do nothing;

-- name: keep_submissions
-- Keep each of these submissions of one task unless its key is held; return those that are kept.
insert into submission (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
select
    value ->> 'id', value ->> 'scope', value ->> 'operation', value ->> 'key',
    value ->> 'fingerprint', value -> 'task_ids', value ->> 'created_at', value ->> 'key_until',
    value ->> 'keep_until'
from json_each(:submissions)
where true
on conflict (scope, operation, key) where key is not null do nothing
returning id;

-- name: keep_batch
-- Keep a submission without a key; if it is there already, it gets the further tasks.
insert into submission (
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
)
values (
    :id, :scope, :operation, :key, :fingerprint, :task_ids, :created_at, :key_until, :keep_until
)
on conflict (id) do update
set task_ids = (
    select json_group_array(value)
    from (
        select value
        from json_each(submission.task_ids)
        union all
        select value
        from json_each(excluded.task_ids)
    )
);

-- name: set_submission_tasks
-- Say which tasks a submission came to.
update submission
set task_ids = :task_ids
where id = :id;

-- name: find_submission
-- Return the submission that holds an idempotency key.
select
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
from submission
where scope = :scope
    and operation = :operation
    and key = :key
    and key_until > :now;

-- name: get_submission
-- Return a submission by its id.
select
    id, scope, operation, key, fingerprint, task_ids, created_at, key_until, keep_until
from submission
where id = :id;

-- name: prune_submissions
-- Drop submissions that nobody can ask for any more.
delete from submission
where rowid in (
    select rowid
    from submission
    where keep_until <= :now
    limit :limit
);

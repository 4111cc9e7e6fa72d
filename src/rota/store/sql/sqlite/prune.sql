-- name: prune_finished
-- Drop history that finished before, the oldest first.
delete from finished
where rowid in (
    select rowid
    from finished
    where finished_at < :finished_before
    order by finished_at
    limit :limit
);

-- name: prune_keys
-- Drop keys whose window is over and whose task is not live.
delete from task_key
where (kind, tenant, key) in (
    select kind, tenant, key
    from task_key as held
    where expires_at <= :now
        and not exists (select 1 from ready where id = held.task_id)
        and not exists (select 1 from scheduled where id = held.task_id)
    limit :limit
);

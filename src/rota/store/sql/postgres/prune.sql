-- name: prune_finished
-- Drop history that finished before.
delete from rota.finished
where id = any(array(
    select id
    from rota.finished
    where finished_at < :finished_before
    limit :limit
    for update skip locked
))
    and finished_at < :finished_before;

-- name: prune_keys
-- Drop keys whose window is over and whose task is not live.
delete from rota.task_key
where ctid = any(array(
    select ctid
    from rota.task_key as held
    where expires_at <= :now
        and not exists (select from rota.ready where id = held.task_id)
        and not exists (select from rota.scheduled where id = held.task_id)
    limit :limit
    for update of held skip locked
));

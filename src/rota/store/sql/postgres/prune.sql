-- name: prune_finished
-- Drop history of one rule that finished before: of a queue, or of a state in all queues but some.
-- Said of the partition for days that have none; it serves for each of the others in its turn.
delete from rota.finished_default
where ctid = any(array(
    select ctid
    from rota.finished_default
    where finished_at >= :since
        and finished_at < :until
        and (:queue::text is null or queue = :queue)
        and (:state::text is null or state = :state)
        and queue <> all(:others::text[])
    limit :limit
    for update skip locked
));

-- name: prune_dead_letters
-- Drop dead letters that are kept no longer: those that were discarded by when they were.
with aged as materialized (
    select ctid as place
    from rota.dead_letter
    where discarded_at is null
        and failed_at < :failed_before
    order by failed_at
    limit :limit
    for update skip locked
),
discarded as materialized (
    select ctid as place
    from rota.dead_letter
    where discarded_at < :discarded_before
    order by discarded_at
    limit greatest(:limit - (select count(*) from aged), 0)
    for update skip locked
)
delete from rota.dead_letter
where ctid = any(array(
    select place
    from aged
    union all
    select place
    from discarded
));

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

-- name: history_days
-- Return the names of the partitions for single days.
select class.relname::text
from pg_inherits as child
join pg_class as class
    on class.oid = child.inhrelid
where child.inhparent = 'rota.finished'::regclass
    and class.relname ~ '^finished_[0-9]{8}$'
order by class.relname;

-- name: make_day
-- Make a day's partition and move there what finished on that day, if it has none and not too much
-- is in the way.
select rota.make_day(:day, :since, :until, :moved_most);

-- name: drop_day
-- Drop a day's partition with all that is in it; return how many tasks that were.
select rota.drop_day(:day, :counted_most);

-- name: prune_effects
-- Forget the effects of long ago.
delete from rota.effect
where ctid = any(array(
    select ctid
    from rota.effect
    where at < :before
    limit :limit
    for update skip locked
));

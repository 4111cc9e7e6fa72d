-- name: prune_finished
-- Drop history that is kept no longer, of each state and queue the oldest first.
-- Each step of the walk is one descent into the index to the next queue.
with recursive line (state, queue) as (
    select
        value,
        (
            select queue
            from finished
            where state = value
            order by queue
            limit 1
        )
    from json_each('["completed", "cancelled"]')
    union all
    select
        line.state,
        (
            select finished.queue
            from finished
            where finished.state = line.state
                and finished.queue > line.queue
            order by finished.queue
            limit 1
        )
    from line
    where line.queue is not null
)
delete from finished
where rowid in (
    select old.rowid
    from line
    cross join finished as old
        on old.state = line.state
        and old.queue = line.queue
        and old.finished_at < coalesce(
            (select value from json_each(:queues_before) where key = line.queue),
            iif(line.state = 'completed', :completed_before, :cancelled_before)
        )
    limit :limit
);

-- name: prune_dead_letters
-- Drop dead letters that are kept no longer: those that were discarded by when they were.
delete from dead_letter
where rowid in (
    select *
    from (
        select rowid
        from dead_letter
        where discarded_at is null
            and failed_at < :failed_before
        order by failed_at
        limit :limit
    )
    union all
    select *
    from (
        select rowid
        from dead_letter
        where discarded_at < :discarded_before
        order by discarded_at
        limit :limit
    )
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

-- name: prune_effects
-- Forget the effects of long ago.
delete from effect
where key in (
    select key
    from effect
    where at < :before
    limit :limit
);

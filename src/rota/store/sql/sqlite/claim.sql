-- name: next_lanes
-- Return, for each look, the next lanes that have a ready task, from its start on, then round;
-- as JSON: place of the look, tenant. With it the version of the settings.
-- Each step of a look is one descent into the index to the next tenant. A blob sorts after every
-- text, so `until` bounds nothing before the walk has come round.
with recursive walk (place, queue, class, start, until, found, tenant) as (
    select
        look.key,
        look.value ->> 'queue',
        look.value ->> 'class',
        look.value ->> 'start',
        x'',
        0,
        (
            select tenant
            from ready
            where queue = look.value ->> 'queue'
                and class = look.value ->> 'class'
                and tenant >= look.value ->> 'start'
                and session is null
                and cancel_requested_at is null
            order by tenant
            limit 1
        )
    from json_each(:looks) as look
    union all
    select
        place,
        queue,
        class,
        start,
        iif(tenant is null, start, until),
        found + (tenant is not null),
        (
            select ready.tenant
            from ready
            where ready.queue = walk.queue
                and ready.class = walk.class
                and ready.tenant >= iif(walk.tenant is null, '', walk.tenant || char(1))
                and ready.tenant < iif(walk.tenant is null, walk.start, walk.until)
                and ready.session is null
                and ready.cancel_requested_at is null
            order by ready.tenant
            limit 1
        )
    from walk
    where found + (tenant is not null) < :limit
        and not (tenant is null and until = start)
)
select (select version from settings_version), json_group_array(json_array(place, tenant))
from (
    select place, tenant
    from walk
    where tenant is not null
    order by place, found
);

-- name: take
-- Hand out the tasks that were picked to a session.
update ready
set session = :session,
    fence = fence + 1,
    attempt = attempt + 1,
    started_at = :now
where rowid in (select value from json_each(:picked));

-- name: held
-- Return what a session holds, as JSON.
select
    json_group_array(
        json_object(
            'id', id,
            'fence', fence,
            'attempt', attempt,
            'lost', lost,
            'snoozes', snoozes,
            'kind', kind,
            'queue', queue,
            'tenant', tenant,
            'priority', priority,
            'run_at', run_at,
            'created_at', created_at,
            'payload', payload,
            'timeout', timeout,
            'retry', retry,
            'expires_at', expires_at,
            'headers', headers,
            'checkpoint', checkpoint,
            'concurrency_key', concurrency_key,
            'schedule', schedule,
            'slot', slot
        )
    )
from (
    select *
    from ready
    where session = :session
    order by rank, id
    limit :limit
);

-- name: pick
-- Choose the first tasks of each share's lane, share by share, for a session that is alive; as
-- JSON.
-- Each step of a share is one descent into the index to its next task; `+` keeps the affinity
-- of a column out of the comparison, so that both parts of the bound are sought in the index.
with recursive walk (place, queue, class, tenant, wanted, task) as (
    select
        share.key,
        share.value ->> '$.lane.queue',
        share.value ->> '$.lane.cls',
        share.value ->> '$.lane.tenant',
        share.value ->> 'count',
        (
            select rowid
            from ready
            where queue = share.value ->> '$.lane.queue'
                and class = share.value ->> '$.lane.cls'
                and tenant = share.value ->> '$.lane.tenant'
                and session is null
                and cancel_requested_at is null
                and (:avoid = '[]' or kind not in (select value from json_each(:avoid)))
            order by rank, id
            limit 1
        )
    from jsonb_each(:shares) as share
    where share.value ->> 'count' > 0
        and exists (
            select 1
            from session
            where id = :session
                and closed_at is null
                and lease_until > :now
        )
    union all
    select
        walk.place,
        walk.queue,
        walk.class,
        walk.tenant,
        walk.wanted - 1,
        (
            select next.rowid
            from ready as last
            cross join ready as next
            where last.rowid = walk.task
                and next.queue = walk.queue
                and next.class = walk.class
                and next.tenant = walk.tenant
                and next.session is null
                and next.cancel_requested_at is null
                and (next.rank, next.id) > (last.rank, +last.id)
                and (:avoid = '[]' or next.kind not in (select value from json_each(:avoid)))
            order by next.rank, next.id
            limit 1
        )
    from walk
    where walk.wanted > 1
        and walk.task is not null
)
select json_group_array(task)
from (
    select task
    from walk
    where task is not null
    order by place, wanted desc
);

-- name: taken
-- Return the tasks that were picked, in their order, as JSON.
-- The cross join goes through the picked ones first to last.
select
    json_group_array(
        json_object(
            'id', task.id,
            'fence', task.fence,
            'attempt', task.attempt,
            'lost', task.lost,
            'snoozes', task.snoozes,
            'kind', task.kind,
            'queue', task.queue,
            'tenant', task.tenant,
            'priority', task.priority,
            'run_at', task.run_at,
            'created_at', task.created_at,
            'payload', task.payload,
            'timeout', task.timeout,
            'retry', task.retry,
            'expires_at', task.expires_at,
            'headers', task.headers,
            'checkpoint', task.checkpoint,
            'concurrency_key', task.concurrency_key,
            'schedule', task.schedule,
            'slot', task.slot
        )
    )
from json_each(:picked) as picked
cross join ready as task
    on task.rowid = picked.value;

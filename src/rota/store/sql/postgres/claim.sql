-- name: next_lanes
-- Return, for each look, the next lanes that have a ready task, from its start on, then round, and
-- with each the version of the settings; that alone if there are none.
-- Each step of a look is one descent into the index to the next tenant.
select settings_version.version, found.place, found.tenant
from rota.settings_version
left join (
    select look.place, lane.tenant
    from unnest(:queues::text[], :classes::smallint[], :starts::text[])
        with ordinality as look (queue, class, start, place)
    cross join lateral (
        (
            with recursive hop as (
                (
                    select tenant
                    from rota.ready
                    where queue = look.queue
                        and class = look.class
                        and tenant >= look.start
                        and session is null
                        and cancel_requested_at is null
                    order by tenant
                    limit 1
                )
                union all
                select next.tenant
                from hop
                cross join lateral (
                    select tenant
                    from rota.ready
                    where queue = look.queue
                        and class = look.class
                        and tenant > hop.tenant
                        and session is null
                        and cancel_requested_at is null
                    order by tenant
                    limit 1
                ) as next
            )
            select tenant
            from hop
        )
        union all
        (
            with recursive hop as (
                (
                    select tenant
                    from rota.ready
                    where queue = look.queue
                        and class = look.class
                        and tenant < look.start
                        and session is null
                        and cancel_requested_at is null
                    order by tenant
                    limit 1
                )
                union all
                select next.tenant
                from hop
                cross join lateral (
                    select tenant
                    from rota.ready
                    where queue = look.queue
                        and class = look.class
                        and tenant > hop.tenant
                        and tenant < look.start
                        and session is null
                        and cancel_requested_at is null
                    order by tenant
                    limit 1
                ) as next
            )
            select tenant
            from hop
        )
        limit :limit
    ) as lane
) as found on true
where settings_version.one;

-- name: take
-- Hand out the first tasks of each share's lane to a session that is alive, if the settings have
-- this version; return them.
-- The choice is materialized so that no more rows are locked than are taken, and joined by place
-- in the table: a row that is locked does not move, and no plan can turn to scanning.
with chosen as materialized (
    select task.place
    from unnest(:queues::text[], :classes::smallint[], :tenants::text[], :counts::int[])
        as share (queue, class, tenant, count)
    cross join lateral (
        select ctid as place
        from rota.ready
        where queue = share.queue
            and class = share.class
            and tenant = share.tenant
            and session is null
            and cancel_requested_at is null
            and kind <> all(:avoid::text[])
        order by rank, id
        limit share.count
        for update skip locked
    ) as task
    where exists (
        select from rota.settings_version
        where one
            and version = :version
    )
        and exists (
            select from rota.session
            where id = :session
                and closed_at is null
                and lease_until > :now
        )
)
update rota.ready
set session = :session,
    fence = fence + 1,
    attempt = attempt + 1,
    started_at = :now
from chosen
where ready.ctid = chosen.place
returning
    id::text, fence, attempt, lost, snoozes, kind, queue, tenant, priority, run_at, created_at,
    payload, timeout, retry, expires_at, headers, checkpoint,
    concurrency_key, schedule::text, slot;

-- name: take_limited
-- Hand out tasks as far as their limits let them through, and say which let less through than was
-- asked for. One statement, so that nobody who stops halfway holds up a limit.
select *
from rota.take(
    :session::uuid, :queues::text[], :classes::smallint[], :tenants::text[], :counts::int[],
    :bound::int[], :limits::text[], :avoid::text[], :now::bigint, :version::bigint
);

-- name: held
-- Return what a session holds.
select
    id::text, fence, attempt, lost, snoozes, kind, queue, tenant, priority, run_at, created_at,
    payload, timeout, retry, expires_at, headers, checkpoint,
    concurrency_key, schedule::text, slot
from rota.ready
where session = :session
order by rank, ready.id
limit :limit;

-- name: add_statistics
-- Add what a process has counted to what is there, place by place.
insert into statistic (span, at, queue, kind, counts)
select
    value ->> 'span',
    value ->> 'at',
    value ->> 'queue',
    value ->> 'kind',
    value -> 'counts'
from json_each(:rows)
where true
on conflict (span, at, queue, kind) do update
set counts = (
    select json_group_object(place, total)
    from (
        select key as place, sum(value) as total
        from (
            select key, value
            from json_each(statistic.counts)
            union all
            select key, value
            from json_each(excluded.counts)
        )
        group by key
    )
);

-- name: read_statistics
-- Return what was counted, added up by steps and, if asked, by queue and kind; the oldest first.
select at, queue, kind, json_group_object(place, total)
from (
    select
        at - at % :step as at,
        iif(:by_queue, queue, null) as queue,
        iif(:by_kind, kind, null) as kind,
        part.key as place,
        sum(part.value) as total
    from statistic
    cross join json_each(statistic.counts) as part
    where span = :span
        and statistic.at >= :since
        and statistic.at < :until
        and (:queue is null or statistic.queue = :queue)
        and (:kind is null or statistic.kind = :kind)
    group by 1, 2, 3, 4
)
group by at, queue, kind
order by at, queue, kind
limit :limit;

-- name: read_ended
-- Return how many tasks ended, added up by steps and, if asked, by queue and kind; the oldest
-- first.
select
    minute - minute % :step,
    iif(:by_queue, queue, null),
    iif(:by_kind, kind, null),
    coalesce(sum(count) filter (where state = 'completed'), 0),
    coalesce(sum(count) filter (where state = 'failed'), 0),
    coalesce(sum(count) filter (where state = 'cancelled'), 0)
from tally
where minute >= :since
    and minute < :until
    and (:queue is null or queue = :queue)
    and (:kind is null or kind = :kind)
group by 1, 2, 3
order by 1, 2, 3
limit :limit;

-- name: prune_statistics
-- Forget what was counted for minutes or hours that are long past.
delete from statistic
where (span, at, queue, kind) in (
    select span, at, queue, kind
    from statistic
    where span = :span
        and at < :before
    order by at
    limit :limit
);

-- name: tick
-- Write down that duties were done; not what another node has written just before.
insert into duty (name, at)
select value, :now
from json_each(:names)
where true
on conflict (name) do update
set at = excluded.at
where duty.at < excluded.at - :apart;

-- name: ticks
-- Return when each duty was last done.
select name, at
from duty;

-- name: oldest_ready
-- Return for each queue since when the oldest of the tasks waits that are first in their lanes, as
-- far as so many lanes go.
-- Each step is one descent into the index to the next lane.
with recursive hop (place) as (
    select (
        select rowid
        from ready
        where queue > ''
            and session is null
        order by queue, class, tenant, rank, id
        limit 1
    )
    union all
    select coalesce(
        (
            select rowid
            from ready
            where queue = lane.queue
                and class = lane.class
                and tenant > lane.tenant
                and session is null
            order by tenant, rank, id
            limit 1
        ),
        (
            select rowid
            from ready
            where queue = lane.queue
                and class > lane.class
                and session is null
            order by class, tenant, rank, id
            limit 1
        ),
        (
            select rowid
            from ready
            where queue > lane.queue
                and session is null
            order by queue, class, tenant, rank, id
            limit 1
        )
    )
    from hop
    cross join ready as lane
        on lane.rowid = hop.place
    limit :limit
)
select lane.queue, min(max(lane.run_at, lane.created_at))
from hop
cross join ready as lane
    on lane.rowid = hop.place
where lane.tenant not in (select value from json_each(:paused_tenants))
    and lane.kind not in (select value from json_each(:paused_kinds))
group by lane.queue;

-- name: open_dead_letters
-- Count the dead letters by queue that are still to be dealt with, so many of them at most.
select queue, count(*)
from (
    select queue
    from dead_letter
    where replayed_as is null
        and discarded_at is null
    order by error_group, failed_at, id
    limit :limit
)
group by queue;

-- name: holdings
-- Count what each session holds, by queue.
select session, queue, count(*)
from ready
where session is not null
group by session, queue;

-- name: served
-- Count by tenant the tasks that completed since, so many of them at most; the tallies tell in
-- which queues to look.
select tenant, count(*)
from (
    select done.tenant
    from (
        select distinct queue
        from tally
        where minute >= :minute
    ) as line
    cross join finished as done
        on done.state = 'completed'
        and done.queue = line.queue
        and done.finished_at >= :since
    limit :limit
)
group by tenant;

-- name: add_service
-- Add what a process has counted of its tenants to what is there.
insert into service (span, at, tenant, completed, ran)
select
    value ->> 'span',
    value ->> 'at',
    value ->> 'tenant',
    value ->> 'completed',
    value ->> 'ran'
from json_each(:rows)
where true
on conflict (span, at, tenant) do update
set completed = completed + excluded.completed,
    ran = ran + excluded.ran;

-- name: service_totals
-- Return what each tenant got in all that time; who got most comes first.
select tenant, sum(completed) as completed, sum(ran) as ran
from service
where span = :span
    and at >= :since
    and at < :until
group by tenant
order by completed desc, tenant
limit :limit;

-- name: read_service
-- Return step by step what these tenants got, and in one sum what all others did; the oldest first.
select
    at - at % :step as at,
    iif(tenant in (select value from json_each(:tenants)), tenant, :rest) as tenant,
    sum(completed) as completed,
    sum(ran) as ran
from service
where span = :span
    and service.at >= :since
    and service.at < :until
group by 1, 2
order by 1, 2
limit :limit;

-- name: prune_service
-- Forget what tenants got in minutes or hours that are long past.
delete from service
where (span, at, tenant) in (
    select span, at, tenant
    from service
    where span = :span
        and at < :before
    order by at
    limit :limit
);

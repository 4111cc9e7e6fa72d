-- name: add_statistics
-- Add what a process has counted to what is there, place by place.
-- In the order of the key, so that processes that write at once do not wait for each other in turn.
insert into rota.statistic as statistic (span, at, queue, kind, counts)
select row.span, row.at, row.queue, row.kind, row.counts
from jsonb_to_recordset(:rows::jsonb) as row (
    span bigint, at bigint, queue text, kind text, counts jsonb
)
order by row.span, row.at, row.queue collate "C", row.kind collate "C"
on conflict (span, at, queue, kind) do update
set counts = (
    select jsonb_object_agg(place, total)
    from (
        select key as place, sum(value::bigint) as total
        from (
            select key, value
            from jsonb_each_text(statistic.counts)
            union all
            select key, value
            from jsonb_each_text(excluded.counts)
        ) as part
        group by key
    ) as added
);

-- name: read_statistics
-- Return what was counted, added up by steps and, if asked, by queue and kind; the oldest first.
select at, queue, kind, jsonb_object_agg(place, total)::text as counts
from (
    select
        at - at % :step::bigint as at,
        case when :by_queue::boolean then queue end as queue,
        case when :by_kind::boolean then kind end as kind,
        part.key as place,
        sum(part.value::bigint) as total
    from rota.statistic
    cross join lateral jsonb_each_text(counts) as part
    where span = :span
        and at >= :since
        and at < :until
        and (:queue::text is null or queue = :queue)
        and (:kind::text is null or kind = :kind)
    group by 1, 2, 3, 4
) as added
group by at, queue, kind
order by at, queue, kind
limit :limit;

-- name: read_ended
-- Return how many tasks ended, added up by steps and, if asked, by queue and kind; the oldest
-- first.
select
    minute - minute % :step::bigint as at,
    case when :by_queue::boolean then queue end as queue,
    case when :by_kind::boolean then kind end as kind,
    coalesce(sum(count) filter (where state = 'completed'), 0)::bigint as completed,
    coalesce(sum(count) filter (where state = 'failed'), 0)::bigint as failed,
    coalesce(sum(count) filter (where state = 'cancelled'), 0)::bigint as cancelled
from rota.tally
where minute >= :since
    and minute < :until
    and (:queue::text is null or queue = :queue)
    and (:kind::text is null or kind = :kind)
group by 1, 2, 3
order by 1, 2, 3
limit :limit;

-- name: prune_statistics
-- Forget what was counted for minutes or hours that are long past.
delete from rota.statistic
where ctid = any(array(
    select ctid
    from rota.statistic
    where span = :span
        and at < :before
    order by at
    limit :limit
    for update skip locked
));

-- name: tick
-- Write down that duties were done; not what another node has written just before.
insert into rota.duty as duty (name, at)
select name, :now::bigint
from unnest(:names::text[]) as done (name)
order by name
on conflict (name) do update
set at = excluded.at
where duty.at < excluded.at - :apart::bigint;

-- name: ticks
-- Return when each duty was last done.
select name, at
from rota.duty;

-- name: oldest_ready
-- Return for each queue since when the oldest of the tasks waits that are first in their lanes, as
-- far as so many lanes go.
-- Each step is one descent into the index to the next lane.
with recursive hop as (
    (
        select queue, class, tenant, kind, greatest(run_at, created_at) as since
        from rota.ready
        where session is null
        order by queue, class, tenant, rank, id
        limit 1
    )
    union all
    select next.queue, next.class, next.tenant, next.kind, next.since
    from hop
    cross join lateral (
        select queue, class, tenant, kind, greatest(run_at, created_at) as since
        from rota.ready
        where (queue, class, tenant) > (hop.queue, hop.class, hop.tenant)
            and session is null
        order by queue, class, tenant, rank, id
        limit 1
    ) as next
)
select queue, min(since)
from (
    select queue, tenant, kind, since
    from hop
    limit :limit
) as lane
where tenant <> all(:paused_tenants::text[])
    and kind <> all(:paused_kinds::text[])
group by queue;

-- name: open_dead_letters
-- Count the dead letters by queue that are still to be dealt with, so many of them at most.
select queue, count(*)
from (
    select queue
    from rota.dead_letter
    where replayed_as is null
        and discarded_at is null
    order by error_group, failed_at, id
    limit :limit
) as open
group by queue;

-- name: holdings
-- Count what each session holds, by queue.
select session::text, queue, count(*)
from rota.ready
where session is not null
group by session, queue;

-- name: served
-- Count by tenant the tasks that completed since, so many of them at most.
select tenant, count(*)
from (
    select tenant
    from rota.finished
    where finished_at >= :since
        and state = 'completed'
    order by finished_at desc
    limit :limit
) as done
group by tenant;

-- name: add_service
-- Add what a process has counted of its tenants to what is there.
-- In the order of the key, so that processes that write at once do not wait for each other in turn.
insert into rota.service as service (span, at, tenant, completed, ran)
select row.span, row.at, row.tenant, row.completed, row.ran
from jsonb_to_recordset(:rows::jsonb) as row (
    span bigint, at bigint, tenant text, completed bigint, ran bigint
)
order by row.span, row.at, row.tenant collate "C"
on conflict (span, at, tenant) do update
set completed = service.completed + excluded.completed,
    ran = service.ran + excluded.ran;

-- name: service_totals
-- Return what each tenant got in all that time; who got most comes first.
select tenant, sum(completed)::bigint as completed, sum(ran)::bigint as ran
from rota.service
where span = :span
    and at >= :since
    and at < :until
group by tenant
order by completed desc, tenant
limit :limit;

-- name: read_service
-- Return step by step what these tenants got, and in one sum what all others did; the oldest first.
select
    at - at % :step::bigint as at,
    case when tenant = any(:tenants::text[]) then tenant else :rest end as tenant,
    sum(completed)::bigint as completed,
    sum(ran)::bigint as ran
from rota.service
where span = :span
    and at >= :since
    and at < :until
group by 1, 2
order by 1, 2
limit :limit;

-- name: prune_service
-- Forget what tenants got in minutes or hours that are long past.
delete from rota.service
where ctid = any(array(
    select ctid
    from rota.service
    where span = :span
        and at < :before
    order by at
    limit :limit
    for update skip locked
));

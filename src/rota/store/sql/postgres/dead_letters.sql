-- name: replay
-- Copy dead letters that are still to be dealt with to ready, or to their gate if they have one,
-- under new ids, to begin anew, and write down which copy was made of each; their keys stay with
-- the originals, and an expiry that has passed is left behind. Return the originals and their
-- copies.
with wanted as materialized (
    select id, copy
    from unnest(:ids::uuid[], :copies::uuid[]) as wanted (id, copy)
),
original as (
    update rota.dead_letter
    set replayed_as = wanted.copy,
        replayed_at = :now::bigint
    from wanted
    where dead_letter.id = wanted.id
        and replayed_as is null
        and discarded_at is null
    returning dead_letter.*
),
renewed as (
    select
        replayed_as, kind, queue, tenant, priority, class,
        :now::bigint, :now::bigint + priority * :level::bigint, :now::bigint,
        payload, timeout, retry, case when expires_at > :now then expires_at end, tags, headers,
        checkpoint, id, concurrency_key, max_concurrency, schedule, slot
    from original
),
at_once as (
    insert into rota.ready (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        payload, timeout, retry, expires_at, tags, headers, checkpoint, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    )
    select *
    from renewed
    where concurrency_key is null
    returning replay_of, id
),
through_gate as (
    insert into rota.scheduled (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        payload, timeout, retry, expires_at, tags, headers, checkpoint, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    )
    select *
    from renewed
    where concurrency_key is not null
    returning replay_of, id
)
select replay_of::text, id::text
from at_once
union all
select replay_of::text, id::text
from through_gate;

-- name: replayed_as
-- Return each dead letter that was not discarded, and the copy that was made of it.
select id::text, replayed_as::text
from rota.dead_letter
where id = any(:ids::uuid[])
    and discarded_at is null;

-- name: edit_payload
-- Change the payload of a dead letter that is still to be dealt with.
update rota.dead_letter
set payload = :payload
where id = :id
    and replayed_as is null
    and discarded_at is null;

-- name: discard
-- Set dead letters that are still to be dealt with aside; return which.
update rota.dead_letter
set discarded_at = :now,
    discard_reason = :reason
where id = any(:ids::uuid[])
    and replayed_as is null
    and discarded_at is null
returning id::text;

-- name: restore
-- Take back that dead letters were discarded; return which.
update rota.dead_letter
set discarded_at = null,
    discard_reason = null
where id = any(:ids::uuid[])
    and discarded_at is not null
returning id::text;

-- name: dead_letter_groups
-- Return the groups of dead letters that are still to be dealt with, the largest first; further
-- conditions go after the last one of each inner query. Whose the newest of a group are and in
-- which hours they failed is read of its index alone.
select
    alike.error_group as id,
    newest.kind,
    coalesce(newest.error_type, '') as error_type,
    coalesce(newest.error_shape, '') as shape,
    alike.number as count,
    alike.first_at,
    alike.last_at,
    newest.id::text as sample,
    newest.reason,
    (
        select json_object_agg(tenant, times order by times desc, tenant)
        from (
            select tenant, count(*) as times
            from (
                select tenant
                from rota.dead_letter
                where error_group = alike.error_group
                    and replayed_as is null
                    and discarded_at is null
                order by failed_at desc, id desc
                limit :newest
            ) as latest
            group by tenant
            order by times desc, tenant
            limit :tenants_most
        ) as whose
    )::text as by_tenant,
    (
        select json_object_agg(hour, times)
        from (
            select failed_at - failed_at % 3600000000 as hour, count(*) as times
            from rota.dead_letter
            where error_group = alike.error_group
                and failed_at >= :since
                and replayed_as is null
                and discarded_at is null
            group by hour
        ) as lately
    )::text as by_hour
from (
    select
        error_group,
        count(*) as number,
        min(failed_at) as first_at,
        max(failed_at) as last_at,
        max(id::text collate "C")::uuid as sample
    from rota.dead_letter
    where error_group is not null
        and replayed_as is null
        and discarded_at is null
    group by error_group
    order by number desc, error_group
    limit :limit
) as alike
join rota.dead_letter as newest
    on newest.id = alike.sample
order by alike.number desc, alike.error_group;

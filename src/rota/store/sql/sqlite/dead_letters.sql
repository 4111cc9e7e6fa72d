-- name: replay
-- Copy dead letters without a gate to ready under new ids, to begin anew; their keys stay with the
-- originals, and an expiry that has passed is left behind.
insert into ready (
    id, kind, queue, tenant, priority, run_at, rank, created_at,
    payload, timeout, retry, expires_at, tags, headers, checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    copy.value ->> 'copy', original.kind, original.queue, original.tenant, original.priority,
    :now, :now + original.priority * :level, :now,
    original.payload, original.timeout, original.retry,
    iif(original.expires_at > :now, original.expires_at, null),
    original.tags, original.headers, original.checkpoint, original.id,
    original.concurrency_key, original.max_concurrency, original.schedule, original.slot
from jsonb_each(:copies) as copy
cross join dead_letter as original
    on original.id = copy.value ->> 'id'
    and original.concurrency_key is null;

-- name: replayed_as
-- Return each dead letter that was not discarded, and the copy that was made of it.
select id, replayed_as
from dead_letter
where id in (select value from json_each(:ids))
    and discarded_at is null;

-- name: edit_payload
-- Change the payload of a dead letter that is still to be dealt with.
update dead_letter
set payload = :payload
where id = :id
    and replayed_as is null
    and discarded_at is null;

-- name: discard
-- Set dead letters that are still to be dealt with aside; return which.
update dead_letter
set discarded_at = :now,
    discard_reason = :reason
where id in (select value from json_each(:ids))
    and replayed_as is null
    and discarded_at is null
returning id;

-- name: restore
-- Take back that dead letters were discarded; return which.
update dead_letter
set discarded_at = null,
    discard_reason = null
where id in (select value from json_each(:ids))
    and discarded_at is not null
returning id;

-- name: dead_letter_groups
-- Return the groups of dead letters that are still to be dealt with, the largest first, each as
-- JSON; further conditions go after the last one of each inner query. Whose the newest of a group
-- are and in which hours they failed is read of its index alone.
select
    json_object(
        'id', alike.error_group,
        'kind', newest.kind,
        'error_type', coalesce(newest.error_type, ''),
        'shape', coalesce(newest.error_shape, ''),
        'count', alike.number,
        'first_at', alike.first_at,
        'last_at', alike.last_at,
        'sample', newest.id,
        'reason', newest.reason,
        'by_tenant', json((
            select json_group_object(tenant, times)
            from (
                select tenant, count(*) as times
                from (
                    select tenant
                    from dead_letter indexed by dead_letter_open
                    where error_group = alike.error_group
                        and replayed_as is null
                        and discarded_at is null
                    order by failed_at desc, id desc
                    limit :newest
                )
                group by tenant
                order by times desc, tenant
                limit :tenants_most
            )
        )),
        'by_hour', json((
            select json_group_object(cast(hour as text), times)
            from (
                select failed_at - failed_at % 3600000000 as hour, count(*) as times
                from dead_letter indexed by dead_letter_open
                where error_group = alike.error_group
                    and failed_at >= :since
                    and replayed_as is null
                    and discarded_at is null
                group by hour
            )
        ))
    )
from (
    select
        error_group,
        count(*) as number,
        min(failed_at) as first_at,
        max(failed_at) as last_at,
        max(id) as sample
    from dead_letter
    where error_group is not null
        and replayed_as is null
        and discarded_at is null
    group by error_group
    order by number desc, error_group
    limit :limit
) as alike
cross join dead_letter as newest
    on newest.id = alike.sample
order by alike.number desc, alike.error_group;

-- name: mark_replayed
-- Write down which copy was made of each dead letter.
update dead_letter as original
set replayed_as = copy.value ->> 'copy',
    replayed_at = :now
from jsonb_each(:copies) as copy
where original.id = copy.value ->> 'id';

-- name: replay_gated
-- Copy dead letters with a gate to scheduled, likewise.
insert into scheduled (
    id, kind, queue, tenant, priority, run_at, rank, created_at,
    payload, timeout, retry, expires_at, tags, headers, checkpoint, replay_of,
    concurrency_key, max_concurrency, schedule, slot
)
select
    copy.value ->> 'copy', original.kind, original.queue, original.tenant, original.priority,
    :now, :now + original.priority * :level, :now,
    original.payload, original.timeout, original.retry,
    iif(original.expires_at > :now, original.expires_at, null),
    original.tags, original.headers, original.checkpoint, original.id,
    original.concurrency_key, original.max_concurrency, original.schedule, original.slot
from jsonb_each(:copies) as copy
cross join dead_letter as original
    on original.id = copy.value ->> 'id'
    and original.concurrency_key is not null;

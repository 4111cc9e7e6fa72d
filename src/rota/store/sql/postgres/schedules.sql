-- name: create_schedule
-- Store a schedule unless there is one with its id or its name.
insert into rota.schedule (
    id, name, source, kind, tenant, rule, policy, work, version, created_at, updated_at, cursor,
    next_slot, next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
)
values (
    :id, :name, :source, :kind, :tenant, :rule, :policy, :work, :version, :created_at,
    :updated_at, :cursor, :next_slot, :next_at, :tz_data, :paused_at, :pause_reason, :last_slot,
    :last_fired_at, :fired, :skipped
)
on conflict do nothing;

-- name: has_schedule
-- Say whether there is a schedule with this id.
select exists (
    select
    from rota.schedule
    where id = :id
);

-- name: change_schedule
-- Replace what a schedule says that is at this version and cursor, and record what it skips; return
-- its id. What it has done is left as it is.
with skip as materialized (
    select first, last, count, state
    from jsonb_to_recordset(:skips::jsonb) as skip (
        first bigint, last bigint, count bigint, state text
    )
),
changed as (
    update rota.schedule
    set name = :name,
        source = :source,
        kind = :kind,
        tenant = :tenant,
        rule = :rule,
        policy = :policy,
        work = :work,
        version = :version,
        updated_at = :updated_at,
        cursor = :cursor,
        next_slot = :next_slot,
        next_at = :next_at,
        tz_data = :tz_data,
        paused_at = :paused_at,
        pause_reason = :pause_reason,
        skipped = skipped + :more_skipped
    where id = :id
        and version = :old_version
        and cursor = :old_cursor
        and not exists (
            select
            from rota.schedule as other
            where other.name = :name
                and other.id <> :id
        )
    returning id
),
noted as (
    insert into rota.skip (schedule, first, last, count, state, at)
    select changed.id, first, last, count, state, :updated_at
    from changed
    cross join skip
)
select id
from changed;

-- name: remove_schedule
-- Remove a schedule; the record of its slots goes afterwards.
delete from rota.schedule
where id = :id;

-- name: forget_slots
-- Remove some of the record of a schedule's slots.
delete from rota.slot
where ctid = any(array(
    select ctid
    from rota.slot
    where schedule = :id
    limit :limit
    for update skip locked
));

-- name: forget_skips
-- Remove some of the record of what a schedule skipped.
delete from rota.skip
where ctid = any(array(
    select ctid
    from rota.skip
    where schedule = :id
    limit :limit
    for update skip locked
));

-- name: get_schedules
-- Return the schedules that have these ids or these names.
select
    id::text, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from rota.schedule
where id = any(:ids::uuid[])
    or name = any(:names::text[]);

-- name: find_schedules
-- Return matching schedules in the order of their names.
select
    id::text, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from rota.schedule
where name > :after
    and (:source::text is null or source = :source)
    and (:kind::text is null or kind = :kind)
    and (:tenant::text is null or tenant = :tenant)
    and (:paused::boolean is null or (paused_at is not null) = :paused)
order by name
limit :limit;

-- name: live
-- Count the tasks of each schedule that are not over, up to `cap`, in the order asked for.
select (
    select count(*)
    from (
        select *
        from (
            select
            from rota.ready
            where schedule = wanted.id
            limit :cap
        ) as begun
        union all
        select *
        from (
            select
            from rota.scheduled
            where schedule = wanted.id
            limit :cap
        ) as waiting
        limit :cap
    ) as task
)
from unnest(:ids::uuid[]) with ordinality as wanted (id, place)
order by place;

-- name: due_schedules
-- Return schedules that are to be fired, the earliest first, each with how many of its tasks are
-- not over, up to `cap`.
select
    id::text, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped,
    (
        select count(*)
        from (
            select *
            from (
                select
                from rota.ready
                where ready.schedule = due.id
                limit :cap
            ) as begun
            union all
            select *
            from (
                select
                from rota.scheduled
                where scheduled.schedule = due.id
                limit :cap
            ) as waiting
            limit :cap
        ) as task
    ) as live
from (
    select *
    from rota.schedule
    where paused_at is null
        and next_at is not null
        and next_at <= :now
    order by next_at
    limit :limit
) as due
order by next_at;

-- name: next_firing
-- Return when the next schedule is to be fired.
select min(next_at)
from rota.schedule
where paused_at is null
    and next_at is not null;

-- name: outdated_schedules
-- Return schedules with a next slot that was worked out with other time zone data.
select
    id::text, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from (
    select *
    from (
        select *
        from rota.schedule
        where next_slot is not null
            and tz_data < :tz_data
        limit :limit
    ) as older
    union all
    select *
    from (
        select *
        from rota.schedule
        where next_slot is not null
            and tz_data > :tz_data
        limit :limit
    ) as newer
) as outdated
limit :limit;

-- name: fire
-- Carry out firings in one transaction; return the places of those that applied.
select place
from rota.fire(:firings::jsonb, :now, :most, :reason);

-- name: fire_extra
-- Make tasks of a schedule besides its firings; say for each whether it was made.
select made
from rota.fire_extra(:id, :runs::jsonb, :now, :slots);

-- name: slots
-- Return what became of a schedule's slots before an instant, the newest first; more than asked for
-- if several share the last instant.
with newest as materialized (
    select slot
    from (
        select *
        from (
            select slot
            from rota.slot
            where schedule = :id
                and slot < :before
            order by slot desc
            limit :limit
        ) as fired
        union all
        select *
        from (
            select first
            from rota.skip
            where schedule = :id
                and first < :before
            order by first desc
            limit :limit
        ) as skipped
    ) as either
    order by slot desc
    limit :limit
)
select slot, 'fired' as state, fired_at as at, task_id::text, backfilled, null::bigint as last,
    1::bigint as count
from rota.slot
where schedule = :id
    and slot < :before
    and slot >= (select min(slot) from newest)
union all
select first, state, at, null, false, case when last > first then last end, count
from rota.skip
where schedule = :id
    and first < :before
    and first >= (select min(slot) from newest)
order by slot desc, at desc, last;

-- name: slots_of
-- Return what became of the newest slots of each schedule before an instant, each with its place in
-- what was asked for; more of one than asked for if several share the last instant.
with wanted as materialized (
    select place, id, (
        select min(slot)
        from (
            select slot
            from (
                select *
                from (
                    select slot
                    from rota.slot
                    where schedule = asked.id
                        and slot < :before
                    order by slot desc
                    limit :limit
                ) as fired
                union all
                select *
                from (
                    select first
                    from rota.skip
                    where schedule = asked.id
                        and first < :before
                    order by first desc
                    limit :limit
                ) as skipped
            ) as either
            order by slot desc
            limit :limit
        ) as newest
    ) as since
    from unnest(:ids::uuid[]) with ordinality as asked (id, place)
)
select place, slot, 'fired' as state, fired_at as at, task_id::text, backfilled,
    null::bigint as last, 1::bigint as count
from wanted
cross join lateral (
    select *
    from rota.slot
    where schedule = wanted.id
        and slot < :before
        and slot >= wanted.since
) as fired
union all
select place, first, state, at, null, false, case when last > first then last end, count
from wanted
cross join lateral (
    select *
    from rota.skip
    where schedule = wanted.id
        and first < :before
        and first >= wanted.since
) as skipped
order by place, slot desc, at desc, last;

-- name: slot_tasks
-- Return what became of the tasks of slots, as far as they are kept.
select id::text, 'scheduled' as state, attempt, null::bigint as started_at,
    null::bigint as finished_at
from rota.scheduled
where id = any(:ids::uuid[])
union all
select id::text, case when session is null then 'ready' else 'running' end, attempt, started_at,
    null::bigint
from rota.ready
where id = any(:ids::uuid[])
union all
select id::text, 'failed', attempt, started_at, failed_at
from rota.dead_letter
where id = any(:ids::uuid[])
union all
select id::text, state, attempt, started_at, finished_at
from rota.finished
where id = any(:ids::uuid[]);

-- name: prune_slots
-- Forget slots that became tasks long ago.
delete from rota.slot
where ctid = any(array(
    select ctid
    from rota.slot
    where fired_at < :before
    limit :limit
    for update skip locked
));

-- name: prune_skips
-- Forget slots that were skipped long ago.
delete from rota.skip
where ctid = any(array(
    select ctid
    from rota.skip
    where at < :before
    limit :limit
    for update skip locked
));

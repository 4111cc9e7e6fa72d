-- name: create_schedule
-- Store a schedule unless there is one with its id or its name.
insert into schedule (
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
    select 1
    from schedule
    where id = :id
);

-- name: change_schedule
-- Replace what a schedule says that is at this version and cursor. What it has done is left as it
-- is, but for what is skipped with this.
update schedule
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
        select 1
        from schedule as other
        where other.name = :name
            and other.id <> :id
    );

-- name: note_skips
-- Record slots of schedules of which no tasks were made.
insert into skip (schedule, first, last, count, state, at)
select
    value ->> 'schedule',
    value ->> 'first',
    value ->> 'last',
    value ->> 'count',
    value ->> 'state',
    :now
from jsonb_each(:skips);

-- name: remove_schedule
-- Remove a schedule; the record of its slots goes afterwards.
delete from schedule
where id = :id;

-- name: forget_slots
-- Remove some of the record of a schedule's slots.
delete from slot
where rowid in (
    select rowid
    from slot
    where schedule = :id
    limit :limit
);

-- name: forget_skips
-- Remove some of the record of what a schedule skipped.
delete from skip
where rowid in (
    select rowid
    from skip
    where schedule = :id
    limit :limit
);

-- name: get_schedules
-- Return the schedules that have these ids or these names.
select
    id, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from schedule
where id in (select value from json_each(:names))
    or name in (select value from json_each(:names));

-- name: find_schedules
-- Return matching schedules in the order of their names.
select
    id, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from schedule
where name > :after
    and (:source is null or source = :source)
    and (:kind is null or kind = :kind)
    and (:tenant is null or tenant = :tenant)
    and (:paused is null or (paused_at is not null) = :paused)
order by name
limit :limit;

-- name: live
-- Count the tasks of each schedule that are not over, up to `cap`, in the order asked for.
select (
    select count(*)
    from (
        select 1
        from (
            select 1
            from ready
            where schedule = wanted.value
            limit :cap
        )
        union all
        select 1
        from (
            select 1
            from scheduled
            where schedule = wanted.value
            limit :cap
        )
        limit :cap
    )
)
from json_each(:ids) as wanted
order by wanted.key;

-- name: due_schedules
-- Return schedules that are to be fired, the earliest first, each with how many of its tasks are
-- not over, up to `cap`.
select
    id, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped,
    (
        select count(*)
        from (
            select 1
            from (
                select 1
                from ready
                where ready.schedule = due.id
                limit :cap
            )
            union all
            select 1
            from (
                select 1
                from scheduled
                where scheduled.schedule = due.id
                limit :cap
            )
            limit :cap
        )
    )
from schedule as due
where paused_at is null
    and next_at is not null
    and next_at <= :now
order by next_at
limit :limit;

-- name: next_firing
-- Return when the next schedule is to be fired.
select min(next_at)
from schedule
where paused_at is null
    and next_at is not null;

-- name: outdated_schedules
-- Return schedules with a next slot that was worked out with other time zone data.
select
    id, name, source, rule, policy, work, version, created_at, updated_at, cursor, next_slot,
    next_at, tz_data, paused_at, pause_reason, last_slot, last_fired_at, fired, skipped
from (
    select *
    from (
        select *
        from schedule
        where next_slot is not null
            and tz_data < :tz_data
        limit :limit
    )
    union all
    select *
    from (
        select *
        from schedule
        where next_slot is not null
            and tz_data > :tz_data
        limit :limit
    )
)
limit :limit;

-- name: expected_firings
-- Return the places of firings whose schedules are as they expect and not paused, as JSON; of two
-- for one schedule the first.
select json_group_array(place)
from (
    select min(firing.key) as place
    from json_each(:expected) as firing
    cross join schedule
        on schedule.id = firing.value ->> 0
        and schedule.version = firing.value ->> 1
        and schedule.cursor = firing.value ->> 2
        and schedule.paused_at is null
    group by schedule.id
);

-- name: take_slots
-- Record tasks for their slots, apart from slots that have one already.
insert into slot (schedule, slot, task_id, fired_at, backfilled)
select
    value ->> 'schedule',
    value ->> 'slot',
    value ->> 'task_id',
    :now,
    :backfilled
from jsonb_each(:runs)
where true
on conflict do nothing;

-- name: holding_slots
-- Return which of these tasks have their slots, as JSON.
select json_group_array(run.value ->> 'task_id')
from jsonb_each(:runs) as run
cross join slot
    on slot.schedule = run.value ->> 'schedule'
    and slot.slot = run.value ->> 'slot'
    and slot.task_id = run.value ->> 'task_id';

-- name: live_ids
-- Return the ids of the tasks of some schedules that are not over, as JSON.
select json_group_array(id)
from (
    select task.id
    from json_each(:ids) as wanted
    cross join scheduled as task
        on task.schedule = wanted.value
    union all
    select task.id
    from json_each(:ids) as wanted
    cross join ready as task
        on task.schedule = wanted.value
);

-- name: fire
-- Bring schedules to where their firings say, and count what was made and skipped.
update schedule
set cursor = change.value ->> 'cursor',
    next_slot = change.value ->> 'next_slot',
    next_at = change.value ->> 'next_at',
    tz_data = coalesce(change.value ->> 'tz_data', tz_data),
    last_slot = iif(
        last_slot >= change.value ->> 'last_slot',
        last_slot,
        coalesce(change.value ->> 'last_slot', last_slot)
    ),
    last_fired_at = iif(change.value ->> 'fired', :now, last_fired_at),
    fired = fired + (change.value ->> 'fired'),
    skipped = skipped + (change.value ->> 'skipped')
from jsonb_each(:changes) as change
where schedule.id = change.value ->> 'id';

-- name: slots
-- Return what became of a schedule's slots before an instant, the newest first; more than asked for
-- if several share the last instant.
with newest (slot) as materialized (
    select slot
    from (
        select *
        from (
            select slot
            from slot
            where schedule = :id
                and slot < :before
            order by slot desc
            limit :limit
        )
        union all
        select *
        from (
            select first
            from skip
            where schedule = :id
                and first < :before
            order by first desc
            limit :limit
        )
    )
    order by slot desc
    limit :limit
)
select slot, 'fired' as state, fired_at as at, task_id, backfilled, null as last, 1 as count
from slot
where schedule = :id
    and slot < :before
    and slot >= (select min(slot) from newest)
union all
select first, state, at, null, 0, iif(last > first, last, null), count
from skip
where schedule = :id
    and first < :before
    and first >= (select min(slot) from newest)
order by 1 desc, 3 desc, 6;

-- name: slots_of
-- Return what became of the newest slots of each schedule before an instant, each with its place in
-- what was asked for; more of one than asked for if several share the last instant.
with wanted (place, id, since) as materialized (
    select key, value, (
        select min(slot)
        from (
            select slot
            from (
                select *
                from (
                    select slot
                    from slot
                    where schedule = asked.value
                        and slot < :before
                    order by slot desc
                    limit :limit
                )
                union all
                select *
                from (
                    select first
                    from skip
                    where schedule = asked.value
                        and first < :before
                    order by first desc
                    limit :limit
                )
            )
            order by slot desc
            limit :limit
        )
    )
    from json_each(:ids) as asked
)
select place, slot, 'fired' as state, fired_at as at, task_id, backfilled, null as last, 1 as count
from wanted
cross join slot as fired
    on fired.schedule = wanted.id
    and fired.slot < :before
    and fired.slot >= wanted.since
union all
select place, first, state, at, null, 0, iif(last > first, last, null), count
from wanted
cross join skip as skipped
    on skipped.schedule = wanted.id
    and skipped.first < :before
    and skipped.first >= wanted.since
order by 1, 2 desc, 4 desc, 7;

-- name: slot_tasks
-- Return what became of the tasks of slots, as far as they are kept.
select id, state, attempt, started_at, finished_at
from task
where id in (select value from json_each(:ids));

-- name: prune_slots
-- Forget slots that became tasks long ago.
delete from slot
where rowid in (
    select rowid
    from slot
    where fired_at < :before
    limit :limit
);

-- name: prune_skips
-- Forget slots that were skipped long ago.
delete from skip
where rowid in (
    select rowid
    from skip
    where at < :before
    limit :limit
);

-- name: settings
-- Return the version of the settings, all settings and all limits, as of one moment; as JSON.
select
    (select version from rota.settings_version where one),
    (
        select coalesce(json_agg(json_build_array(noun, version, body)), '[]')
        from rota.setting
    ),
    (
        select coalesce(json_agg(row_to_json(lane_limit) order by queue, tenant), '[]')
        from rota.lane_limit
    );

-- name: settings_version
-- Return the version of the settings.
select version
from rota.settings_version
where one;

-- name: put_settings
-- Store settings in the place of those with this version, 0 if there are none; say whether.
with added as (
    insert into rota.setting (noun, name, body, version)
    select :noun::text, :name::text, :body::jsonb, 1
    where :old_version::bigint = 0
    on conflict do nothing
    returning 1
),
changed as (
    update rota.setting
    set body = :body::jsonb,
        version = version + 1
    where noun = :noun::text
        and name = :name::text
        and version = :old_version::bigint
    returning 1
)
update rota.settings_version
set version = version + 1
where one
    and (exists (select from added) or exists (select from changed));

-- name: drop_settings
-- Forget settings that have this version; say whether they were there.
with gone as (
    delete from rota.setting
    where noun = :noun
        and name = :name
        and version = :old_version
    returning 1
)
update rota.settings_version
set version = version + 1
where one
    and exists (select from gone);

-- name: put_limit
-- Store a limit in the place of the one with its id and this version, 0 for a new one; say whether.
-- Tokens begin with the burst; a change keeps those that are left.
with added as (
    insert into rota.lane_limit (
        id, queue, tenant, max_running, rate, burst, tokens, filled_at, version
    )
    select
        :id::text, :queue::text, :tenant::text, :max_running::int, :rate::float8, :burst::int,
        coalesce(:burst::int, 0), :filled_at::bigint, 1
    where :old_version::bigint = 0
    on conflict do nothing
    returning 1
),
changed as (
    update rota.lane_limit
    set queue = :queue::text,
        tenant = :tenant::text,
        max_running = :max_running::int,
        rate = :rate::float8,
        burst = :burst::int,
        tokens = case
            when :burst::int is null then 0
            when rate is null then :burst::int
            else least(tokens, :burst::int)
        end,
        version = version + 1
    where id = :id::text
        and version = :old_version::bigint
    returning 1
)
update rota.settings_version
set version = version + 1
where one
    and (exists (select from added) or exists (select from changed));

-- name: drop_limit
-- Remove a limit; say whether it was there.
with gone as (
    delete from rota.lane_limit
    where id = :id
    returning 1
)
update rota.settings_version
set version = version + 1
where one
    and exists (select from gone);

-- name: limit_use
-- Return limits as JSON, each with how many tasks run under it.
select row_to_json(lane_limit), task.running
from rota.running(:ids::text[]) as task
join rota.lane_limit
    on lane_limit.id = task.id;

-- name: queue_depths
-- Count the ready tasks of each queue that wait, in order, each up to a cap.
select counted.waiting
from unnest(:names::text[]) as wanted (name)
cross join lateral (
    select count(*) as waiting
    from (
        select
        from rota.ready
        where queue = wanted.name
            and session is null
            and cancel_requested_at is null
        limit :cap
    ) as task
) as counted;

-- name: tenant_depths
-- Count the ready tasks of each tenant that wait, in order, each up to a cap.
-- Each step is one descent into the index to the next class of the next queue.
with recursive hop as (
    (
        select queue, class
        from rota.ready
        where session is null
        order by queue, class
        limit 1
    )
    union all
    select next.queue, next.class
    from hop
    cross join lateral (
        select queue, class
        from rota.ready
        where (queue, class) > (hop.queue, hop.class)
            and session is null
        order by queue, class
        limit 1
    ) as next
)
select counted.waiting
from unnest(:names::text[]) as wanted (name)
cross join lateral (
    select count(*) as waiting
    from (
        select
        from hop
        cross join lateral (
            select
            from rota.ready
            where queue = hop.queue
                and class = hop.class
                and tenant = wanted.name
                and session is null
                and cancel_requested_at is null
            limit :cap
        ) as task
        limit :cap
    ) as task
) as counted;

-- name: queues_with_work
-- Return the queues that have a ready task, in order.
-- Each step is one descent into the index to the next queue.
with recursive hop as (
    (
        select queue
        from rota.ready
        where session is null
            and cancel_requested_at is null
        order by queue
        limit 1
    )
    union all
    select next.queue
    from hop
    cross join lateral (
        select queue
        from rota.ready
        where queue > hop.queue
            and session is null
            and cancel_requested_at is null
        order by queue
        limit 1
    ) as next
)
select queue
from hop
limit :limit;

-- name: settings
-- Return the version of the settings, all settings and all limits, as of one moment; as JSON.
select
    (select version from settings_version),
    (select json_group_array(json_array(noun, version, json(body))) from setting),
    (
        select
            json_group_array(
                json_object(
                    'id', id,
                    'queue', queue,
                    'tenant', tenant,
                    'max_running', max_running,
                    'rate', rate,
                    'burst', burst,
                    'tokens', tokens,
                    'filled_at', filled_at,
                    'version', version
                )
                order by queue nulls last, tenant nulls last
            )
        from lane_limit
    );

-- name: settings_version
-- Return the version of the settings.
select version
from settings_version;

-- name: put_settings
-- Store settings in the place of those with this version, 0 if there are none.
insert into setting (noun, name, body, version)
select :noun, :name, :body, :old_version + 1
where :old_version = 0
    or exists (
        select 1
        from setting
        where noun = :noun
            and name = :name
            and version = :old_version
    )
on conflict (noun, name) do update
set body = excluded.body,
    version = excluded.version
where setting.version = :old_version;

-- name: drop_settings
-- Forget settings that have this version.
delete from setting
where noun = :noun
    and name = :name
    and version = :old_version;

-- name: put_limit
-- Store a limit in the place of the one with its id and this version, 0 for a new one.
-- Tokens begin with the burst; a change keeps those that are left.
insert into lane_limit (id, queue, tenant, max_running, rate, burst, tokens, filled_at, version)
select
    :id, :queue, :tenant, :max_running, :rate, :burst,
    coalesce(:burst, 0), :filled_at, :old_version + 1
where not exists (
    select 1
    from lane_limit
    where id <> :id
        and coalesce(queue, '') = coalesce(:queue, '')
        and (tenant is null) = (:tenant is null)
        and coalesce(tenant, '') = coalesce(:tenant, '')
)
    and (:old_version = 0 or exists (
        select 1
        from lane_limit
        where id = :id
            and version = :old_version
    ))
on conflict (id) do update
set queue = excluded.queue,
    tenant = excluded.tenant,
    max_running = excluded.max_running,
    rate = excluded.rate,
    burst = excluded.burst,
    tokens = case
        when excluded.burst is null then 0
        when lane_limit.rate is null then excluded.burst
        else min(lane_limit.tokens, excluded.burst)
    end,
    version = excluded.version
where lane_limit.version = :old_version;

-- name: drop_limit
-- Remove a limit.
delete from lane_limit
where id = :id;

-- name: raise_version
-- Count a change of the settings.
update settings_version
set version = version + 1;

-- name: limit_use
-- Return limits as JSON.
select
    json_object(
        'id', id,
        'queue', queue,
        'tenant', tenant,
        'max_running', max_running,
        'rate', rate,
        'burst', burst,
        'tokens', tokens,
        'filled_at', filled_at,
        'version', version
    )
from lane_limit
where id in (select value from json_each(:ids));

-- name: running
-- Count what runs by queue and tenant.
select queue, tenant, count(*)
from ready
where session is not null
group by queue, tenant;

-- name: spend
-- Write down the tokens that are left of limits.
update lane_limit
set tokens = used.value ->> 'tokens',
    filled_at = used.value ->> 'filled_at'
from json_each(:used) as used
where lane_limit.id = used.value ->> 'id';

-- name: queue_depths
-- Count the ready tasks of each queue that wait, in order, each up to a cap.
select
    (
        select count(*)
        from (
            select 1
            from ready
            where queue = wanted.value
                and session is null
                and cancel_requested_at is null
            limit :cap
        )
    )
from json_each(:names) as wanted;

-- name: tenant_depths
-- Count the ready tasks of each tenant that wait, in order, each up to a cap.
-- Each step is one descent into the index to the next class of a queue, or of the next queue.
with recursive hop (queue, class) as materialized (
    select *
    from (
        select queue, class
        from ready
        where queue > ''
            and session is null
        order by queue, class
        limit 1
    )
    union all
    select next.queue, next.class
    from hop
    cross join ready as next
        on next.rowid = coalesce(
            (
                select rowid
                from ready
                where queue = hop.queue
                    and class > hop.class
                    and session is null
                order by class
                limit 1
            ),
            (
                select rowid
                from ready
                where queue > hop.queue
                    and session is null
                order by queue, class
                limit 1
            )
        )
)
select
    (
        select count(*)
        from (
            select 1
            from hop
            cross join ready
                on ready.queue = hop.queue
                and ready.class = hop.class
                and ready.tenant = wanted.value
                and ready.session is null
                and ready.cancel_requested_at is null
            limit :cap
        )
    )
from json_each(:names) as wanted;

-- name: queues_with_work
-- Return the queues that have a ready task, in order, as JSON.
-- Each step is one descent into the index to the next queue.
with recursive hop (queue) as (
    select (
        select queue
        from ready
        where queue > ''
            and session is null
            and cancel_requested_at is null
        order by queue
        limit 1
    )
    union all
    select (
        select queue
        from ready
        where queue > hop.queue
            and session is null
            and cancel_requested_at is null
        order by queue
        limit 1
    )
    from hop
    where hop.queue is not null
)
select json_group_array(queue)
from (
    select queue
    from hop
    where queue is not null
    limit :limit
);

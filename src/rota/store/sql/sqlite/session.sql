-- name: open_session
-- Register a session; one that is registered already stays as it is.
insert into session (
    id, name, host, pid, version, queues, kinds, slots, started_at, lease_until, closed_at,
    process, owner, heard_at
)
values (
    :id, :name, :host, :pid, :version, :queues, :kinds, :slots, :started_at, :lease_until,
    :closed_at, :process, :owner, :started_at
)
on conflict (id) do nothing;

-- name: renew_session
-- Renew the lease of a session that is not over; return whether it is asked to stop anything, and
-- whether to drain.
update session
set lease_until = :lease_until,
    heard_at = :now
where id = :session
    and closed_at is null
    and lease_until > :now
returning exists (
    select 1
    from ready
    where session = :session
        and cancel_requested_at is not null
), drain_at is not null;

-- name: close_session
-- End a session; one that is over already stays as it is.
update session
set closed_at = :now
where id = :session
    and closed_at is null;

-- name: end_expired_sessions
-- End the sessions whose lease has run out.
update session
set closed_at = :now
where id in (
    select id
    from session
    where closed_at is null
        and lease_until <= :now
    order by lease_until
    limit :limit
);

-- name: ended_sessions_holding
-- Return the sessions that are over and still hold tasks.
select id
from session
where closed_at is not null
    and exists (
        select 1
        from ready
        where ready.session = session.id
    )
order by closed_at
limit :limit;

-- name: list_sessions
-- Return the sessions, newest first; with `live_at` those that are alive at that time.
select
    json_object(
        'id', id,
        'name', name,
        'host', host,
        'pid', pid,
        'version', version,
        'queues', json(queues),
        'kinds', json(kinds),
        'slots', slots,
        'started_at', started_at,
        'lease_until', lease_until,
        'closed_at', closed_at,
        'process', process,
        'owner', owner,
        'drain_at', drain_at,
        'heard_at', heard_at
    )
from session
where :live_at is null
    or (closed_at is null and lease_until > :live_at)
order by started_at desc, id desc;

-- name: prune_sessions
-- Forget the sessions that ended before and hold nothing.
delete from session
where closed_at < :ended_before
    and not exists (
        select 1
        from ready
        where ready.session = session.id
    );

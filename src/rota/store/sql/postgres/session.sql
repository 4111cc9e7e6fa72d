-- name: open_session
-- Register a session; one that is registered already stays as it is.
insert into rota.session (
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
update rota.session
set lease_until = :lease_until,
    heard_at = :now
where id = :session
    and closed_at is null
    and lease_until > :now
returning exists (
    select
    from rota.ready
    where session = :session
        and cancel_requested_at is not null
), drain_at is not null;

-- name: close_session
-- End a session; one that is over already stays as it is.
update rota.session
set closed_at = :now
where id = :session
    and closed_at is null;

-- name: end_expired_sessions
-- End the sessions whose lease has run out.
update rota.session
set closed_at = :now
where id = any(array(
    select id
    from rota.session
    where closed_at is null
        and lease_until <= :now
    order by lease_until
    limit :limit
    for update skip locked
));

-- name: ended_sessions_holding
-- Return the sessions that are over and still hold tasks.
select id::text
from rota.session
where closed_at is not null
    and (
        select true
        from rota.ready
        where session = rota.session.id
        limit 1
    )
order by closed_at
limit :limit;

-- name: list_sessions
-- Return the sessions, newest first; with `live_at` those that are alive at that time.
select
    id::text, name, host, pid, version, queues, kinds, slots, started_at, lease_until, closed_at,
    process, owner, drain_at, heard_at
from rota.session
where :live_at::bigint is null
    or (closed_at is null and lease_until > :live_at)
order by started_at desc, session.id desc;

-- name: prune_sessions
-- Forget the sessions that ended before and hold nothing.
delete from rota.session
where closed_at < :ended_before
    and (
        select true
        from rota.ready
        where session = rota.session.id
        limit 1
    ) is null;

-- name: read_clock
-- Return the server's clock.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint;

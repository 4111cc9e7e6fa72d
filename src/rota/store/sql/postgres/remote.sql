-- name: standing
-- Return what a session may do: whose it is, how far its claims are, until when it lives.
select id::text, owner, claimed, claim_open, lease_until, closed_at, drain_at
from rota.session
where id = :session;

-- name: begin_claim
-- Begin the claim of this number for a session that lives; a number that is not new begins nothing.
update rota.session
set claimed = :number,
    claim_open = true
where id = :session
    and closed_at is null
    and lease_until > :now
    and claimed < :number
returning id;

-- name: end_claim
-- See to it that nothing more is taken under this number; waits for a take that is under way.
update rota.session
set claim_open = false
where id = :session
    and claimed = :number
    and claim_open;

-- name: drain_session
-- Ask a session that is not over to drain.
update rota.session
set drain_at = coalesce(drain_at, :now)
where id = :session
    and closed_at is null
returning id;

-- name: take_numbered
-- Do what `take` does, for the session's newest claim alone; who repeats that waits meanwhile.
-- Its words are those of `take`, which is spared the lock of the session: it is the hot one. A test
-- holds the two together.
with mine as materialized (
    select id
    from rota.session
    where id = :session
        and closed_at is null
        and lease_until > :now
        and claimed = :number
        and claim_open
    for share
),
chosen as materialized (
    select task.place
    from unnest(:queues::text[], :classes::smallint[], :tenants::text[], :counts::int[])
        as share (queue, class, tenant, count)
    cross join lateral (
        select ctid as place
        from rota.ready
        where queue = share.queue
            and class = share.class
            and tenant = share.tenant
            and session is null
            and cancel_requested_at is null
            and kind <> all(:avoid::text[])
        order by rank, id
        limit share.count
        for update skip locked
    ) as task
    where exists (
        select from rota.settings_version
        where one
            and version = :version
    )
        and exists (
            select from mine
        )
)
update rota.ready
set session = :session,
    fence = fence + 1,
    attempt = attempt + 1,
    started_at = :now
from chosen
where ready.ctid = chosen.place
returning
    id::text, fence, attempt, lost, snoozes, kind, queue, tenant, priority, run_at, created_at,
    payload, timeout, retry, expires_at, headers, checkpoint,
    concurrency_key, schedule::text, slot;

-- name: take_numbered_limited
-- Do what `take_limited` does, for the session's newest claim alone.
-- The function is called once for the row that was found and locked, and not at all without it.
with mine as materialized (
    select id
    from rota.session
    where id = :session
        and closed_at is null
        and lease_until > :now
        and claimed = :number
        and claim_open
    for share
)
select taken.*
from mine
cross join lateral rota.take(
    mine.id, :queues::text[], :classes::smallint[], :tenants::text[], :counts::int[],
    :bound::int[], :limits::text[], :avoid::text[], :now::bigint, :version::bigint
) as taken;

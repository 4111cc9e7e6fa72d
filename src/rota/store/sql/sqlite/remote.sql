-- name: standing
-- Return what a session may do: whose it is, how far its claims are, until when it lives.
select id, owner, claimed, claim_open, lease_until, closed_at, drain_at
from session
where id = :session;

-- name: begin_claim
-- Begin the claim of this number for a session that lives; a number that is not new begins nothing.
update session
set claimed = :number,
    claim_open = 1
where id = :session
    and closed_at is null
    and lease_until > :now
    and claimed < :number
returning id;

-- name: end_claim
-- See to it that nothing more is taken under this number; waits for a take that is under way.
update session
set claim_open = 0
where id = :session
    and claimed = :number
    and claim_open;

-- name: drain_session
-- Ask a session that is not over to drain.
update session
set drain_at = coalesce(drain_at, :now)
where id = :session
    and closed_at is null
returning id;

-- name: goes_on
-- Say whether this is the newest claim of its session, and still goes on.
select exists (
    select 1
    from session
    where id = :session
        and claimed = :number
        and claim_open
);

-- name: waiting_kinds
-- Return for each kind in a queue how many of its tasks wait, as far as the first `cap` tasks tell,
-- and when the earliest of them was due.
select queue, kind, count(*), min(run_at)
from (
    select queue, kind, run_at
    from ready
    where queue = :queue
        and session is null
    limit :cap
)
group by kind
order by kind;

-- name: held_counts
-- Return each session that holds tasks: how many, since when, and what became of the session.
select
    ready.session,
    coalesce((select name from session where id = ready.session), ''),
    count(*),
    min(ready.started_at),
    coalesce((select lease_until from session where id = ready.session), 0),
    (select closed_at from session where id = ready.session)
from ready
where ready.session > ''
group by ready.session
limit :cap;

-- name: overrunning
-- Return running tasks that should have been ended by their timeout before this.
select id, kind, queue, session, started_at, timeout
from ready
where session > ''
    and timeout is not null
    and started_at + timeout < :before
order by started_at, id
limit :limit;

-- name: late_schedules
-- Return schedules that should have fired before this.
select name, next_at
from schedule
where paused_at is null
    and next_at is not null
    and next_at < :before
order by next_at
limit :limit;

-- name: schedules_behind
-- Count the schedules that were to be fired by now, up to a cap.
select count(*)
from (
    select 1
    from schedule
    where paused_at is null
        and next_at is not null
        and next_at <= :now
    limit :cap
);

-- name: recent_dead_letters
-- Count the tasks that failed for good since then, so many of them at most.
select count(*)
from (
    select 1
    from dead_letter
    where failed_at >= :since
        and discarded_at is null
    order by failed_at
    limit :limit
);

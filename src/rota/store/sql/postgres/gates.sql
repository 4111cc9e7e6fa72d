-- name: admit
-- Let in what waits at these gates as far as they have room; return how many tasks. One statement,
-- so that nobody who stops halfway holds up a gate.
select rota.admit(:keys::text[]);

-- name: waiting_gates
-- Return the next gates after one that have a task waiting, in order.
-- Each step is one descent into the index to the next gate.
with recursive hop as (
    (
        select concurrency_key
        from rota.scheduled
        where concurrency_key > :after
            and at_gate
        order by concurrency_key
        limit 1
    )
    union all
    select next.concurrency_key
    from hop
    cross join lateral (
        select concurrency_key
        from rota.scheduled
        where concurrency_key > hop.concurrency_key
            and at_gate
        order by concurrency_key
        limit 1
    ) as next
)
select concurrency_key
from hop
limit :limit;

-- name: gate_use
-- Count what is inside a gate and what waits at it, each up to a cap.
select
    (
        select count(*)
        from (
            select
            from rota.ready
            where concurrency_key = :key
            limit :cap
        ) as inside
    ),
    (
        select count(*)
        from (
            select
            from rota.scheduled
            where concurrency_key = :key
                and at_gate
            limit :cap
        ) as waiting
    );

-- name: admit
-- Choose what may go in at these gates, each in rank order, at most `most` of it, and not what was
-- asked to stop; return the ids as JSON.
-- Each step of a gate is one descent into the index to its next task; `+` keeps the affinity of a
-- column out of the comparison, so that both parts of the bound are sought in the index.
with recursive walk (gate, inside, task) as (
    select
        gate.value,
        (select count(*) from ready where concurrency_key = gate.value),
        (
            select rowid
            from scheduled
            where concurrency_key = gate.value
                and at_gate
                and cancel_requested_at is null
            order by rank, id
            limit 1
        )
    from (select distinct value from json_each(:keys)) as gate
    union all
    select
        walk.gate,
        walk.inside + 1,
        (
            select next.rowid
            from scheduled as next
            where next.concurrency_key = walk.gate
                and next.at_gate
                and next.cancel_requested_at is null
                and (next.rank, next.id) > (last.rank, +last.id)
            order by next.rank, next.id
            limit 1
        )
    from walk
    cross join scheduled as last
        on last.rowid = walk.task
        and walk.inside < coalesce(last.max_concurrency, 1)
)
select json_group_array(id)
from (
    select task.id
    from walk
    cross join scheduled as task
        on task.rowid = walk.task
        and walk.inside < coalesce(task.max_concurrency, 1)
    limit :most
);

-- name: waiting_gates
-- Return the next gates after one that have a task waiting, in order, as JSON.
-- Each step is one descent into the index to the next gate.
with recursive hop (gate) as (
    select (
        select concurrency_key
        from scheduled
        where concurrency_key > :after
            and at_gate
        order by concurrency_key
        limit 1
    )
    union all
    select (
        select concurrency_key
        from scheduled
        where concurrency_key > hop.gate
            and at_gate
        order by concurrency_key
        limit 1
    )
    from hop
    where hop.gate is not null
)
select json_group_array(gate)
from (
    select gate
    from hop
    where gate is not null
    limit :limit
);

-- name: gate_use
-- Count what is inside a gate and what waits at it, each up to a cap.
select
    (
        select count(*)
        from (
            select 1
            from ready
            where concurrency_key = :key
            limit :cap
        )
    ),
    (
        select count(*)
        from (
            select 1
            from scheduled
            where concurrency_key = :key
                and at_gate
            limit :cap
        )
    );

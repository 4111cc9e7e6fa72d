-- name: read_tallies
-- Return how many tasks ended since the beginning of a minute.
select queue, kind, state, sum(count)::bigint
from rota.tally
where minute >= :minute
group by queue, kind, state;

-- name: prune_tallies
-- Forget the counts of minutes that are long past.
delete from rota.tally
where ctid = any(array(
    select ctid
    from rota.tally
    where minute < :before
    limit :limit
    for update skip locked
));

-- name: add_up_tallies
-- Make one row of what several shards counted in minutes that are over: the first of theirs.
with part as materialized (
    select minute, queue, kind, state, shard, count
    from rota.tally
    where minute < :before
        and shard >= 0
    order by minute
    limit :limit
    for update skip locked
),
gone as (
    delete from rota.tally
    using part
    where tally.minute = part.minute
        and tally.queue = part.queue
        and tally.kind = part.kind
        and tally.state = part.state
        and tally.shard = part.shard
)
insert into rota.tally as tally (minute, queue, kind, state, shard, count)
select minute, queue, kind, state, -1, sum(count)
from part
group by minute, queue, kind, state
order by minute, queue, kind, state
on conflict (minute, queue, kind, state, shard) do update
set count = tally.count + excluded.count;

-- name: add_tallies
-- Count the tasks that the statement before has added to finished to those that ended in the same
-- minute.
-- Rows that are added have numbers one after the other: reading them is half the work of finding
-- each by its id.
insert into tally (minute, queue, kind, state, count)
select :minute, queue, kind, state, count(*)
from finished
where rowid > :last - :added
    and rowid <= :last
group by queue, kind, state
on conflict (minute, queue, kind, state) do update
set count = count + excluded.count;

-- name: read_tallies
-- Return how many tasks ended since the beginning of a minute.
select queue, kind, state, sum(count)
from tally
where minute >= :minute
group by queue, kind, state;

-- name: prune_tallies
-- Forget the counts of minutes that are long past.
delete from tally
where (minute, queue, kind, state) in (
    select minute, queue, kind, state
    from tally
    where minute < :before
    limit :limit
);

-- name: add_failed_tallies
-- Count the tasks that the statement before has added to the dead letters.
insert into tally (minute, queue, kind, state, count)
select :minute, queue, kind, 'failed', count(*)
from dead_letter
where rowid > :last - :added
    and rowid <= :last
group by queue, kind
on conflict (minute, queue, kind, state) do update
set count = count + excluded.count;

-- name: add_dropped_tallies
-- Count completed tasks of which no row is kept, before they leave ready.
insert into tally (minute, queue, kind, state, count)
select :minute, task.queue, task.kind, 'completed', count(*)
from json_each(:ids) as ended
cross join ready as task
    on task.id = ended.value
group by task.queue, task.kind
on conflict (minute, queue, kind, state) do update
set count = count + excluded.count;

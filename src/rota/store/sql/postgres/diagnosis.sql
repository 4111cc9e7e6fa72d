-- name: waiting_kinds
-- Return for each kind in each of these queues how many of its tasks wait, as far as the first
-- `cap` tasks of the queue tell, and when the earliest of them was due.
select asked.queue, first.kind, count(*), min(first.run_at)
from unnest(:queues::text[]) as asked (queue)
cross join lateral (
    select kind, run_at
    from rota.ready
    where ready.queue = asked.queue
        and session is null
    limit :cap
) as first
group by asked.queue, first.kind
order by asked.queue, first.kind;

-- name: held_counts
-- Return each session that holds tasks: how many, since when, and what became of the session.
select
    held.session::text, coalesce(session.name, ''), held.count, held.since,
    coalesce(session.lease_until, 0), session.closed_at
from (
    select session, count(*) as count, min(started_at) as since
    from rota.ready
    where session is not null
    group by session
) as held
left join rota.session
    on session.id = held.session
order by held.session
limit :cap;

-- name: overrunning
-- Return running tasks that should have been ended by their timeout before this.
select id::text, kind, queue, session::text, started_at, timeout
from rota.ready
where session is not null
    and timeout is not null
    and started_at + timeout < :before
order by started_at, id
limit :limit;

-- name: late_schedules
-- Return schedules that should have fired before this.
select name, next_at
from rota.schedule
where paused_at is null
    and next_at is not null
    and next_at < :before
order by next_at
limit :limit;

-- name: schedules_behind
-- Count the schedules that were to be fired by now, up to a cap.
select count(*)
from (
    select
    from rota.schedule
    where paused_at is null
        and next_at is not null
        and next_at <= :now
    limit :cap
) as behind;

-- name: recent_dead_letters
-- Count the tasks that failed for good since then, so many of them at most.
select count(*)
from (
    select
    from rota.dead_letter
    where failed_at >= :since
        and discarded_at is null
    order by failed_at
    limit :limit
) as recent;

-- name: server_facts
-- Return the server's version, its settings that matter, and how many connections it has.
select
    current_setting('server_version_num')::int,
    current_setting('server_version'),
    (
        select jsonb_object_agg(name, coalesce(reset_val, setting))::text
        from pg_settings
        where name in (
            'autovacuum', 'fsync', 'full_page_writes', 'synchronous_commit', 'track_counts'
        )
    ),
    (
        select count(*)::int
        from pg_stat_activity
        where backend_type = 'client backend'
    ),
    current_setting('max_connections')::int;

-- name: open_transactions
-- Return the transactions of this database that are open for longer than `least`, the oldest first.
select
    pid,
    coalesce(application_name, ''),
    coalesce(state, ''),
    (extract(epoch from clock_timestamp() - xact_start) * 1000000)::bigint
from pg_stat_activity
where datname = current_database()
    and pid <> pg_backend_pid()
    and backend_type = 'client backend'
    and clock_timestamp() - xact_start > make_interval(secs => :least::float8 / 1000000)
order by xact_start
limit :limit;

-- name: prepared_transactions
-- Return the transactions of this database that are prepared and not over, the oldest first.
select gid, (extract(epoch from clock_timestamp() - prepared) * 1000000)::bigint
from pg_prepared_xacts
where database = current_database()
order by prepared
limit :limit;

-- name: replication_slots
-- Return the replication slots, with how much of the log the server keeps for each.
select
    slot_name::text,
    active,
    coalesce(
        pg_wal_lsn_diff(
            case
                when pg_is_in_recovery() then pg_last_wal_receive_lsn()
                else pg_current_wal_lsn()
            end,
            restart_lsn
        ),
        0
    )::bigint
from pg_replication_slots
order by slot_name
limit :limit;

-- name: table_use
-- Return how many rows of each of the live tables are dead, and whether they are vacuumed.
select
    stat.relname::text,
    stat.n_live_tup,
    stat.n_dead_tup,
    coalesce(array_to_string(class.reloptions, ','), '') not like '%autovacuum_enabled=false%'
from pg_stat_all_tables as stat
join pg_class as class
    on class.oid = stat.relid
where stat.schemaname = 'rota'
    and class.relkind = 'r'
order by stat.relname;

-- A day's partition may be made while somebody's row waits to go where such rows lay before. The
-- server refuses that row then. In a transaction of the store's own that is done again as a whole;
-- in a caller's, what is refused goes to its day at the second try, and the caller sees none of it.

-- What `rota.complete` does, once.
create function rota.try_complete(id uuid, session uuid, fence bigint, result jsonb)
returns boolean
language plpgsql volatile security invoker
set search_path = '' set enable_seqscan = off
as $$
declare
    moment constant bigint := rota.clock();
begin
    with gone as (
        delete from rota.ready as task
        where task.id = try_complete.id
            and task.fence = try_complete.fence
            and task.session is not distinct from try_complete.session
        returning task.*
    ),
    counted as (
        insert into rota.tally as tally (minute, queue, kind, state, shard, count)
        select moment - moment % 60000000, gone.queue, gone.kind, 'completed', rota.shard(), 1
        from gone
        on conflict (minute, queue, kind, state, shard) do update
        set count = tally.count + excluded.count
    )
    insert into rota.finished (
        id, kind, queue, tenant, priority, class, run_at, rank, created_at,
        fence, attempt, lost, snoozes, payload, timeout, retry, expires_at, key, tags, headers,
        errors, state, started_at, finished_at, session, result,
        progress_done, progress_total, replay_of,
        concurrency_key, max_concurrency, schedule, slot
    )
    select
        gone.id, gone.kind, gone.queue, gone.tenant, gone.priority, gone.class, gone.run_at,
        gone.rank, gone.created_at, gone.fence, gone.attempt, gone.lost, gone.snoozes,
        gone.payload, gone.timeout, gone.retry, gone.expires_at, gone.key, gone.tags, gone.headers,
        gone.errors, 'completed', gone.started_at, moment, gone.session, try_complete.result,
        gone.progress_done, gone.progress_total, gone.replay_of,
        gone.concurrency_key, gone.max_concurrency, gone.schedule, gone.slot
    from gone;
    return found;
end
$$;

-- Completes a task in the caller's transaction, if the session holds it under that fence.
create or replace function rota.complete(id uuid, session uuid, fence bigint, result jsonb)
returns boolean
language plpgsql volatile security invoker
set search_path = ''
as $$
declare
    broken_in text;
begin
    return rota.try_complete(id, session, fence, result);
exception when check_violation then
    get stacked diagnostics broken_in = table_name;
    if broken_in <> 'finished_default' then
        raise;
    end if;
    return rota.try_complete(id, session, fence, result);
end
$$;

-- What `rota.cancel` does, once.
alter function rota.cancel(uuid[], bigint) rename to try_cancel;

-- Cancels tasks in the caller's transaction: what waits at once, what runs is asked to stop, and by
-- the deadline, if there is one, it will be. Returns for each task that there is what became of it:
-- completed, accepted or too_late.
create function rota.cancel(ids uuid[], deadline bigint default null)
returns table (id uuid, outcome text)
language plpgsql volatile security invoker
set search_path = ''
as $$
#variable_conflict use_column
declare
    broken_in text;
begin
    return query select * from rota.try_cancel(ids, deadline);
exception when check_violation then
    get stacked diagnostics broken_in = table_name;
    if broken_in <> 'finished_default' then
        raise;
    end if;
    return query select * from rota.try_cancel(ids, deadline);
end
$$;

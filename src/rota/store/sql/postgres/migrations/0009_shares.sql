-- How capacity is shared out: settings of queues, tenants and kinds, and limits. What they mean is
-- decided elsewhere, apart from limits, which a hand-out keeps under their rows' locks. Running
-- tasks are counted, never a counter, so nothing can be left behind that would have to be put right.
--
-- Processes of the version before go on, but know neither pauses nor limits: use them once all
-- have been replaced.

-- One number counts every change of anything below: whoever planned by an older one plans anew.
create table rota.settings_version (
    one boolean primary key default true check (one),
    version bigint not null
);

insert into rota.settings_version (version) values (0);

create table rota.setting (
    noun text collate "C" not null check (noun in ('queue', 'tenant', 'kind')),
    name text collate "C" not null,
    body jsonb not null,
    version bigint not null,
    primary key (noun, name)
);

-- A limit binds a queue (tenant null), a tenant in every queue (queue null), or a tenant in a queue.
-- Each start spends a token; `tokens` were there at `filled_at`.
create table rota.lane_limit (
    id text collate "C" primary key,
    queue text collate "C",
    tenant text collate "C",
    max_running int check (max_running >= 0),
    rate double precision check (rate > 0),
    burst int check (burst >= 1),
    tokens double precision not null,
    filled_at bigint not null,
    version bigint not null,
    check (queue is not null or tenant is not null),
    check (max_running is not null or rate is not null),
    check ((rate is null) = (burst is null))
)
-- Its rows are written with every claim that spends tokens: there is room for that beside them.
with (fillfactor = 50);

create unique index lane_limit_scope on rota.lane_limit (
    coalesce(queue, ''), (tenant is null), coalesce(tenant, '')
);

-- What runs is counted in the index of what each session holds. An index of its own would be found
-- faster, but every hand-out would pay for it: a fifth more of the server's time, 88 bytes of WAL.
drop index rota.ready_held;
create index ready_held on rota.ready (session, queue, tenant) where session is not null;

-- Returns how many tasks run under each of these limits. A few are looked up session by session, for
-- many all that runs is counted once.
create function rota.running(limits text[]) returns table (id text, running bigint)
language plpgsql stable security invoker
set search_path = '' set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    holders uuid[];
begin
    -- Each step is one descent into the index to the next session.
    holders := array(
        with recursive hop as (
            (
                select session
                from rota.ready
                where session is not null
                order by session
                limit 1
            )
            union all
            select next.session
            from hop
            cross join lateral (
                select session
                from rota.ready
                where session > hop.session
                    and session is not null
                order by session
                limit 1
            ) as next
        )
        select session
        from hop
    );
    if cardinality(limits) * cardinality(holders) <= 2000 then
        return query
        select
            held.id,
            case
                when held.tenant is null then (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and queue = held.queue
                )
                when held.queue is null then (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and tenant = held.tenant
                )
                else (
                    select count(*)
                    from rota.ready
                    where session = any(holders)
                        and session is not null
                        and queue = held.queue
                        and tenant = held.tenant
                )
            end
        from rota.lane_limit as held
        where held.id = any(limits);
        return;
    end if;
    return query
    select held.id, coalesce(task.number, 0)
    from rota.lane_limit as held
    left join (
        select
            coalesce(queue, '') as queue,
            grouping(tenant) = 1 as any_tenant,
            coalesce(tenant, '') as tenant,
            count(*) as number
        from rota.ready
        where session is not null
        group by grouping sets ((queue), (tenant), (queue, tenant))
    ) as task
        on task.queue = coalesce(held.queue, '')
        and task.any_tenant = (held.tenant is null)
        and task.tenant = coalesce(held.tenant, '')
    where held.id = any(limits);
end
$$;

-- Hands out tasks as the statement `take` does, as far as limits let them through: the limit at
-- `limits[i]` binds the share at `bound[i]`, in the order of the shares. After the tasks come the
-- limits that let less through than was asked for: why (cap, rate, busy), and until when. A row with
-- nothing but why = 'stale' says that the settings have another version.
--
-- The limits are locked in one order, and those that somebody else has locked are skipped. What the
-- last holders of the locks have handed out is counted by a statement that begins once we have them.
create function rota.take(
    session uuid, queues text[], classes smallint[], tenants text[], counts int[],
    bound int[], limits text[], avoid text[], moment bigint, version bigint
)
returns table (
    id text, fence bigint, attempt int, lost int, snoozes int, kind text, queue text, tenant text,
    priority smallint, run_at bigint, created_at bigint, payload jsonb, timeout bigint,
    retry jsonb, expires_at bigint, headers jsonb, checkpoint jsonb,
    concurrency_key text, schedule text, slot bigint,
    blocked text, why text, until bigint
)
language plpgsql volatile security invoker
set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
declare
    -- Of each limit that we have: how many more may run, what is left to spend at which instant.
    known text[];
    rooms bigint[];
    rates float8[];
    purses float8[];
    starts bigint[];
    spent int[];
    full_up boolean[];
    busy text[] := '{}';
    -- Of each share: how many it may have, by which limits, and what it gets.
    place int := 1;
    most bigint;
    start bigint;
    binding int[];
    nth int;
    got tid[];
    places tid[] := '{}';
    times bigint[] := '{}';
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise feature_not_supported using
            message = 'limits can be kept only at the isolation level read committed',
            hint = 'Set default_transaction_isolation of this role or database to read committed.';
    end if;
    if not exists (
        select
        from rota.settings_version
        where one
            and version = take.version
    ) then
        why := 'stale';
        return next;
        return;
    end if;
    if not exists (
        select
        from rota.session
        where id = take.session
            and closed_at is null
            and lease_until > moment
    ) then
        return;
    end if;
    known := array(
        select id
        from rota.lane_limit
        where id = any(limits)
        order by id
        for update skip locked
    );
    -- A clock that is behind fills nothing up, and what starts by it counts as started when the
    -- limit was filled last. One that is behind by ten seconds was set back: it counts from there.
    select
        array_agg(held.max_running - task.running order by held.id),
        array_agg(held.rate order by held.id),
        array_agg(
            least(burst, tokens + greatest(clock.start - filled_at, 0) * rate / 1000000)
            order by held.id
        ),
        array_agg(clock.start order by held.id),
        array_agg(0),
        array_agg(false)
    into rooms, rates, purses, starts, spent, full_up
    from rota.lane_limit as held
    cross join lateral (
        select
            case
                when rate is null or filled_at > moment + 10000000 then moment
                else greatest(filled_at, moment)
            end as start
    ) as clock
    left join rota.running(
        array(
            select id
            from rota.lane_limit
            where id = any(known)
                and max_running is not null
        )
    ) as task
        on task.id = held.id
    where held.id = any(known);
    for n in 1..cardinality(queues) loop
        most := counts[n];
        start := moment;
        binding := '{}';
        while bound[place] = n loop
            nth := array_position(known, limits[place]);
            if nth is null then
                busy := busy || limits[place];
                most := 0;
            else
                binding := binding || nth;
                -- A token may fall short of a whole one by what arithmetic loses.
                most := least(most, rooms[nth], floor(purses[nth] + 0.000001));
                start := greatest(start, starts[nth]);
            end if;
            place := place + 1;
        end loop;
        got := '{}';
        if most > 0 then
            got := array(
                select ctid
                from rota.ready
                where queue = queues[n]
                    and class = classes[n]
                    and tenant = tenants[n]
                    and session is null
                    and cancel_requested_at is null
                    and kind <> all(avoid)
                order by rank, id
                limit most
                for update skip locked
            );
        end if;
        places := places || got;
        times := times || array_fill(start, array[cardinality(got)]);
        foreach nth in array binding loop
            rooms[nth] := rooms[nth] - cardinality(got);
            purses[nth] := purses[nth] - cardinality(got);
            spent[nth] := spent[nth] + cardinality(got);
            full_up[nth] := full_up[nth] or coalesce(
                cardinality(got) < counts[n] and (rooms[nth] <= 0 or purses[nth] < 0.999999), false
            );
        end loop;
    end loop;
    update rota.lane_limit as held
    set tokens = used.tokens,
        filled_at = used.start
    from unnest(known, purses, starts, spent) as used (id, tokens, start, spent)
    where held.id = used.id
        and held.rate is not null
        and (used.spent > 0 or held.filled_at > used.start);
    return query
    update rota.ready as task
    set session = take.session,
        fence = task.fence + 1,
        attempt = task.attempt + 1,
        started_at = chosen.start
    from unnest(places, times) as chosen (place, start)
    where task.ctid = chosen.place
    returning
        task.id::text, task.fence, task.attempt, task.lost, task.snoozes, task.kind, task.queue,
        task.tenant, task.priority, task.run_at, task.created_at, task.payload, task.timeout,
        task.retry, task.expires_at, task.headers, task.checkpoint,
        task.concurrency_key, task.schedule::text, task.slot,
        null::text, null::text, null::bigint;
    for nth in 1..cardinality(known) loop
        if full_up[nth] then
            blocked := known[nth];
            why := case when rooms[nth] <= 0 then 'cap' else 'rate' end;
            until := case
                when why = 'rate'
                then starts[nth] + ceil((1 - purses[nth]) / rates[nth] * 1000000)
            end;
            return next;
        end if;
    end loop;
    for blocked in select distinct one from unnest(busy) as one loop
        why := 'busy';
        until := null;
        return next;
    end loop;
end
$$;

-- How capacity is shared out: settings of queues, tenants and kinds, and limits. What they mean is
-- decided elsewhere. Running tasks are counted, never a counter, so nothing can be left behind that
-- would have to be put right.
--
-- Processes of the version before go on, but know neither pauses nor limits: use them once all
-- have been replaced.

-- One number counts every change of anything below: whoever planned by an older one plans anew.
create table settings_version (
    one integer not null primary key default 1 check (one = 1),
    version integer not null
) strict;

insert into settings_version (version) values (0);

create table setting (
    noun text not null check (noun in ('queue', 'tenant', 'kind')),
    name text not null,
    body text not null,
    version integer not null,
    primary key (noun, name)
) strict, without rowid;

-- A limit binds a queue (tenant null), a tenant in every queue (queue null), or a tenant in a queue.
-- Each start spends a token; `tokens` were there at `filled_at`.
create table lane_limit (
    id text not null primary key,
    queue text,
    tenant text,
    max_running integer check (max_running >= 0),
    rate real check (rate > 0),
    burst integer check (burst >= 1),
    tokens real not null,
    filled_at integer not null,
    version integer not null,
    check (queue is not null or tenant is not null),
    check (max_running is not null or rate is not null),
    check ((rate is null) = (burst is null))
) strict;

create unique index lane_limit_scope on lane_limit (
    coalesce(queue, ''), (tenant is null), coalesce(tenant, '')
);

-- What runs is counted in the index of what each session holds.
drop index ready_held;

create index ready_held on ready (session, queue, tenant) where session is not null;

-- Of two indexes that seem equally good, SQLite takes the one that was made last.
drop index ready_asked;

create index ready_asked on ready (session) where cancel_requested_at is not null;

-- Schedules, and what became of their slots. A slot that has a row in `slot` makes no second task,
-- whoever tries and whenever, until the row is pruned.

create table schedule (
    id text not null primary key,
    name text not null unique,
    source text not null,
    kind text not null,
    tenant text not null,
    rule text not null,
    policy text not null,
    work text not null,
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    cursor integer not null,
    next_slot integer,
    next_at integer,
    tz_data text not null,
    paused_at integer,
    pause_reason text,
    last_slot integer,
    last_fired_at integer,
    fired integer not null default 0,
    skipped integer not null default 0
) strict;

create index schedule_due on schedule (next_at)
where paused_at is null and next_at is not null;

create index schedule_tz_data on schedule (tz_data) where next_slot is not null;

-- Slots of which tasks were made.
create table slot (
    schedule text not null,
    slot integer not null,
    task_id text not null,
    fired_at integer not null,
    backfilled integer not null,
    primary key (schedule, slot)
) strict;

create index slot_age on slot (fired_at);

-- Slots, from the first to the last of a range, of which no tasks were made; count is null if there
-- are too many to count.
create table skip (
    schedule text not null,
    first integer not null,
    last integer not null,
    count integer,
    state text not null,
    at integer not null
) strict;

create index skip_slot on skip (schedule, first);

create index skip_age on skip (at);

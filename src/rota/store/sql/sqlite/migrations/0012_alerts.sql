-- Alerts: rules as data, what they have found, and the endpoints that are told of it. What an alert
-- becomes is decided elsewhere; here it is seen to that each change happens once.

create table alert_rule (
    name text not null primary key,
    body text not null,
    version integer not null
) strict, without rowid;

create table alert (
    id text not null primary key,
    rule text not null,
    figure text not null,
    queue text,
    value real not null,
    threshold real not null,
    since integer not null,
    fired_at integer,
    told_at integer,
    cleared_at integer,
    silenced_until integer,
    version integer not null
) strict;

-- One alert that is not cleared for a rule and a queue, whatever races.
create unique index alert_open on alert (rule, coalesce(queue, '')) where cleared_at is null;

create index alert_age on alert (cleared_at) where cleared_at is not null;

-- When somebody looked last: one node at a time does, for all.
create table alert_turn (
    one integer not null primary key default 1 check (one = 1),
    taken_at integer not null
) strict;

-- Secrets sign deliveries, so they are kept as they are; no statement but `signing` reads them.
create table webhook (
    id text not null primary key,
    url text not null,
    shape text not null,
    enabled integer not null,
    off_reason text,
    created_at integer not null,
    last_success_at integer,
    last_failure_at integer,
    failure text,
    failing_since integer,
    version integer not null,
    secret text not null,
    old_secret text,
    old_until integer
) strict;

-- Alerts: rules as data, what they have found, and the endpoints that are told of it. What an alert
-- becomes is decided elsewhere; here it is seen to that each change happens once.

create table rota.alert_rule (
    name text collate "C" primary key,
    body jsonb not null,
    version bigint not null
);

create table rota.alert (
    id text collate "C" primary key,
    rule text collate "C" not null,
    figure text collate "C" not null,
    queue text collate "C",
    value double precision not null,
    threshold double precision not null,
    since bigint not null,
    fired_at bigint,
    told_at bigint,
    cleared_at bigint,
    silenced_until bigint,
    version bigint not null
);

-- One alert that is not cleared for a rule and a queue, whatever races.
create unique index alert_open on rota.alert (rule, coalesce(queue, '')) where cleared_at is null;
create index alert_age on rota.alert (cleared_at) where cleared_at is not null;

-- When somebody looked last: one node at a time does, for all.
create table rota.alert_turn (
    one boolean primary key default true check (one),
    taken_at bigint not null
);

-- Secrets sign deliveries, so they are kept as they are; no statement but `signing` reads them.
create table rota.webhook (
    id text collate "C" primary key,
    url text not null,
    shape text not null,
    enabled boolean not null,
    off_reason text,
    created_at bigint not null,
    last_success_at bigint,
    last_failure_at bigint,
    failure text,
    failing_since bigint,
    version bigint not null,
    secret text not null,
    old_secret text,
    old_until bigint
);

-- Carries out a change of an alert, as JSON with the fields of `Alert`, if it still has the version
-- that the change was decided from (0: there is none yet); says whether. The tasks that tell of it
-- are stored with it.
create function rota.move_alert(
    alert jsonb, old_version bigint, gone boolean, tasks jsonb, moment bigint
)
returns boolean
language plpgsql volatile security invoker
set search_path = ''
as $$
declare
    new rota.alert := jsonb_populate_record(null::rota.alert, alert);
begin
    if old_version = 0 then
        insert into rota.alert
        select new.*
        on conflict do nothing;
    elsif gone then
        delete from rota.alert as old
        where old.id = new.id
            and old.version = old_version;
    else
        update rota.alert as old
        set value = new.value,
            threshold = new.threshold,
            fired_at = new.fired_at,
            told_at = new.told_at,
            cleared_at = new.cleared_at,
            silenced_until = new.silenced_until,
            version = old_version + 1
        where old.id = new.id
            and old.version = old_version;
    end if;
    if not found then
        return false;
    end if;
    perform rota.enter(tasks, moment);
    return true;
end
$$;

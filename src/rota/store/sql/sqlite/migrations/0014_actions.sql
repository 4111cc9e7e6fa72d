-- Actions: changes of all that a filter matches, carried on run by run by whichever node has the
-- action in hand until `held_until`. `hold` rises each time, and a run is written down under the
-- newest hold alone. `body` is what does not change: what is done to what, on whose behalf.

create table action (
    id text not null primary key,
    tenant text,
    queues text,
    body text not null,
    state text not null check (state in ('running', 'completed', 'stopped', 'failed')),
    after text,
    done integer not null,
    changed integer not null,
    skipped text not null,
    error text,
    next_at integer not null,
    ended_at integer,
    hold integer not null default 0,
    held_until integer not null default 0
) strict;

create index action_running on action (next_at) where state = 'running';

create index action_ended on action (ended_at) where ended_at is not null;

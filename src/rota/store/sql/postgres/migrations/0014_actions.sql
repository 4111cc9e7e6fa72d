-- Actions: changes of all that a filter matches, carried on run by run by whichever node has the
-- action in hand until `held_until`. `hold` rises each time, and a run is written down under the
-- newest hold alone. `body` is what does not change: what is done to what, on whose behalf.

create table rota.action (
    id uuid primary key,
    tenant text collate "C",
    queues text[],
    body jsonb not null,
    state text not null check (state in ('running', 'completed', 'stopped', 'failed')),
    after uuid,
    done bigint not null,
    changed bigint not null,
    skipped jsonb not null,
    error text,
    next_at bigint not null,
    ended_at bigint,
    hold bigint not null default 0,
    held_until bigint not null default 0
);

create index action_running on rota.action (next_at) where state = 'running';
create index action_ended on rota.action (ended_at) where ended_at is not null;

-- Requests that were given an idempotency key, and batches: which tasks came in by them.

create table rota.submission (
    id uuid primary key,
    scope text collate "C" not null,
    operation text collate "C" not null,
    key text collate "C",
    fingerprint text collate "C" not null,
    task_ids uuid[] not null,
    created_at bigint not null,
    key_until bigint,
    keep_until bigint not null
);

-- Two requests with one key cannot both be stored; the second waits until it is known of the first.
create unique index submission_key on rota.submission (scope, operation, key)
where key is not null;

create index submission_age on rota.submission (keep_until);

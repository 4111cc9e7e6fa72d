-- Requests that were given an idempotency key, and batches: which tasks came in by them.

create table submission (
    id text not null primary key,
    scope text not null,
    operation text not null,
    key text,
    fingerprint text not null,
    task_ids text not null,
    created_at integer not null,
    key_until integer,
    keep_until integer not null
) strict;

create unique index submission_key on submission (scope, operation, key) where key is not null;

create index submission_age on submission (keep_until);

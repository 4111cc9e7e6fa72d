-- Keys, log-ins, the audit record and the server's own secrets.

-- Of a key's secret there is only the SHA-256. `admin` says that it may do everything everywhere;
-- roles and queues are JSON arrays, no queues are all.
create table access_key (
    id text not null primary key,
    name text not null,
    secret_hash blob not null,
    roles text not null,
    admin integer not null,
    tenant text,
    queues text,
    payloads integer not null,
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer
) strict, without rowid;

-- A dashboard's session, by the SHA-256 of what its cookie says; it is over when its key is.
create table login (
    id_hash blob not null primary key,
    key_id text not null,
    created_at integer not null,
    seen_at integer not null,
    ends_at integer not null
) strict, without rowid;

create index login_end on login (ends_at);

-- Who changed what. Entries are added and, once they are old, dropped; nothing changes them.
create table audit (
    id text not null primary key,
    at integer not null,
    key_id text not null,
    key_name text not null,
    via text not null,
    tenant text,
    action text not null,
    target text,
    request_id text not null,
    address text not null,
    outcome text not null,
    count integer not null,
    change text,
    reason text
) strict, without rowid;

create index audit_age on audit (at);
create index audit_action on audit (action, id);
create index audit_key on audit (key_id, id);

create trigger audit_stays
before update on audit
begin
    select raise(abort, 'the audit record is not changed');
end;

-- What all servers on this store sign with, each secret made by whoever needed it first.
create table server_secret (
    name text not null primary key,
    secret blob not null,
    made_at integer not null
) strict, without rowid;

-- Keys, log-ins, the audit record and the server's own secrets.

-- Of a key's secret there is only the SHA-256. `admin` says that it may do everything everywhere;
-- roles and queues are JSON arrays, no queues are all.
create table rota.access_key (
    id text collate "C" primary key,
    name text not null,
    secret_hash bytea not null,
    roles text not null,
    admin boolean not null,
    tenant text collate "C",
    queues text,
    payloads boolean not null,
    created_at bigint not null,
    created_by text not null,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
);

-- A dashboard's session, by the SHA-256 of what its cookie says; it is over when its key is.
create table rota.login (
    id_hash bytea primary key,
    key_id text collate "C" not null,
    created_at bigint not null,
    seen_at bigint not null,
    ends_at bigint not null
);

create index login_end on rota.login (ends_at);

-- Who changed what. Entries are added and, once they are old, dropped; nothing changes them.
create table rota.audit (
    id text collate "C" primary key,
    at bigint not null,
    key_id text collate "C" not null,
    key_name text not null,
    via text not null,
    tenant text collate "C",
    action text collate "C" not null,
    target text,
    request_id text not null,
    address text not null,
    outcome text not null,
    count bigint not null,
    change text,
    reason text
);

create index audit_age on rota.audit (at);
create index audit_action on rota.audit (action, id);
create index audit_key on rota.audit (key_id, id);

-- Refuses to change what has been recorded.
create function rota.keep_audit() returns trigger
language plpgsql security invoker set search_path = ''
as $$
begin
    raise exception 'the audit record is not changed';
end
$$;

create trigger audit_stays
before update on rota.audit
for each statement execute function rota.keep_audit();

-- What all servers on this store sign with, each secret made by whoever needed it first.
create table rota.server_secret (
    name text collate "C" primary key,
    secret bytea not null,
    made_at bigint not null
);

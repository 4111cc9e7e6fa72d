-- name: add_key
-- Store a key; a repeat with the same id changes nothing.
insert into rota.access_key (
    id, name, secret_hash, roles, admin, tenant, queues, payloads, created_at, created_by,
    expires_at, last_used_at, revoked_at
)
values (
    :id, :name, :secret_hash, :roles, :admin, :tenant, :queues, :payloads, :created_at, :created_by,
    :expires_at, :last_used_at, :revoked_at
)
on conflict (id) do nothing;

-- name: list_keys
-- Return all keys, the newest first.
select
    id, name, secret_hash, roles, tenant, queues, payloads, created_at, created_by,
    expires_at, last_used_at, revoked_at
from rota.access_key
order by created_at desc, id;

-- name: find_key
-- Return a key.
select
    id, name, secret_hash, roles, tenant, queues, payloads, created_at, created_by,
    expires_at, last_used_at, revoked_at
from rota.access_key
where id = :id;

-- name: revoke_key
-- Revoke a key that is not revoked yet, unless it is the last live one of an admin.
-- Of two that revoke the last two, one waits and finds that its own is the last.
with admins as materialized (
    select id
    from rota.access_key
    where admin
        and revoked_at is null
        and (expires_at is null or expires_at > :now)
    order by id
    for update
)
update rota.access_key
set revoked_at = :now
where id = :id
    and revoked_at is null
    and (
        not exists (select from admins where id = :id)
        or exists (select from admins where id <> :id)
    );

-- name: touch_keys
-- Write down when keys were used last.
update rota.access_key
set last_used_at = greatest(last_used_at, used.at)
from jsonb_to_recordset(:used::jsonb) as used (id text, at bigint)
where access_key.id = used.id;

-- name: add_login
-- Store a log-in.
insert into rota.login (id_hash, key_id, created_at, seen_at, ends_at)
values (:id_hash, :key_id, :created_at, :seen_at, :ends_at)
on conflict (id_hash) do nothing;

-- name: find_login
-- Return a log-in.
select id_hash, key_id, created_at, seen_at, ends_at
from rota.login
where id_hash = :id_hash;

-- name: touch_logins
-- Write down when log-ins were used last; their ids are in hexadecimal digits.
update rota.login
set seen_at = greatest(seen_at, used.at)
from jsonb_to_recordset(:used::jsonb) as used (id text, at bigint)
where login.id_hash = decode(used.id, 'hex');

-- name: drop_login
-- End a log-in.
delete from rota.login
where id_hash = :id_hash;

-- name: record
-- Add entries to the audit record; a repeat with the same ids changes nothing.
insert into rota.audit (
    id, at, key_id, key_name, via, tenant, action, target, request_id, address, outcome, count,
    change, reason
)
select
    id, at, key_id, key_name, via, tenant, action, target, request_id, address, outcome, count,
    change, reason
from jsonb_to_recordset(:entries::jsonb) as entry (
    id text, at bigint, key_id text, key_name text, via text, tenant text, action text,
    target text, request_id text, address text, outcome text, count bigint, change text,
    reason text
)
on conflict (id) do nothing;

-- name: read_audit
-- Return entries of the audit record below an id, the newest first.
-- That a change began is left out once there is the entry of its end; looked for as a value, since
-- for `exists` the whole record may be hashed.
select
    id, at, key_id, key_name, via, tenant, action, target, request_id, address, outcome, count,
    change, reason
from rota.audit
where id < :before_id
    and (:key_id::text is null or key_id = :key_id)
    and (:action::text is null or action = :action)
    and (:tenant::text is null or tenant = :tenant)
    and (:via::text is null or via = :via)
    and (:outcome::text is null or outcome = :outcome)
    and (:since::bigint is null or at >= :since)
    and (:until::bigint is null or at < :until)
    and (outcome <> 'begun' or (
        select done.id from rota.audit as done where done.id = rtrim(audit.id, '~')
    ) is null)
order by id desc
limit :limit;

-- name: keep_secret
-- Store a secret, unless there is one of this name.
insert into rota.server_secret (name, secret, made_at)
values (:name, :secret, :now)
on conflict (name) do nothing;

-- name: read_secret
-- Return a secret.
select secret
from rota.server_secret
where name = :name;

-- name: prune_audit
-- Drop entries of long ago from the audit record.
delete from rota.audit
where ctid = any(array(
    select ctid
    from rota.audit
    where at < :before
    order by at
    limit :limit
    for update skip locked
));

-- name: prune_logins
-- Forget the log-ins that are over.
delete from rota.login
where ctid = any(array(
    select ctid
    from rota.login
    where ends_at <= :now
    order by ends_at
    limit :limit
    for update skip locked
));

-- name: prune_access_keys
-- Forget the keys that have opened nothing for long.
delete from rota.access_key
where revoked_at < :before
    or expires_at < :before;

-- name: add_key
-- Store a key; a repeat with the same id changes nothing.
insert into access_key (
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
from access_key
order by created_at desc, id;

-- name: find_key
-- Return a key.
select
    id, name, secret_hash, roles, tenant, queues, payloads, created_at, created_by,
    expires_at, last_used_at, revoked_at
from access_key
where id = :id;

-- name: revoke_key
-- Revoke a key that is not revoked yet, unless it is the last live one of an admin.
update access_key
set revoked_at = :now
where id = :id
    and revoked_at is null
    and (
        not admin
        or expires_at <= :now
        or exists (
            select 1
            from access_key
            where id <> :id
                and admin
                and revoked_at is null
                and coalesce(expires_at > :now, true)
        )
    );

-- name: touch_keys
-- Write down when keys were used last.
update access_key
set last_used_at = max(coalesce(last_used_at, 0), used.value ->> 'at')
from json_each(:used) as used
where access_key.id = used.value ->> 'id';

-- name: add_login
-- Store a log-in.
insert into login (id_hash, key_id, created_at, seen_at, ends_at)
values (:id_hash, :key_id, :created_at, :seen_at, :ends_at)
on conflict (id_hash) do nothing;

-- name: find_login
-- Return a log-in.
select id_hash, key_id, created_at, seen_at, ends_at
from login
where id_hash = :id_hash;

-- name: touch_logins
-- Write down when log-ins were used last; their ids are in hexadecimal digits.
update login
set seen_at = max(seen_at, used.value ->> 'at')
from json_each(:used) as used
where login.id_hash = unhex(used.value ->> 'id');

-- name: drop_login
-- End a log-in.
delete from login
where id_hash = :id_hash;

-- name: record
-- Add entries to the audit record; a repeat with the same ids changes nothing.
insert into audit (
    id, at, key_id, key_name, via, tenant, action, target, request_id, address, outcome, count,
    change, reason
)
select
    value ->> 'id', value ->> 'at', value ->> 'key_id', value ->> 'key_name', value ->> 'via',
    value ->> 'tenant', value ->> 'action', value ->> 'target', value ->> 'request_id',
    value ->> 'address', value ->> 'outcome', value ->> 'count', value ->> 'change',
    value ->> 'reason'
from json_each(:entries)
where true
on conflict (id) do nothing;

-- name: read_audit
-- Return entries of the audit record below an id, the newest first.
-- That a change began is left out once there is the entry of its end.
select
    id, at, key_id, key_name, via, tenant, action, target, request_id, address, outcome, count,
    change, reason
from audit
where id < :before_id
    and (:key_id is null or key_id = :key_id)
    and (:action is null or action = :action)
    and (:tenant is null or tenant = :tenant)
    and (:via is null or via = :via)
    and (:outcome is null or outcome = :outcome)
    and (:since is null or at >= :since)
    and (:until is null or at < :until)
    and (outcome <> 'begun' or (
        select done.id from audit as done where done.id = rtrim(audit.id, '~')
    ) is null)
order by id desc
limit :limit;

-- name: keep_secret
-- Store a secret, unless there is one of this name.
insert into server_secret (name, secret, made_at)
values (:name, :secret, :now)
on conflict (name) do nothing;

-- name: read_secret
-- Return a secret.
select secret
from server_secret
where name = :name;

-- name: prune_audit
-- Drop entries of long ago from the audit record.
delete from audit
where id in (
    select id
    from audit
    where at < :before
    order by at
    limit :limit
);

-- name: prune_logins
-- Forget the log-ins that are over.
delete from login
where id_hash in (
    select id_hash
    from login
    where ends_at <= :now
    order by ends_at
    limit :limit
);

-- name: prune_access_keys
-- Forget the keys that have opened nothing for long.
delete from access_key
where revoked_at < :before
    or expires_at < :before;

-- name: take_alert_turn
-- Take the turn of looking, unless somebody took it a moment ago; a clock that was set back may.
insert into rota.alert_turn (one, taken_at)
values (true, :now::bigint)
on conflict (one) do update
set taken_at = excluded.taken_at
where alert_turn.taken_at <= excluded.taken_at - :apart::bigint
    or alert_turn.taken_at > excluded.taken_at + :apart::bigint;

-- name: alert_rules
-- Return the stored rules, each as JSON with its version.
select body, version
from rota.alert_rule
order by name;

-- name: open_alerts
-- Return the alerts that are not cleared.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from rota.alert
where cleared_at is null
order by id;

-- name: webhooks
-- Return the endpoints, without their secrets, the oldest first.
select
    id, url, shape, enabled, off_reason, created_at, last_success_at, last_failure_at, failure,
    failing_since, version
from rota.webhook
order by id;

-- name: put_alert_rule
-- Store a rule in the place of the one with this version, 0 if there is none.
with added as (
    insert into rota.alert_rule (name, body, version)
    select :name::text, :body::jsonb, 1
    where :old_version::bigint = 0
    on conflict do nothing
    returning 1
),
changed as (
    update rota.alert_rule
    set body = :body::jsonb,
        version = version + 1
    where name = :name::text
        and version = :old_version::bigint
    returning 1
)
select 1
from added
union all
select 1
from changed;

-- name: drop_alert_rule
-- Remove a rule; at this version, if one is given.
delete from rota.alert_rule
where name = :name
    and version = coalesce(:old_version::bigint, version);

-- name: move_alert
-- Carry out a change of an alert that is as the change expects it; say whether. The tasks that tell
-- of it are stored with it.
select
    rota.move_alert(
        :alert::jsonb, :old_version::bigint, :gone::boolean, :tasks::jsonb, :now::bigint
    );

-- name: find_alerts
-- Return matching alerts that have fired, the newest first. No id comes after a tilde.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from rota.alert
where fired_at is not null
    and id < coalesce(:before::text, '~')
    and (:rule::text is null or rule = :rule::text)
    and (:queue::text is null or queue = :queue::text)
    and (:over::boolean is null or (cleared_at is not null) = :over::boolean)
order by id desc
limit :limit;

-- name: get_alert
-- Return an alert.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from rota.alert
where id = :id;

-- name: forget_alerts
-- Drop alerts that were cleared long ago.
delete from rota.alert
where id = any(array(
    select id
    from rota.alert
    where cleared_at < :before
    order by cleared_at
    limit :limit
));

-- name: add_webhook
-- Store a new endpoint.
insert into rota.webhook (id, url, shape, enabled, off_reason, created_at, version, secret)
values (
    :id, :url, :shape, :enabled::boolean, :off_reason, :created_at::bigint, 1, :secret::text
)
on conflict do nothing;

-- name: change_webhook
-- Change what an endpoint is that has this version.
update rota.webhook
set url = :url,
    shape = :shape,
    failing_since = case when enabled then failing_since end,
    enabled = :enabled::boolean,
    off_reason = :off_reason,
    secret = coalesce(:secret::text, secret),
    version = version + 1
where id = :id
    and version = :old_version::bigint;

-- name: rotate_webhook
-- Give an endpoint a new secret; the present one counts for a while.
update rota.webhook
set secret = :secret,
    old_secret = secret,
    old_until = :old_until,
    version = version + 1
where id = :id;

-- name: drop_webhook
-- Remove an endpoint.
delete from rota.webhook
where id = :id;

-- name: signing
-- Return the secrets of an endpoint.
select secret, old_secret, old_until
from rota.webhook
where id = :id;

-- name: delivered
-- Take note that an endpoint took what was delivered.
update rota.webhook
set last_success_at = greatest(last_success_at, :at::bigint),
    failure = null,
    failing_since = null
where id = :id;

-- name: not_delivered
-- Take note that it did not; it is switched off if it is gone, or has failed for too long.
update rota.webhook
set last_failure_at = greatest(last_failure_at, :at::bigint),
    failure = :failure::text,
    failing_since = coalesce(failing_since, :at::bigint)
where id = :id;

-- name: switch_off
-- Switch off an endpoint that is gone, or has failed for too long.
update rota.webhook
set enabled = false,
    off_reason = :reason::text,
    version = version + 1
where id = :id
    and enabled
    and (:gone::boolean or failing_since <= :failing_before::bigint);

-- name: take_alert_turn
-- Take the turn of looking, unless somebody took it a moment ago; a clock that was set back may.
insert into alert_turn (one, taken_at)
values (1, :now)
on conflict (one) do update
set taken_at = excluded.taken_at
where alert_turn.taken_at <= excluded.taken_at - :apart
    or alert_turn.taken_at > excluded.taken_at + :apart;

-- name: alert_rules
-- Return the stored rules, each as JSON with its version.
select body, version
from alert_rule
order by name;

-- name: open_alerts
-- Return the alerts that are not cleared.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from alert indexed by alert_open
where cleared_at is null
order by id;

-- name: webhooks
-- Return the endpoints, without their secrets, the oldest first.
select
    id, url, shape, enabled, off_reason, created_at, last_success_at, last_failure_at, failure,
    failing_since, version
from webhook
order by id;

-- name: put_alert_rule
-- Store a rule in the place of the one with this version, 0 if there is none.
insert into alert_rule (name, body, version)
select :name, :body, :old_version + 1
where :old_version = 0
    or exists (
        select 1
        from alert_rule
        where name = :name
            and version = :old_version
    )
on conflict (name) do update
set body = excluded.body,
    version = excluded.version
where alert_rule.version = :old_version;

-- name: drop_alert_rule
-- Remove a rule; at this version, if one is given.
delete from alert_rule
where name = :name
    and version = coalesce(:old_version, version);

-- name: add_alert
-- Store a new alert, unless there is one of its rule and queue that is not cleared.
insert into alert (
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
)
values (
    :id, :rule, :figure, :queue, :value, :threshold, :since, :fired_at, :told_at, :cleared_at,
    :silenced_until, 1
)
on conflict do nothing;

-- name: change_alert
-- Change an alert that has this version.
update alert
set value = :value,
    threshold = :threshold,
    fired_at = :fired_at,
    told_at = :told_at,
    cleared_at = :cleared_at,
    silenced_until = :silenced_until,
    version = :old_version + 1
where id = :id
    and version = :old_version;

-- name: drop_alert
-- Forget an alert that has this version.
delete from alert
where id = :id
    and version = :old_version;

-- name: find_alerts
-- Return matching alerts that have fired, the newest first. No id comes after a tilde.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from alert
where fired_at is not null
    and id < coalesce(:before, '~')
    and (:rule is null or rule = :rule)
    and (:queue is null or queue = :queue)
    and (:over is null or (cleared_at is not null) = :over)
order by id desc
limit :limit;

-- name: get_alert
-- Return an alert.
select
    id, rule, figure, queue, value, threshold, since, fired_at, told_at, cleared_at,
    silenced_until, version
from alert
where id = :id;

-- name: forget_alerts
-- Drop alerts that were cleared long ago.
delete from alert
where id in (
    select id
    from alert
    where cleared_at < :before
    order by cleared_at
    limit :limit
);

-- name: add_webhook
-- Store a new endpoint.
insert into webhook (id, url, shape, enabled, off_reason, created_at, version, secret)
values (:id, :url, :shape, :enabled, :off_reason, :created_at, 1, :secret)
on conflict do nothing;

-- name: change_webhook
-- Change what an endpoint is that has this version.
update webhook
set url = :url,
    shape = :shape,
    failing_since = case when enabled then failing_since end,
    enabled = :enabled,
    off_reason = :off_reason,
    secret = coalesce(:secret, secret),
    version = version + 1
where id = :id
    and version = :old_version;

-- name: rotate_webhook
-- Give an endpoint a new secret; the present one counts for a while.
update webhook
set secret = :secret,
    old_secret = secret,
    old_until = :old_until,
    version = version + 1
where id = :id;

-- name: drop_webhook
-- Remove an endpoint.
delete from webhook
where id = :id;

-- name: signing
-- Return the secrets of an endpoint.
select secret, old_secret, old_until
from webhook
where id = :id;

-- name: delivered
-- Take note that an endpoint took what was delivered.
update webhook
set last_success_at = max(coalesce(last_success_at, 0), :at),
    failure = null,
    failing_since = null
where id = :id;

-- name: not_delivered
-- Take note that it did not; it is switched off if it is gone, or has failed for too long.
update webhook
set last_failure_at = max(coalesce(last_failure_at, 0), :at),
    failure = :failure,
    failing_since = coalesce(failing_since, :at)
where id = :id;

-- name: switch_off
-- Switch off an endpoint that is gone, or has failed for too long.
update webhook
set enabled = false,
    off_reason = :reason,
    version = version + 1
where id = :id
    and enabled
    and (:gone or failing_since <= :failing_before);

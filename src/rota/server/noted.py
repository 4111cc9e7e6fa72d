"""A backend that takes down what a change made of what was there before (S17).

The values before are those that the version of the change was checked against, so an entry says
what was changed and not what somebody else changed meanwhile. Where the call has read them already
nothing is read again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, cast
from urllib.parse import urlsplit

from rota import access_views, alert_views, share_views, views
from rota.access import Key
from rota.alerting import Alert, AlertRule, Webhook
from rota.backend import Backend
from rota.model import Micros
from rota.schedule import Schedule, Skip
from rota.shares import AnySettings, Limit, QueueSettings, Settings, TenantSettings
from rota.times import show_instant

MASKED: Final = frozenset({"payload", "headers", "tags"})
"""Of these only that they were changed is told: they may hold anything."""
CHANGED: Final = "changed"
_OWN: Final = frozenset(
    {
        "id", "version", "name", "paused_at", "created_at", "updated_at", "built_in",
        "next_slot", "next_at", "last_slot", "last_fired_at", "fired", "skipped", "tz_data",
        "problem", "anchor",
        "last_success_at", "last_failure_at", "failure", "failing_since",
        "state", "last_used_at", "revoked_at", "created_by",
    }
)  # fmt: skip
"""What nobody changes, or what follows from the change."""

View = dict[str, Any]


def difference(before: View | None, after: View | None) -> View:
    """Return [before, after] of each field that differs; only after if there was nothing before.

    >>> difference({"rate": 1.0, "burst": 5}, {"rate": 2.0, "burst": 5})
    {'rate': [1.0, 2.0]}
    """
    was, now = before or {}, after or {}
    found: View = {}
    for field in (*now, *(name for name in was if name not in now)):
        old, new = was.get(field), now.get(field)
        if field in _OWN and not (field == "name" and before is None):
            continue
        if old == new or (before is None and new in (None, [], {})):
            continue
        if field in MASKED:
            found[field] = CHANGED
        elif before is None:
            found[field] = new
        else:
            found[field] = [old, new]
    return found


class Noted:
    """Passes on every verb, and tells into `told["change"]` what the changing ones changed."""

    def __init__(self, inner: Backend, told: dict[str, Any]) -> None:
        self._inner = inner
        self._told = told
        self._settings: Settings | None = None
        self._rules: dict[str, AlertRule] = {}
        self._webhooks: dict[str, Webhook] = {}
        self._schedules: dict[str, Schedule] = {}

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        found: Callable[..., Any] = getattr(self._inner, verb)
        return found

    # -- reading --------------------------------------------------------------------------------

    async def settings(self) -> Settings:
        self._settings = await self._inner.settings()
        return self._settings

    async def alert_rules(self) -> Sequence[AlertRule]:
        found = await self._inner.alert_rules()
        self._rules = {one.name: one for one in found}
        return found

    async def webhooks(self) -> Sequence[Webhook]:
        found = await self._inner.webhooks()
        self._webhooks = {one.id: one for one in found}
        return found

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        found = await self._inner.get_schedules(names)
        self._schedules |= {one.id: one for one in found if one is not None}
        return found

    # -- changing -------------------------------------------------------------------------------

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        old = await self._settings_of(new, version)
        done = await self._inner.put_settings(new, version)
        return self._changed(done, _settings(old), _settings(new))

    async def drop_settings(self, old: AnySettings) -> bool:
        stored = await self._settings_of(old, old.version)
        done = await self._inner.drop_settings(old)
        return self._changed(done, _settings(stored), _settings(type(old)(name=old.name)))

    async def put_limit(self, limit: Limit, version: int) -> bool:
        old = await self._limit(limit.id, version) if version else None
        done = await self._inner.put_limit(limit, version)
        return self._changed(done, _limit(old), share_views.limit(limit))

    async def drop_limit(self, limit_id: str) -> bool:
        old = await self._limit(limit_id)
        return self._changed(await self._inner.drop_limit(limit_id), _limit(old), None)

    async def create_schedule(self, schedule: Schedule) -> bool:
        done = await self._inner.create_schedule(schedule)
        return self._changed(done, None, views.schedule(schedule))

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        old = await self._schedule(schedule.id, version)
        done = await self._inner.change_schedule(schedule, version, cursor, skips)
        return self._changed(done, _schedule(old), views.schedule(schedule))

    async def remove_schedule(self, schedule_id: str) -> bool:
        old = await self._schedule(schedule_id)
        return self._changed(await self._inner.remove_schedule(schedule_id), _schedule(old), None)

    async def put_alert_rule(self, rule: AlertRule, version: int) -> bool:
        old = await self._rule(rule.name, version)
        done = await self._inner.put_alert_rule(rule, version)
        return self._changed(done, _rule(old), alert_views.rule(rule))

    async def drop_alert_rule(self, name: str, version: int | None = None) -> bool:
        old = await self._rule(name, version)
        return self._changed(await self._inner.drop_alert_rule(name, version), _rule(old), None)

    async def silence_alert(self, alert_id: str, until: Micros) -> Alert | None:
        found = await self._inner.silence_alert(alert_id, until)
        self._changed(found is not None, None, {"silenced_until": show_instant(until)})
        return found

    async def put_webhook(self, webhook: Webhook, version: int, secret: str | None = None) -> bool:
        old = await self._webhook(webhook.id, version) if version else None
        done = await self._inner.put_webhook(webhook, version, secret)
        self._changed(done, _webhook(old), _webhook(webhook))
        if done and old is not None and old.url != webhook.url:
            self._told["change"].setdefault("url", CHANGED)  # in what is not shown of it
        return done

    async def drop_webhook(self, webhook_id: str) -> bool:
        old = await self._webhook(webhook_id)
        return self._changed(await self._inner.drop_webhook(webhook_id), _webhook(old), None)

    async def add_key(self, key: Key) -> None:
        await self._inner.add_key(key)
        self._changed(True, None, access_views.key(key, key.created_at))

    def _changed(self, done: bool, before: View | None, after: View | None) -> bool:
        if done:
            self._told["change"] = difference(before, after)
        return done

    # -- what was there -------------------------------------------------------------------------

    async def _settings_of(self, new: AnySettings, version: int) -> AnySettings:
        read = self._settings
        if read is None or _one_of(read, new).version != version:
            read = await self.settings()
        return _one_of(read, new)

    async def _limit(self, limit_id: str, version: int | None = None) -> Limit | None:
        read = self._settings
        for again in (False, True):
            if again or read is None:
                read = await self.settings()
            found = next((one for one in read.limits if one.id == limit_id), None)
            if found is not None and version in (None, found.version):
                return found
        return found

    async def _schedule(self, schedule_id: str, version: int | None = None) -> Schedule | None:
        found = self._schedules.get(schedule_id)
        if found is None or version not in (None, found.version):
            (found,) = await self.get_schedules([schedule_id])
        return found

    async def _rule(self, name: str, version: int | None = None) -> AlertRule | None:
        found = self._rules.get(name)
        if found is None or version not in (None, found.version):
            await self.alert_rules()
        return self._rules.get(name)

    async def _webhook(self, webhook_id: str, version: int | None = None) -> Webhook | None:
        found = self._webhooks.get(webhook_id)
        if found is None or version not in (None, found.version):
            await self.webhooks()
        return self._webhooks.get(webhook_id)


def noted(backend: Backend, told: dict[str, Any]) -> Backend:
    """Return the backend, with what it changes told into `told["change"]`."""
    return cast(Backend, Noted(backend, told))


def _one_of(settings: Settings, like: AnySettings) -> AnySettings:
    if isinstance(like, QueueSettings):
        return settings.queue(like.name)
    if isinstance(like, TenantSettings):
        return settings.tenant(like.name)
    return settings.kinds.get(like.name) or type(like)(name=like.name)


def _settings(one: AnySettings) -> View:
    if isinstance(one, QueueSettings):
        return share_views.queue(one)
    if isinstance(one, TenantSettings):
        return share_views.tenant(one)
    return share_views.kind(one)


def _limit(one: Limit | None) -> View | None:
    return None if one is None else share_views.limit(one)


def _schedule(one: Schedule | None) -> View | None:
    return None if one is None else views.schedule(one)


def _rule(one: AlertRule | None) -> View | None:
    return None if one is None else alert_views.rule(one)


def _webhook(one: Webhook | None) -> View | None:
    """Return an endpoint without what its address may hold: of Slack's it is the secret (S11)."""
    if one is None:
        return None
    parts = urlsplit(one.url)
    return alert_views.webhook(one) | {"url": f"{parts.scheme}://{parts.netloc}/…"}

"""Alerts: what is watched, and what was too high: `app.alerts` (R4.5, R9.4)."""

from collections.abc import Sequence
from typing import Unpack

from msgspec import structs

from rota.alert_options import RULES_MOST, RuleChanges, check_fits, check_rule, check_until
from rota.alerting import DEFAULT_RULES, Alert, AlertFilter, AlertRule
from rota.client import Client
from rota.clock import parse_id
from rota.errors import AlertNotFound, AlertRuleExists, InvalidTask, SettingsChanged
from rota.faces import awaited, blocking
from rota.insights import PAGE, check_after, check_limit
from rota.registry import check_name, did_you_mean
from rota.sync import Portal
from rota.times import Duration

TRIES = 20
"""So often a change is merged anew after somebody else was faster."""


class Alerts:
    """Reads alerts, and reads and changes the rules that make them: `app.alerts`.

    The seven rules of R9.4 are there from the start, by the names of their figures. Every verb has
    a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _rules(self) -> Sequence[AlertRule]:
        """Return all rules by name."""
        return await self._client.patiently(lambda backend: backend.alert_rules())

    async def _rule(self, name: str) -> AlertRule:
        """Return a rule by its name; `AlertNotFound`."""
        rules = {rule.name: rule for rule in await self._rules()}
        if name not in rules:
            raise AlertNotFound(f"alert rule {name!r:.80}", did_you_mean(name, rules))
        return rules[name]

    async def _create_rule(self, name: str, **options: Unpack[RuleChanges]) -> AlertRule:
        """Make a rule; `AlertRuleExists`. A `figure` and a `threshold` are needed.

        It fires when the figure of a `queue` (none: all together, "*": each) has been at least the
        threshold for `hold`, and is over below `threshold * clear`. It tells the `webhooks` that
        are named, or all.
        """
        check_name(name, "name")
        checked = check_rule(options)
        for needed in ("figure", "threshold"):
            if needed not in checked:
                raise InvalidTask(needed, "is missing")
        new = AlertRule(name=name, **checked)
        check_fits(new.figure, new.threshold)
        await self._check_webhooks(new.webhooks)
        rules = await self._rules()
        if any(rule.name == name for rule in rules):
            raise AlertRuleExists(name)
        if len(rules) >= RULES_MOST:
            raise InvalidTask("name", f"there are {RULES_MOST} rules already; delete some")
        if not await self._put(new, 0):
            raise AlertRuleExists(name)
        return structs.replace(new, version=1)

    async def _set_rule(
        self, name: str, *, version: int | None = None, **changes: Unpack[RuleChanges]
    ) -> AlertRule:
        """Change what is given of a rule and leave the rest.

        With a `version` only if it is still at that one: `SettingsChanged`.
        """
        checked = check_rule(changes)
        await self._check_webhooks(checked.get("webhooks"))
        return await self._edit(name, checked, version)

    async def _check_webhooks(self, ids: Sequence[str] | None) -> None:
        if ids:
            known = {one.id for one in await self._client.patiently(lambda b: b.webhooks())}
            for missing in sorted({*ids} - known):
                raise InvalidTask("webhooks", f"there is no webhook with the id {missing!r:.80}")

    async def _silence_rule(self, name: str, length: Duration) -> AlertRule:
        """Tell nobody of a rule's alerts for so long; 0 ends it."""
        until = check_until(length, self._client.backend.clock.now())
        return await self._edit(name, {"silenced_until": until}, None)

    async def _edit(self, name: str, changes: dict[str, object], version: int | None) -> AlertRule:
        for _ in range(TRIES):
            old = await self._rule(name)
            if version is not None and old.version != version:
                break
            new = structs.replace(old, **changes)
            check_fits(new.figure, new.threshold)
            if new == old:
                return old
            then = structs.replace(new, version=old.version + 1)
            # The answer to a first call may have been lost: then it is ours that is there.
            if await self._put(new, old.version) or await self._rule(name) == then:
                return then
        raise SettingsChanged(f"alert rule {name!r}")

    async def _put(self, rule: AlertRule, version: int) -> bool:
        return await self._client.patiently(lambda backend: backend.put_alert_rule(rule, version))

    async def _delete_rule(self, name: str, *, version: int | None = None) -> None:
        """Remove a rule; one of the seven goes back to its defaults. Its open alerts end."""
        old = await self._rule(name)
        if version is not None and old.version != version:
            raise SettingsChanged(f"alert rule {name!r}")
        dropped = await self._client.patiently(
            lambda backend: backend.drop_alert_rule(name, version or None)
        )
        if not dropped and version and name not in DEFAULT_RULES:
            raise SettingsChanged(f"alert rule {name!r}")

    async def _list(
        self,
        *,
        rule: str | None = None,
        queue: str | None = None,
        over: bool | None = None,
        after: str | None = None,
        limit: int = PAGE,
    ) -> Sequence[Alert]:
        """Return alerts that have fired, newest first; the next page begins `after` the last's id.

        They are kept for 30 days after they are over.
        """
        check_limit(limit)
        before = check_after(after, "an alert")
        where = AlertFilter(rule=rule, queue=queue, over=over)
        return await self._client.patiently(
            lambda backend: backend.find_alerts(where, before_id=before, limit=limit)
        )

    async def _get(self, alert_id: str) -> Alert:
        """Return an alert that has fired; `AlertNotFound`."""
        known = parse_id(alert_id)
        if known is None:
            raise AlertNotFound(f"alert {alert_id!r:.80}")
        # The page that begins right behind it: no id lies between one and the same with a space.
        found = await self._client.patiently(
            lambda backend: backend.find_alerts(AlertFilter(), before_id=f"{known} ", limit=1)
        )
        if not found or found[0].id != known:
            raise AlertNotFound(f"alert {alert_id!r:.80}")
        return found[0]

    async def _silence(self, alert_id: str, length: Duration) -> Alert:
        """Tell nobody of an alert for so long; 0 ends it. `AlertNotFound` if it is over."""
        until = check_until(length, self._client.backend.clock.now())
        found = await self._client.patiently(lambda backend: backend.silence_alert(alert_id, until))
        if found is None:
            raise AlertNotFound(f"alert {alert_id!r:.80} that is not over")
        return found

    rules, arules = blocking(_rules), awaited(_rules)
    rule, arule = blocking(_rule), awaited(_rule)
    create_rule, acreate_rule = blocking(_create_rule), awaited(_create_rule)
    set_rule, aset_rule = blocking(_set_rule), awaited(_set_rule)
    silence_rule, asilence_rule = blocking(_silence_rule), awaited(_silence_rule)
    delete_rule, adelete_rule = blocking(_delete_rule), awaited(_delete_rule)
    list, alist = blocking(_list), awaited(_list)
    get, aget = blocking(_get), awaited(_get)
    silence, asilence = blocking(_silence), awaited(_silence)

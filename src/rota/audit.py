"""The audit record: who changed what, when and from where: `app.audit` (S17)."""

from collections.abc import Sequence

from rota.access import AuditEntry, AuditFilter, Outcome, Via
from rota.checks import one_of
from rota.client import Client
from rota.faces import awaited, blocking
from rota.insights import PAGE, check_after, check_limit
from rota.sync import Portal
from rota.times import Instant, moment


class Audit:
    """Reads the audit record: `app.audit`.

    Nothing changes an entry; after 90 days it is dropped. Every verb has a blocking face and, with
    an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _list(
        self,
        *,
        key: str | None = None,
        action: str | None = None,
        tenant: str | None = None,
        via: Via | str | None = None,
        outcome: Outcome | str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        after: str | None = None,
        limit: int = PAGE,
    ) -> Sequence[AuditEntry]:
        """Return matching entries, the newest first; the next page begins `after` the last's id.

        `key` is the id of the key that was used, `action` a noun and a verb: "limit.update".
        """
        check_limit(limit)
        where = AuditFilter(
            key_id=key,
            action=action,
            tenant=tenant,
            via=None if via is None else one_of(Via)(via, "via"),
            outcome=None if outcome is None else one_of(Outcome)(outcome, "outcome"),
            since=None if since is None else moment(since, "since"),
            until=None if until is None else moment(until, "until"),
        )
        before = check_after(after, "an entry")
        return await self._client.patiently(
            lambda backend: backend.audit(where, before_id=before, limit=limit)
        )

    list, alist = blocking(_list), awaited(_list)

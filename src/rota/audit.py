"""The audit record: who changed what, when and from where: `app.audit` (S17)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from rota.access import AuditEntry, AuditFilter, Outcome, Via
from rota.client import Client
from rota.clock import parse_id
from rota.errors import InvalidTask
from rota.faces import awaited, blocking
from rota.sync import Portal
from rota.times import Instant, moment

E = TypeVar("E", bound=StrEnum)

PAGE = 50
PAGE_MOST = 500


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
        if type(limit) is not int or not 1 <= limit <= PAGE_MOST:
            raise InvalidTask("limit", f"must be a whole number from 1 to {PAGE_MOST}")
        where = AuditFilter(
            key_id=key,
            action=action,
            tenant=tenant,
            via=_among(Via, via, "via"),
            outcome=_among(Outcome, outcome, "outcome"),
            since=None if since is None else moment(since, "since"),
            until=None if until is None else moment(until, "until"),
        )
        before = None if after is None else _known(after)
        return await self._client.patiently(
            lambda backend: backend.audit(where, before_id=before, limit=limit)
        )

    list, alist = blocking(_list), awaited(_list)


def _among(words: type[E], given: E | str | None, field: str) -> E | None:
    if given is None:
        return None
    try:
        return words(given)
    except ValueError:
        raise InvalidTask(field, f"{given!r} is none of {', '.join(words)}") from None


def _known(entry_id: str) -> str:
    known = parse_id(entry_id)
    if known is None:
        raise InvalidTask("after", f"{entry_id!r} is not the id of an entry")
    return known

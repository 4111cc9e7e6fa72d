"""Statistics by the minute and the seven figures: `app.statistics` (R9.1, R9.4, R9.6)."""

from collections.abc import Sequence

from rota.client import Client
from rota.config import MINUTE
from rota.errors import InvalidTask
from rota.faces import awaited, blocking
from rota.figures import By, Figures, Scale, Served, Statistic, StatisticsFilter
from rota.model import Micros
from rota.registry import check_name
from rota.service import TOLD, Service, ServiceFilter
from rota.sync import Portal
from rota.times import Duration, Instant, duration, moment


class Statistics:
    """Reads what happened and how things stand: `app.statistics`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _list(
        self,
        since: Instant | Duration = "1h",
        until: Instant | None = None,
        *,
        step: Duration = "1m",
        queue: str | None = None,
        kind: str | None = None,
        by: str | Sequence[str] = (),
    ) -> Sequence[Statistic]:
        """Return what happened in each step, the oldest first (R9.1).

        `since` is an instant, or how long ago; `until` is now unless it is given, and takes in the
        step that goes on. Minutes are kept for a day, whole hours for a week: a `step` of hours
        reaches back that far. Split `by` queue, kind, or both; at most 1,440 steps.
        """
        backend = await self._client.opened()
        where = chosen(backend.clock.now(), since, until, step=step, queue=queue, kind=kind, by=by)
        return await self._client.patiently(lambda backend: backend.statistics(where))

    async def _service(
        self,
        since: Instant | Duration = "1h",
        until: Instant | None = None,
        *,
        step: Duration = "1m",
        tenant: str | None = None,
        most: int = TOLD,
    ) -> Sequence[Service]:
        """Return who got how much of what was done in each step, the oldest first (R7.3).

        Told apart are the `most` tenants that got most in all that time, 200 at most, or `tenant`
        alone. Times are as for `list`.
        """
        backend = await self._client.opened()
        where = service_chosen(
            backend.clock.now(), since, until, step=step, tenant=tenant, most=most
        )
        return await self._client.patiently(lambda backend: backend.service(where))

    async def _served(self) -> Served:
        """Return how many tasks of each tenant were completed lately (R7.3)."""
        return await self._client.patiently(lambda backend: backend.served())

    async def _figures(self) -> Figures:
        """Return the seven figures of all, and of each queue (R9.4)."""
        return await self._client.patiently(lambda backend: backend.figures())

    async def _scaling(self) -> Sequence[Scale]:
        """Return how much capacity each queue has and wants (R9.6)."""
        return await self._client.patiently(lambda backend: backend.scaling())

    list, alist = blocking(_list), awaited(_list)
    service, aservice = blocking(_service), awaited(_service)
    served, aserved = blocking(_served), awaited(_served)
    figures, afigures = blocking(_figures), awaited(_figures)
    scaling, ascaling = blocking(_scaling), awaited(_scaling)


def chosen(
    now: Micros,
    since: Instant | Duration,
    until: Instant | None,
    *,
    step: Duration,
    queue: str | None,
    kind: str | None,
    by: str | Sequence[str],
) -> StatisticsFilter:
    """Return what is asked for as a filter; `InvalidTask` names the field that cannot be."""
    begin, end, length = _window(now, since, until, step)
    return StatisticsFilter(
        since=begin,
        until=end,
        step=length,
        queue=None if queue is None else check_name(queue, "queue"),
        kind=None if kind is None else check_name(kind, "kind"),
        by=_split(by),
    )


def service_chosen(
    now: Micros,
    since: Instant | Duration,
    until: Instant | None,
    *,
    step: Duration,
    tenant: str | None,
    most: int,
) -> ServiceFilter:
    """Return what is asked for as a filter; `InvalidTask` names the field that cannot be."""
    begin, end, length = _window(now, since, until, step)
    if tenant:
        check_name(tenant, "tenant")
    return ServiceFilter(since=begin, until=end, step=length, tenant=tenant, most=most)


def _window(
    now: Micros, since: Instant | Duration, until: Instant | None, step: Duration
) -> tuple[Micros, Micros, Micros]:
    """Return from when, until when and in which steps; what goes on is taken in."""
    length = duration(step, "step")
    if length < MINUTE or length % MINUTE:
        raise InvalidTask("step", "must be whole minutes: 1m, 5m, 1h")
    begin = _since(since, now)
    end = (now if until is None else moment(until, "until")) + (length if until is None else 0)
    if end <= begin:
        raise InvalidTask("until", "must lie after `since`")
    return begin, end, length


def _since(since: object, now: Micros) -> Micros:
    """Return an instant, or how long ago; what is neither is refused as an instant is."""
    if isinstance(since, str) and since[:5].endswith("-"):
        return moment(since, "since")
    try:
        return now - duration(since, "since")
    except InvalidTask:
        return moment(since, "since")


def _split(by: str | Sequence[str]) -> tuple[By, ...]:
    given = [by] if isinstance(by, str) else by
    try:
        return tuple(dict.fromkeys(By(word) for word in given))
    except ValueError:
        words = " and ".join(By)
        raise InvalidTask("by", f"statistics are split by {words}, not {by!r:.80}") from None

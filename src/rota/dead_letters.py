"""Dead letters: found, grouped, edited, replayed and discarded: `app.dead_letters` (R4.4)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from rota.backend import Backend
from rota.bulk import Bulk, Deed, Terms, choose
from rota.bulk_faces import acounted, alisted, counted, listed
from rota.client import Client
from rota.config import REASON_CHARS
from rota.errors import DeadLetterSettled, InvalidTask, TaskNotFound
from rota.faces import awaited, blocking
from rota.filters import DeadLetterFilter, check_dead_letters
from rota.insights import PAGE, Insights
from rota.model import Accepted, DeadLetterGroup, State, Task
from rota.payload import encode
from rota.registry import Registry
from rota.reports import ReplayReport, SettleReport
from rota.sync import Portal


class DeadLetters:
    """Reads and settles the tasks that failed for good: `app.dead_letters`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited. Those that
    change many take ids from any iterable, or a filter, or `all=True`; an empty filter is refused.
    """

    def __init__(self, client: Client, insights: Insights, registry: Registry) -> None:
        self._client = client
        self._insights = insights
        self._registry = registry

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    # -- reading --------------------------------------------------------------------------------

    async def _list(
        self,
        *,
        after: str | None = None,
        limit: int = PAGE,
        discarded: bool = False,
        **where: Unpack[DeadLetterFilter],
    ) -> Sequence[Task]:
        """Return dead letters, newest first; the next page begins `after` the last one's id.

        With `discarded` those that were set aside, instead of those that were not. For the filters
        see `rota.filters.DeadLetterFilter`: group, error_type, queue, kind, tenant and others.
        """
        checked = check_dead_letters(where, discarded=discarded)
        return await self._insights.find(checked, after=after, limit=limit)

    async def _groups(
        self, *, limit: int = PAGE, **where: Unpack[DeadLetterFilter]
    ) -> Sequence[DeadLetterGroup]:
        """Return what failed alike, the largest group first (R4.4)."""
        return await self._insights.groups(check_dead_letters(where), limit)

    async def _get(self, task_id: str) -> Task:
        """Return a dead letter; `TaskNotFound` if there is none of this id."""
        task = await self._insights.get(task_id)
        if task.state is not State.FAILED:
            raise TaskNotFound(
                task_id, f"no dead letter has the id {task_id!r}; it is {task.state}"
            )
        return task

    async def _edit(self, task_id: str, payload: Mapping[str, Any]) -> None:
        """Change a dead letter's payload, for its replay or retry.

        Checked against the signature of its kind if that is registered: `InvalidTask` names the
        argument that does not fit. `DeadLetterSettled` once it was replayed or discarded.
        """
        task = await self._get(task_id)
        if not isinstance(payload, Mapping):
            raise InvalidTask("payload", "must be an object with the handler's arguments")
        kind = self._registry.get(task.kind)
        text = kind.arguments.encode((), payload) if kind else encode(payload, "payload")
        backend = await self._client.opened()
        if not await backend.edit_payload(task.id, text):
            raise DeadLetterSettled(task.id, _settled(await self._get(task.id)))

    list, alist = blocking(_list), awaited(_list)
    groups, agroups = blocking(_groups), awaited(_groups)
    get, aget = blocking(_get), awaited(_get)
    edit, aedit = blocking(_edit), awaited(_edit)

    # -- changing many --------------------------------------------------------------------------

    def _replay(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        rate: float | None = None,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[ReplayReport], None] | None = None,
        **where: Unpack[DeadLetterFilter],
    ) -> Bulk[Accepted | None, ReplayReport]:
        """Make of each dead letter a new task that runs now and is linked to it, once (R4.4).

        At most `rate` a second. In runs, each of which holds by itself: called again after a
        crash it goes on, and what was replayed is counted as `existing`.
        """
        chosen = choose(ids, where, check_dead_letters(where), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most, rate=rate)
        return Bulk(self._client, _REPLAYING, chosen, terms, on_progress)

    def _replay_each(
        self, ids: Iterable[str], *, rate: float | None = None
    ) -> Bulk[Accepted | None, ReplayReport]:
        """Replay dead letters by their ids; yield (id, the new task or None) of each."""
        return Bulk(self._client, _REPLAYING, iter(ids), Terms(rate=rate))

    def _discard(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        reason: str,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[SettleReport], None] | None = None,
        **where: Unpack[DeadLetterFilter],
    ) -> Bulk[bool, SettleReport]:
        """Set dead letters aside with a reason; `restore` undoes it while they are kept."""
        chosen = choose(ids, where, check_dead_letters(where), everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(
            self._client, _discarding(check_discard_reason(reason)), chosen, terms, on_progress
        )

    def _restore(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        dry_run: bool = False,
        expect_at_most: int | None = None,
        all: bool = False,
        on_progress: Callable[[SettleReport], None] | None = None,
        **where: Unpack[DeadLetterFilter],
    ) -> Bulk[bool, SettleReport]:
        """Undo a discard, of those that were discarded."""
        checked = check_dead_letters(where, discarded=True)
        chosen = choose(ids, where, checked, everything=all)
        terms = Terms(dry_run=dry_run, expect_at_most=expect_at_most)
        return Bulk(self._client, _RESTORING, chosen, terms, on_progress)

    replay, areplay = counted(_replay), acounted(_replay)
    replay_each, areplay_each = listed(_replay_each), alisted(_replay_each)
    discard, adiscard = counted(_discard), acounted(_discard)
    restore, arestore = counted(_restore), acounted(_restore)


async def _replay_some(backend: Backend, ids: Sequence[str]) -> Sequence[Accepted | None]:
    return await backend.replay(ids)


async def _restore_some(backend: Backend, ids: Sequence[str]) -> Sequence[bool]:
    return await backend.restore(ids)


_REPLAYING: Deed[Accepted | None, ReplayReport] = Deed(
    act=_replay_some,
    missing=None,
    foreseen={State.FAILED: Accepted("")},
    nothing=ReplayReport(),
)
_RESTORING = Deed(
    act=_restore_some, missing=False, foreseen={State.FAILED: True}, nothing=SettleReport()
)


def _discarding(reason: str) -> Deed[bool, SettleReport]:
    async def act(backend: Backend, ids: Sequence[str]) -> Sequence[bool]:
        return await backend.discard(ids, reason)

    return Deed(act=act, missing=False, foreseen={State.FAILED: True}, nothing=SettleReport())


def check_discard_reason(given: object) -> str:
    """Return why dead letters are discarded; `InvalidTask` if that is not said."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidTask("reason", "is missing; say why, in a few words")
    encode(given, "reason")  # what no payload may hold no reason may hold either
    if len(given) > REASON_CHARS:
        raise InvalidTask("reason", f"is longer than {REASON_CHARS} characters")
    return given


def _settled(task: Task) -> str:
    if task.replayed_as is not None:
        return f"was replayed as {task.replayed_as}; edit and retry that one"
    return "was discarded; restore it first"

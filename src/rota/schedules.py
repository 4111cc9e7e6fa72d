"""Schedules: made, changed, paused, looked ahead and made up for: `app.schedules` (R6.8)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from rota import schedule_edit, schedule_runs
from rota.call import Call
from rota.client import Client
from rota.clock import Ids
from rota.config import NAME_PATTERN
from rota.declared import Declarations, Declared, ScheduleChanges, ScheduleOptions, changed
from rota.declaring import declared_of
from rota.errors import (
    InvalidSchedule,
    InvalidTask,
    ScheduleExists,
)
from rota.faces import awaited, blocking
from rota.insights import PAGE, check_limit
from rota.model import Accepted
from rota.policy.calendar import Occurrence
from rota.reconcile import Step, apply, new_schedule, plan
from rota.registry import Kind, Registry
from rota.schedule import Schedule, ScheduleFilter, Slot
from rota.schedule_options import POLICY_NAMES, RULE_NAMES, check_jitter, check_policy, check_rule
from rota.schedule_preview import ahead, upcoming
from rota.schedule_runs import BackfillReport
from rota.sync import Portal
from rota.task import TaskKind
from rota.times import Instant, moment

AnyKind = str | TaskKind[..., Any] | Call
"""What recurs: a kind by its name, as its handler was made, with options, or bound to a payload."""

PREVIEW = 5


class Schedules:
    """Makes, reads and changes schedules: `app.schedules`.

    All of them are found by their name or their id. Every verb has a blocking face and, with an
    `a` before its name, one to be awaited.
    """

    def __init__(
        self, client: Client, registry: Registry, declarations: Declarations, source: str
    ) -> None:
        self._client = client
        self._registry = registry
        self._declarations = declarations
        self._source = source
        self._ids = Ids()

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    # -- reading --------------------------------------------------------------------------------

    async def _get(self, name: str) -> Schedule:
        """Return a schedule; `ScheduleNotFound`."""
        return await schedule_edit.found(self._client, name)

    async def _list(
        self,
        *,
        source: str | None = None,
        kind: str | None = None,
        tenant: str | None = None,
        paused: bool | None = None,
        after: str = "",
        limit: int = PAGE,
    ) -> Sequence[Schedule]:
        """Return matching schedules by name; the next page begins `after` the last one's."""
        where = ScheduleFilter(source=source, kind=kind, tenant=tenant, paused=paused)
        most = check_limit(limit)
        return await self._client.patiently(
            lambda backend: backend.find_schedules(where, after_name=after, limit=most)
        )

    async def _slots(
        self, name: str, *, before: Instant | None = None, limit: int = PAGE
    ) -> Sequence[Slot]:
        """Return what became of a schedule's slots, the newest first: a task, or why none."""
        until = None if before is None else moment(before, "before")
        most = check_limit(limit)
        schedule = await self._get(name)
        return await self._client.patiently(lambda backend: backend.slots(schedule.id, until, most))

    async def _preview(
        self,
        what: str | None = None,
        *,
        after: Instant | None = None,
        count: int = PREVIEW,
        **options: Unpack[ScheduleChanges],
    ) -> Sequence[Occurrence]:
        """Return the next slots that run, each with what is surprising about it (R6.8).

        Of an expression, of `every=…`, or of a schedule that is stored: as it is, or as it would be
        with some options. Found by what fires them. Only a schedule needs a store.
        """
        most = check_limit(count, "count")
        since = self._client.backend.clock.now() if after is None else moment(after, "after")
        if what is None or _is_expression(what):
            given = dict(options) if what is None else {**options, "expression": what}
            rule = check_rule(_among(given, RULE_NAMES, POLICY_NAMES))
            policy = check_policy(_among(given, POLICY_NAMES, RULE_NAMES))
            check_jitter(rule, policy)
            return upcoming(rule, policy, since, most)
        schedule = await self._get(what)
        declared = changed(schedule, schedule.work.kind, options)
        return ahead(schedule, declared.rule, declared.policy, since, most)

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    slots, aslots = blocking(_slots), awaited(_slots)
    preview, apreview = blocking(_preview), awaited(_preview)

    # -- changing -------------------------------------------------------------------------------

    async def _create(
        self,
        kind: AnyKind,
        expression: str | None = None,
        *,
        source: str = "",
        any_kind: bool = False,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Store a schedule whose first slot lies after now; `ScheduleExists`, `InvalidSchedule`.

        With `any_kind` also of a kind that this program does not know: nobody checks its payload.
        """
        declared = declared_of(self._known(kind, any_kind=any_kind), expression, options)
        await self._client.opened()  # the store's time counts
        now = self._client.backend.clock.now()
        schedule = new_schedule(declared, source, self._ids.new(now), now)
        if schedule.next_slot is None:
            raise InvalidSchedule("ends_at", "has passed: it would never run")
        if not await self._client.patiently(lambda backend: backend.create_schedule(schedule)):
            raise ScheduleExists(declared.name)
        return schedule

    async def _update(
        self, name: str, *, version: int | None = None, **changes: Unpack[ScheduleChanges]
    ) -> Schedule:
        """Change what is given of a schedule and leave the rest, also pause and counters.

        A rule that changes counts from now on. With a `version` only if it is still at that one:
        `ScheduleChanged`. What is declared in code or in a file is declared again from there.
        """
        return await schedule_edit.edit(
            self._client,
            name,
            schedule_edit.declare(
                lambda old: changed(
                    old, self._registry.get(old.work.kind) or old.work.kind, changes
                )
            ),
            version,
        )

    async def _pause(self, name: str, reason: str | None = None) -> Schedule:
        """Let no slot of a schedule run until `resume`; tasks that it made go on."""
        return await schedule_edit.edit(self._client, name, schedule_edit.pause(reason))

    async def _resume(self, name: str) -> Schedule:
        """Let the slots after now run again; those of the pause are skipped and can be listed."""
        return await schedule_edit.edit(self._client, name, schedule_edit.resume)

    async def _delete(self, name: str) -> None:
        """Remove a schedule and the record of its slots; tasks that it made are left alone."""
        schedule = await self._get(name)
        await self._client.patiently(lambda backend: backend.remove_schedule(schedule.id))

    async def _run_now(
        self, name: str, *, force: bool = False, task_id: str | None = None
    ) -> Accepted:
        """Make a task of a schedule now, besides its slots, also while it is paused.

        `ScheduleBusy` if it must not overlap itself and a run is not over; with `force` the task
        waits for that one at the schedule's gate. With a `task_id`, a UUID of version 7 made for
        this, a repeat finds the task of the first call.
        """
        return await schedule_runs.run_now(
            self._client, self._ids, name, force=force, task_id=task_id
        )

    async def _backfill(
        self, name: str, start: Instant, end: Instant, *, dry_run: bool = False
    ) -> BackfillReport:
        """Make a task of each slot in `start <= slot < end` that has none; safe to repeat.

        At most 10,000 slots a call. The tasks run from now on, one after another unless the
        schedule may overlap itself. A dry run changes nothing and counts.
        """
        since, until = moment(start, "start"), moment(end, "end")
        return await schedule_runs.backfill(
            self._client, self._ids, name, since, until, dry_run=dry_run
        )

    create, acreate = blocking(_create), awaited(_create)
    update, aupdate = blocking(_update), awaited(_update)
    pause, apause = blocking(_pause), awaited(_pause)
    resume, aresume = blocking(_resume), awaited(_resume)
    delete, adelete = blocking(_delete), awaited(_delete)
    run_now, arun_now = blocking(_run_now), awaited(_run_now)
    backfill, abackfill = blocking(_backfill), awaited(_backfill)

    # -- declared elsewhere ---------------------------------------------------------------------

    async def _plan(
        self, declared: Iterable[Declared] | None = None, *, source: str | None = None
    ) -> Sequence[Step]:
        """Return what `apply` would do."""
        wanted, whose = self._wanted(declared, source)
        return await self._client.patiently(lambda backend: plan(backend, wanted, whose))

    async def _apply(
        self, declared: Iterable[Declared] | None = None, *, source: str | None = None
    ) -> Sequence[Step]:
        """Make what is stored of a source what it declares: the app's own code unless told.

        New ones are created, others changed or deleted; those of other sources are left alone.
        Workers do so when they start.
        """
        wanted, whose = self._wanted(declared, source)
        return await self._client.patiently(lambda backend: apply(backend, wanted, whose))

    plan, aplan = blocking(_plan), awaited(_plan)
    apply, aapply = blocking(_apply), awaited(_apply)

    def _wanted(
        self, declared: Iterable[Declared] | None, source: str | None
    ) -> tuple[tuple[Declared, ...], str]:
        if (declared is None) != (source is None):
            raise InvalidTask("source", "goes with what it declares; give both or neither")
        if declared is None or source is None:
            return tuple(self._declarations), self._source
        return tuple(declared), source

    def _known(self, kind: AnyKind, *, any_kind: bool) -> Kind | str | TaskKind[..., Any] | Call:
        if not isinstance(kind, str):
            return kind
        return self._registry.get(kind) or (kind if any_kind else self._registry[kind])


def _is_expression(what: str) -> bool:
    return re.fullmatch(NAME_PATTERN, what) is None


def _among(given: Mapping[str, Any], names: Sequence[str], others: Sequence[str]) -> dict[str, Any]:
    # What is neither is left in, so that it is refused by its name.
    return {name: value for name, value in given.items() if name in names or name not in others}

"""The engine carries out every verb: it asks policy what to do and tells the store to do it."""

from collections.abc import Callable, Sequence

from rota.backend import Claim, Report
from rota.clock import Clock, Ids, Rng, wall
from rota.config import GROUP_HOURS, HOUR, SECOND
from rota.engine.access import Access
from rota.engine.actions import Actions
from rota.engine.alerts import Alerts
from rota.engine.claim import Claims
from rota.engine.diagnosis import Diagnosis
from rota.engine.finish import ranked, transitions
from rota.engine.news import Paper, Topic
from rota.engine.overload import Overload
from rota.engine.reap import reap
from rota.engine.recurring import Recurring
from rota.engine.remote import Remote
from rota.engine.sharing import Sharing
from rota.engine.statistics import Statistics
from rota.engine.submissions import Submissions
from rota.errors import Overloaded
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    DeadLetterGroup,
    Micros,
    NewTask,
    Note,
    Retention,
    RetryOutcome,
    Session,
    Staged,
    State,
    Task,
    TaskFilter,
)
from rota.orders import GroupOrder
from rota.retention import RETENTION
from rota.store.base import CHANGED, Pulse, Store, Wake
from rota.telemetry import SILENT, Telemetry

STAGE_BATCH = 2_000
PRUNE_BATCH = 1_000
SWEEP_BATCH = 1_000
HELD_BATCH = 10_000
"""More than a worker holds; one that looks for what a lost answer hid has to see all of it."""

_WAITING = (State.READY, State.SCHEDULED)


class Engine(
    Recurring, Sharing, Access, Statistics, Alerts, Submissions, Actions, Remote, Diagnosis
):
    """Implements `rota.backend.Backend` against a store.

    One engine belongs to one event loop. The fairness of its claims is carried over from claim to
    claim, so a worker keeps one engine for its life.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Rng,
        *,
        retention: Retention = RETENTION,
        telemetry: Telemetry = SILENT,
    ) -> None:
        super().__init__(store, clock, Ids(rng), rng, telemetry)
        self._retention = retention
        self._claims = Claims(store, clock, rng, self._known)
        self._remote_claims = {}
        self._overload = Overload(store, clock)

    async def open(self) -> None:
        await self.store.open()
        await self.measure()
        self.vitals.opened = True

    async def close(self) -> None:
        await self.measuring.close()
        await self.news.close()
        await self.store.close()

    async def measure(self) -> None:
        """Take a reading of the store's clock, so that all nodes share one time."""
        if self.store.traits.shared_clock:
            store_time = await self.store.clock()
            self.clock.observe(store_time, self.clock.monotonic())
            self.vitals.offset = (wall() - store_time) / SECOND

    # -- callers --------------------------------------------------------------------------------

    async def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        now, tasks = await self._let_in(tasks)
        accepted = await self.store.submit(tasks, now)
        self.measuring.submitted(tasks, accepted)
        await self._tell_of(tasks, now)
        await self.measuring.flush_now_and_then()
        return accepted

    async def _let_in(self, tasks: Sequence[NewTask]) -> tuple[Micros, Sequence[NewTask]]:
        # A clock that was set back since the tasks were made must not put off what is due at once.
        now = max(self.clock.now(), *(task.created_at for task in tasks))
        terms = await self._known.fresh()
        if terms.aged:
            tasks = ranked(tasks, terms)
        try:
            return now, await self._overload.admit(tasks, now, terms)
        except Overloaded as error:
            self.measuring.refused(tasks, error.what.partition(" ")[0])
            raise

    async def _tell_of(self, tasks: Sequence[NewTask], now: Micros) -> None:
        self.news.submitted(tasks, now)
        await self._hint([_stirs_at(task, now) for task in tasks], now)

    async def cancel(
        self, ids: Sequence[str], deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        outcomes = await self.store.cancel(ids, self.clock.now(), deadline)
        self.news.settled(ids, outcomes)
        if CancelOutcome.ACCEPTED in outcomes:
            await self.store.notify(CHANGED)  # the workers ask soon what they are to stop
        return outcomes

    async def retry(self, ids: Sequence[str]) -> list[RetryOutcome]:
        outcomes = await self.store.retry(ids, self.clock.now())
        self.news.retried(ids, outcomes)
        if RetryOutcome.COMPLETED in outcomes:
            await self._hint_anywhere()
        return outcomes

    async def get(self, ids: Sequence[str]) -> list[Task | None]:
        return await self.store.get(ids)

    async def find(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[Task]:
        return await self.store.find(where, before_id=before_id, limit=limit)

    async def count(self, where: TaskFilter, cap: int) -> dict[State, int]:
        return await self.store.count(where, cap)

    async def find_ids(self, where: TaskFilter, *, before_id: str | None, limit: int) -> list[str]:
        return await self.store.find_ids(where, before_id=before_id, limit=limit)

    async def ahead(self, task_id: str, cap: int) -> int:
        return await self.store.ahead(task_id, cap)

    # -- dead letters ---------------------------------------------------------------------------

    async def replay(self, ids: Sequence[str]) -> list[Accepted | None]:
        now = self.clock.now()
        copies = self._ids.many(now, len(ids))
        made = await self.store.replay(ids, copies, now)
        self.news.replayed(ids, made)
        if any(copy and copy.created for copy in made):
            await self._hint_anywhere()
        return made

    async def edit_payload(self, task_id: str, payload: str) -> bool:
        edited = await self.store.edit_payload(task_id, payload)
        if edited:
            self.news.touched(Topic.DEAD_LETTERS, [task_id], "edited")
        return edited

    async def discard(self, ids: Sequence[str], reason: str) -> list[bool]:
        done = await self.store.discard(ids, reason, self.clock.now())
        self.news.dead_letters(ids, done, "discarded")
        return done

    async def restore(self, ids: Sequence[str]) -> list[bool]:
        done = await self.store.restore(ids)
        self.news.dead_letters(ids, done, "failed")
        return done

    async def groups(
        self, where: TaskFilter, limit: int, order: GroupOrder = GroupOrder.COUNT
    ) -> list[DeadLetterGroup]:
        now = self.clock.now()
        since = now - now % HOUR - (GROUP_HOURS - 1) * HOUR
        return await self.store.groups(where, limit, order, since=since)

    async def tallies(self, since: Micros) -> dict[tuple[str, str, State], int]:
        return await self.store.tallies(since)

    async def sessions(self, *, live: bool = True) -> list[Session]:
        return await self.store.sessions(live_at=self.clock.now() if live else None)

    # -- workers --------------------------------------------------------------------------------

    async def open_session(self, session: Session) -> None:
        await self.store.open_session(session)
        self.news.touched(Topic.SESSIONS, [session.id], "opened")

    async def claim(
        self,
        session_id: str,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
    ) -> Claim:
        began = self.clock.monotonic()
        claim = await self._claims.claim(session_id, queues, slots, avoid, spare)
        self.measuring.claimed(claim.tasks, self.clock.now(), self.clock.monotonic() - began)
        self.news.claimed(claim.tasks)
        await self.measuring.flush_now_and_then()
        return claim

    async def held(self, session_id: str) -> list[Claimed]:
        return await self.store.held(session_id, HELD_BATCH)

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        now = self.clock.now()
        moves = transitions(reports, now, self._rng, self._known.aging)
        applied = await self.store.finish(session_id, moves, now)
        self.measuring.finished(reports, moves, applied, now)
        self.news.finished(reports, moves, applied)
        await self._gates.left(
            report.task.concurrency_key
            for report, move in zip(reports, moves, strict=True)
            if move.to is not State.READY
        )
        self._remote_claims.get(session_id, self._claims).ended(reports)
        # What was handed back or is to be tried again is news to the other workers, and so is room
        # under a cap.
        news = [move.run_at for move in moves if move.to in _WAITING]
        if self._known.capped(reports):
            news.append(now)
        await self._hint(news, now)
        return applied

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        kept = await self.store.note(session_id, notes)
        self.news.noted(notes)
        return kept

    async def close_session(self, session_id: str) -> None:
        await self.store.close_session(session_id, self.clock.now())
        self.news.touched(Topic.SESSIONS, [session_id], "closed")

    def pulse(self) -> Pulse:
        return self.store.pulse()

    async def listen(self, wake: Wake) -> None:
        await self.store.listen(wake)

    async def follow(self, heard: Callable[[Paper], None]) -> None:
        """Call `heard` with what other processes change, until cancelled (R9.2)."""
        await self.store.follow(lambda text: heard(self.news.read(text)))

    async def wake(self) -> None:
        self.news.unknown(Topic.TASKS)
        await self.store.notify(CHANGED)

    # -- duties ---------------------------------------------------------------------------------

    async def stage(self) -> Staged:
        staged = await self.store.stage(self.clock.now(), STAGE_BATCH)
        await self.measuring.ticked("stage")
        await self.measuring.flush_now_and_then()
        if staged.moved:
            self.news.unknown(Topic.TASKS)
            await self.store.notify(0)
        return staged

    async def reap(self) -> int:
        await self._known.fresh()
        returned = await reap(
            self.store,
            self.clock,
            self._rng,
            self._gates,
            aging=self._known.aging,
            lost=self.measuring.lost,
        )
        if returned:
            self.news.unknown(Topic.TASKS, Topic.SESSIONS, Topic.DEAD_LETTERS)
            await self.store.notify(0)
        return returned

    async def sweep(self) -> int:
        now = self.clock.now()
        revoked = await self.store.revoke_overdue(now, SWEEP_BATCH)
        if revoked and self._known.terms is not None and self._known.terms.limited:
            await self.store.notify(0)  # there may be room under a cap
        expired = await self.store.expire(now, SWEEP_BATCH)
        self.measuring.expired(expired)
        if revoked or expired:
            self.news.unknown(Topic.TASKS)
        return len(revoked) + expired

    async def prune(self) -> int:
        forgotten = await self._forget_actions(PRUNE_BATCH)
        pruned = await self.store.prune(self.clock.now(), self._retention, PRUNE_BATCH)
        return forgotten + pruned

    async def _hint(self, run_ats: Sequence[Micros], now: Micros) -> None:
        """Tell sleeping workers, after the commit: there is work now, or will be then."""
        later = min((at for at in run_ats if at > now), default=None)
        if later is not None:
            await self.store.notify(later)
        if any(at <= now for at in run_ats):
            await self.store.notify(0)

    async def _hint_anywhere(self) -> None:
        """Tell of tasks that are ready, or wait at a gate, where the stager has to look."""
        await self.store.notify(0)
        await self.store.notify(self.clock.now())


def _stirs_at(task: NewTask, now: Micros) -> Micros:
    """Return when the task is news; what is due at a gate is so for the stager, hence later."""
    return task.run_at if task.concurrency_key is None else max(task.run_at, now + 1)

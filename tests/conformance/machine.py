"""Drives a store and a plain model of it side by side, and compares them after every step."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rota.config import MINUTE, SECOND
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    Micros,
    NewTask,
    RetryOutcome,
    Staged,
    State,
    Transition,
    rank_of,
)
from rota.store.base import Store
from tests.conformance.steps import beat, counts, reap, take
from tests.support.factories import NOW, Make, error
from tests.support.places import Place

Run = Callable[[Coroutine[Any, Any, Any]], Any]

LIVE = (State.SCHEDULED, State.READY, State.RUNNING)
ENDS = (State.COMPLETED, State.CANCELLED, State.FAILED, State.SCHEDULED, State.READY)
WINDOW = 5 * MINUTE + 1  # time moves by whole seconds, so nothing ends at the instant it is read
TERM = 3 * MINUTE + 1


class Known(msgspec.Struct):
    """What the model knows of a task."""

    task: NewTask
    state: State
    run_at: Micros
    rank: Micros
    attempt: int = 0
    fence: int = 0
    lost: int = 0
    snoozes: int = 0
    errors: int = 0
    session: str | None = None
    over_at: Micros | None = None


class Lease(msgspec.Struct):
    """What the model knows of a session."""

    id: str
    until: Micros
    closed: bool = False


which = st.integers(0, 1)
rarely = st.sampled_from([False] * 4 + [True])
numbers = st.integers(0, 40)
some_numbers = st.lists(numbers, min_size=1, max_size=3)
wish = st.tuples(
    st.sampled_from([-60, 0, 0, 0, 30, 400]),
    st.sampled_from([4, 5, 6]),
    st.sampled_from([None, None, "a", "b"]),
)
reports = st.lists(
    st.tuples(
        numbers,
        st.sampled_from([*ENDS, State.SCHEDULED, State.FAILED]),
        st.sampled_from([0] * 6 + [-1, 1]),
    ),
    min_size=1,
    max_size=4,
)
duties = st.lists(st.sampled_from(["stage", "reap", "prune"]), max_size=2)
takes = st.tuples(st.just("take"), which, st.integers(1, 5), rarely)
finishes = st.tuples(st.just("finish"), which, rarely, reports)
steps = st.one_of(
    st.tuples(st.just("submit"), st.lists(wish, min_size=1, max_size=6)),
    *[takes] * 3,
    *[finishes] * 3,
    st.tuples(st.just("cancel"), some_numbers),
    st.tuples(st.just("retry"), some_numbers),
    st.tuples(st.just("repeat_a_submit"), some_numbers),
    st.tuples(st.just("renew"), which),
    st.tuples(st.just("close"), which),
    *[st.tuples(st.just("pass_time"), st.sampled_from([0, 1, 20, 70, 400]), duties)] * 2,
)
"""One step is one rule: of many rules hypothesis leaves out half in each example, and a task that
nobody takes tells nothing."""


class StoreMachine(RuleBasedStateMachine):
    """Every verb that changes a task, in any order, by two sessions that come and go."""

    def __init__(self, place: Place, store: Store, run: Run) -> None:
        super().__init__()
        run(place.wipe())
        self.store, self.run = store, run
        self.make = Make()
        self.now = NOW
        self.known: dict[str, Known] = {}
        self.keys: dict[str, tuple[str, Micros]] = {}
        self.leases = [self.opened(), self.opened()]

    def opened(self) -> Lease:
        session = self.make.session(started_at=self.now, lease_until=self.now + TERM)
        self.run(self.store.open_session(session))
        return Lease(session.id, session.lease_until)

    def alive(self, lease: Lease) -> bool:
        return not lease.closed and lease.until > self.now

    def holder(self, key: str) -> str | None:
        task_id, until = self.keys.get(key, ("", 0))
        known = self.known.get(task_id)
        held = until > self.now or (known is not None and known.state in LIVE)
        return task_id if held else None

    def some(self, wanted: list[int], among: Sequence[str] = ()) -> list[Known]:
        """The tasks that are meant, each once, in the order asked for; none if there are none."""
        ids = list(among or self.known)
        wanted = wanted if ids else []
        return [self.known[task_id] for task_id in dict.fromkeys(ids[n % len(ids)] for n in wanted)]

    @initialize(wanted=st.lists(wish, min_size=6, max_size=12))
    def begin(self, wanted: list[tuple[int, int, str | None]]) -> None:
        self.submit(wanted)

    @rule(step=steps)
    def do(self, step: tuple[Any, ...]) -> None:
        name, *values = step
        getattr(self, name)(*values)

    # -- accepting and time ---------------------------------------------------------------------

    def submit(self, wanted: list[tuple[int, int, str | None]]) -> None:
        batch, expected = [], []
        for delay, priority, key in wanted:
            run_at = self.now + delay * SECOND
            until = self.now + WINDOW if key else None
            task = self.make.task(run_at=run_at, priority=priority, key=key, key_until=until)
            batch.append(task)
            holder = key and self.holder(key)
            expected.append(Accepted(holder, created=False) if holder else Accepted(task.id))
            if not holder:
                state = State.READY if delay <= 0 else State.SCHEDULED
                self.known[task.id] = Known(task, state, task.run_at, task.rank)
                if key and until:
                    self.keys[key] = (task.id, until)
        assert self.run(self.store.submit(batch, self.now)) == expected

    def repeat_a_submit(self, wanted: list[int]) -> None:
        batch = [known.task for known in self.some(wanted)]
        assert self.run(self.store.submit(batch, self.now)) == [Accepted(t.id) for t in batch]

    def pass_time(self, seconds: int, duties: list[str]) -> None:
        self.now += seconds * SECOND
        for duty in duties:
            getattr(self, duty)()

    def stage(self) -> None:
        waiting = [k for k in self.known.values() if k.state is State.SCHEDULED]
        due = [known for known in waiting if known.run_at <= self.now]
        rest = [known.run_at for known in waiting if known.run_at > self.now]
        staged = self.run(self.store.stage(self.now, 1000))
        assert staged == Staged(len(due), min(rest, default=None))
        for known in due:
            known.state = State.READY

    # -- sessions -------------------------------------------------------------------------------

    def renew(self, n: int) -> None:
        lease = self.leases[n]
        alive = self.alive(lease)
        assert self.run(beat(self.store, lease.id, self.now, TERM)) == alive
        if alive:
            lease.until = self.now + TERM

    def close(self, n: int) -> None:
        self.run(self.store.close_session(self.leases[n].id, self.now))
        self.leases[n].closed = True

    def start_anew(self, n: int) -> None:
        if not self.alive(self.leases[n]):
            self.leases[n] = self.opened()

    def reap(self) -> None:
        for lease in self.leases:
            lease.closed = not self.alive(lease)
        living = [lease.id for lease in self.leases if not lease.closed]
        orphans = [k for k in self.known.values() if k.session and k.session not in living]
        given = self.run(reap(self.store, self.now))
        assert sorted(given) == sorted(known.task.id for known in orphans)
        for known in orphans:
            self.moved(known, State.READY, self.now)
            known.lost += 1

    # -- holding --------------------------------------------------------------------------------

    def take(self, n: int, count: int, dead: bool) -> None:
        if not dead:
            self.start_anew(n)
        lease = self.leases[n]
        ready = [k for k in self.known.values() if k.state is State.READY]
        ready.sort(key=lambda known: (known.rank, known.task.id))
        expected = ready[:count] if self.alive(lease) else []
        for known in expected:
            known.state, known.session = State.RUNNING, lease.id
            known.fence += 1
            known.attempt += 1
        claimed: list[Claimed] = self.run(take(self.store, lease.id, count, now=self.now))
        assert [(c.id, c.fence, c.attempt, c.lost, c.snoozes) for c in claimed] == [
            (k.task.id, k.fence, k.attempt, k.lost, k.snoozes) for k in expected
        ]

    def finish(self, n: int, stray: bool, wanted: list[tuple[int, State, int]]) -> None:
        running = [known for known in self.known.values() if known.session and not stray]
        busy = [lease for lease in self.leases if lease.id in {k.session for k in running}]
        lease = busy[n % len(busy)] if busy else self.leases[n]
        held = [known.task.id for known in running if known.session == lease.id]
        batch, expected = [], []
        meant = self.some([number for number, _, _ in wanted], held)
        for known, (_, to, off) in zip(meant, wanted, strict=False):
            right = known.state is State.RUNNING and known.session == lease.id and off == 0
            batch.append(self.report(known, to, off))
            expected.append(right)
            if right:
                self.ended(known, batch[-1])
        assert self.run(self.store.finish(lease.id, batch, self.now)) == expected

    def report(self, known: Known, to: State, off: int) -> Transition:
        run_at = self.now + (MINUTE if to is State.SCHEDULED else 0)
        return Transition(
            known.task.id,
            known.fence + off,
            to,
            run_at=run_at,
            rank=rank_of(run_at, known.task.priority),
            attempt=known.attempt - (to is State.READY),
            lost=known.lost,
            snoozes=known.snoozes + (to is State.SCHEDULED),
            error=error(known.attempt) if to in (State.SCHEDULED, State.FAILED) else None,
        )

    def ended(self, known: Known, report: Transition) -> None:
        self.moved(known, report.to, report.run_at)
        known.errors += report.error is not None
        if report.to not in (State.COMPLETED, State.CANCELLED):
            known.attempt, known.snoozes = report.attempt, report.snoozes

    def moved(self, known: Known, to: State, run_at: Micros) -> None:
        known.state, known.session = to, None
        if to in (State.READY, State.SCHEDULED):
            known.run_at, known.rank = run_at, rank_of(run_at, known.task.priority)
        if to in (State.COMPLETED, State.CANCELLED):
            known.over_at = self.now

    # -- callers --------------------------------------------------------------------------------

    def cancel(self, wanted: list[int]) -> None:
        expected = []
        for known in self.some(wanted):
            if known.state in (State.SCHEDULED, State.READY):
                expected.append((known.task.id, CancelOutcome.COMPLETED))
                self.moved(known, State.CANCELLED, self.now)
            elif known.state is State.RUNNING:
                expected.append((known.task.id, CancelOutcome.RUNNING))
            else:
                expected.append((known.task.id, CancelOutcome.TOO_LATE))
        ids = [task_id for task_id, _ in expected]
        outcomes = self.run(self.store.cancel(ids, self.now))
        assert list(zip(ids, outcomes, strict=True)) == expected

    def retry(self, wanted: list[int]) -> None:
        expected = []
        for known in self.some(wanted):
            if known.state is State.FAILED:
                known.attempt = known.lost = known.snoozes = 0
            if known.state in (State.FAILED, State.SCHEDULED):
                expected.append((known.task.id, RetryOutcome.COMPLETED))
                self.moved(known, State.READY, self.now)
            else:
                expected.append((known.task.id, RetryOutcome.NOT_RETRYABLE))
        ids = [task_id for task_id, _ in expected]
        outcomes = self.run(self.store.retry(ids, self.now))
        assert list(zip(ids, outcomes, strict=True)) == expected

    def prune(self) -> None:
        before = self.now - 3 * MINUTE
        old = [t for t, k in self.known.items() if k.over_at is not None and k.over_at < before]
        pruned = 0
        while gone := self.run(self.store.prune(self.now, before, 100)):
            pruned += gone
        assert pruned == len(old)
        for task_id in old:
            del self.known[task_id]

    # -- what must hold -------------------------------------------------------------------------

    @invariant()
    def store_and_model_agree(self) -> None:
        tally = Counter(known.state for known in self.known.values())
        assert self.run(counts(self.store)) == tally
        tasks = self.run(self.store.get(list(self.known)))
        assert [
            t and (t.id, t.state, t.run_at, t.attempt, t.fence, t.lost, t.snoozes, len(t.errors))
            for t in tasks
        ] == [
            (task_id, k.state, k.run_at, k.attempt, k.fence, k.lost, k.snoozes, k.errors)
            for task_id, k in self.known.items()
        ]

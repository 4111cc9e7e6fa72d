"""Drives a store and a plain model of it side by side, and compares them after every step."""

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rota.config import LEASE, MINUTE, SECOND
from rota.model import (
    Accepted,
    Beat,
    CancelOutcome,
    CancelRequest,
    Claimed,
    Micros,
    Note,
    Progress,
    RetryOutcome,
    Staged,
    State,
)
from rota.store.base import Store
from tests.conformance.known import (
    GATES,
    LIVE,
    OVER,
    TERM,
    WINDOW,
    Known,
    Lease,
    let_in,
    offsets,
    reports,
    some_picks,
    which,
    wishes,
)
from tests.conformance.steps import counts, heard, reap, take
from tests.support.factories import NOW, Make, kept
from tests.support.places import Place

Run = Callable[[Coroutine[Any, Any, Any]], Any]


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
        self.ended: Counter[State] = Counter()
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

    def some(self, wanted: list[int]) -> list[Known]:
        """The tasks that are meant, each once, in the order asked for."""
        ids = list(self.known)
        return [self.known[task_id] for task_id in dict.fromkeys(ids[n % len(ids)] for n in wanted)]

    def has_tasks(self) -> bool:
        return bool(self.known)

    # -- accepting and time ---------------------------------------------------------------------

    @rule(wanted=st.lists(wishes, min_size=1, max_size=4))
    def submit(self, wanted: list[tuple[int, int, str | None, str | None]]) -> None:
        batch, expected = [], []
        for delay, priority, key, gate in wanted:
            run_at = self.now + delay * SECOND
            until = self.now + WINDOW if key else None
            task = self.make.task(
                run_at=run_at,
                priority=priority,
                key=key,
                key_until=until,
                concurrency_key=gate,
                max_concurrency=gate and GATES[gate],
            )
            batch.append(task)
            holder = key and self.holder(key)
            expected.append(Accepted(holder, created=False) if holder else Accepted(task.id))
            if not holder:
                state = State.READY if delay <= 0 and gate is None else State.SCHEDULED
                self.known[task.id] = Known(task, state, task.run_at, task.rank)
                if key and until:
                    self.keys[key] = (task.id, until)
        assert self.run(self.store.submit(batch, self.now)) == expected

    @precondition(has_tasks)
    @rule(wanted=some_picks)
    def repeat_a_submit(self, wanted: list[int]) -> None:
        batch = [known.task for known in self.some(wanted)]
        assert self.run(self.store.submit(batch, self.now)) == [Accepted(t.id) for t in batch]

    @rule(seconds=st.sampled_from([1, 5, 20, 40, 400]))
    def advance(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def stage(self) -> None:
        waiting = [k for k in self.known.values() if k.state is State.SCHEDULED and not k.at_gate]
        due = [known for known in waiting if known.run_at <= self.now]
        rest = [known.run_at for known in waiting if known.run_at > self.now]
        moved = 0
        for known in due:
            known.at_gate = known.gate is not None
            if known.gate is None:
                known.state = State.READY
                moved += 1
        for gate in {known.gate for known in due if known.gate}:
            moved += len(let_in(gate, self.known.values()))
        staged = self.run(self.store.stage(self.now, 1000))
        assert staged == Staged(moved, min(rest, default=None))

    @rule()
    def admit(self) -> None:
        let = [known for gate in GATES for known in let_in(gate, self.known.values())]
        assert self.run(self.store.admit([*GATES], self.now)) == len(let)

    # -- sessions -------------------------------------------------------------------------------

    @rule(n=which)
    def renew(self, n: int) -> None:
        lease = self.leases[n]
        alive = self.alive(lease)
        asked = [
            CancelRequest(known.task.id, known.fence, known.deadline)
            for known in self.known.values()
            if alive and known.session == lease.id and known.asked_at is not None
        ]
        asked.sort(key=lambda request: request.id)
        assert self.run(heard(self.store, lease.id, self.now)) == Beat(alive, tuple(asked))
        if alive:
            lease.until = self.now + LEASE

    @rule(n=which)
    def close(self, n: int) -> None:
        self.run(self.store.close_session(self.leases[n].id, self.now))
        self.leases[n].closed = True

    @rule(n=which)
    def start_anew(self, n: int) -> None:
        if not self.alive(self.leases[n]):
            self.leases[n] = self.opened()

    @rule()
    def reap(self) -> None:
        for lease in self.leases:
            lease.closed = not self.alive(lease)
        living = [lease.id for lease in self.leases if not lease.closed]
        orphans = [k for k in self.known.values() if k.session and k.session not in living]
        given = self.run(reap(self.store, self.now))
        assert sorted(given) == sorted(known.task.id for known in orphans)
        for known in orphans:
            known.moved(State.READY, self.now, self.now)
            known.lost += 1

    # -- holding --------------------------------------------------------------------------------

    @rule(n=which, count=st.integers(1, 4))
    def take(self, n: int, count: int) -> None:
        lease = self.leases[n]
        expected = self.handed_out(lease, count)
        claimed: list[Claimed] = self.run(take(self.store, lease.id, count, now=self.now))
        assert_alike(claimed, expected)

    def handed_out(self, lease: Lease, count: int) -> list[Known]:
        ready = [k for k in self.known.values() if k.state is State.READY and k.asked_at is None]
        ready.sort(key=lambda known: (known.rank, known.task.id))
        expected = ready[:count] if self.alive(lease) else []
        for known in expected:
            known.state, known.session = State.RUNNING, lease.id
            known.fence += 1
            known.attempt += 1
        return expected

    @precondition(has_tasks)
    @rule(n=which, wanted=st.lists(reports, min_size=1, max_size=4))
    def finish(self, n: int, wanted: list[tuple[int, State, int, bool]]) -> None:
        lease = self.leases[n]
        batch, expected = [], []
        for known, (_, to, off, keep) in zip(
            self.some([pick for pick, *_ in wanted]), wanted, strict=False
        ):
            right = self.held(known, lease) and off == 0
            report = known.report(to, off, self.now, keep=keep)
            batch.append(report)
            expected.append(right)
            if right:
                known.errors += report.error is not None
                if to not in OVER:
                    known.attempt, known.snoozes = report.attempt, report.snoozes
                self.over(known, to, report.run_at)
                if to is State.COMPLETED and not keep:
                    del self.known[known.task.id]
        assert self.run(self.store.finish(lease.id, batch, self.now)) == expected

    @precondition(has_tasks)
    @rule(n=which, wanted=some_picks, off=offsets, done=st.integers(0, 9))
    def note(self, n: int, wanted: list[int], off: int, done: int) -> None:
        lease = self.leases[n]
        batch, expected = [], []
        for known in self.some(wanted):
            right = self.held(known, lease) and off == 0
            batch.append(Note(known.task.id, known.fence + off, done))
            expected.append(right)
            if right:
                known.done = done
        assert self.run(self.store.note(lease.id, batch)) == expected

    def held(self, known: Known, lease: Lease) -> bool:
        return known.state is State.RUNNING and known.session == lease.id

    def over(self, known: Known, to: State, run_at: Micros) -> None:
        known.moved(to, run_at, self.now)
        if to not in LIVE:
            self.ended[to] += 1

    @rule()
    def sweep(self) -> None:
        asked = [known for known in self.known.values() if known.asked_at is not None]
        late = [
            known
            for known in asked
            if known.state is State.RUNNING and known.deadline and known.deadline <= self.now
        ]
        back = [known for known in asked if known.state in (State.READY, State.SCHEDULED)]
        revoked = self.run(self.store.revoke_overdue(self.now, 100))
        assert sorted(revoked) == sorted(known.task.id for known in late)
        assert self.run(self.store.expire(self.now, 100)) == len(back)
        for known in late + back:
            self.over(known, State.CANCELLED, self.now)

    # -- callers --------------------------------------------------------------------------------

    @precondition(has_tasks)
    @rule(wanted=some_picks, seconds=st.sampled_from([None, 0, 30]))
    def cancel(self, wanted: list[int], seconds: int | None) -> None:
        deadline = None if seconds is None else self.now + seconds * SECOND
        expected = []
        for known in self.some(wanted):
            if known.state in (State.SCHEDULED, State.READY):
                expected.append((known.task.id, CancelOutcome.COMPLETED))
                self.over(known, State.CANCELLED, self.now)
            elif known.state is State.RUNNING:
                expected.append((known.task.id, CancelOutcome.ACCEPTED))
                known.asked(self.now, deadline)
            else:
                expected.append((known.task.id, CancelOutcome.TOO_LATE))
        ids = [task_id for task_id, _ in expected]
        outcomes = self.run(self.store.cancel(ids, self.now, deadline))
        assert list(zip(ids, outcomes, strict=True)) == expected

    @precondition(has_tasks)
    @rule(wanted=some_picks)
    def retry(self, wanted: list[int]) -> None:
        expected = []
        for known in self.some(wanted):
            if known.state in (State.FAILED, State.SCHEDULED) and known.copy is None:
                if known.state is State.FAILED:
                    known.attempt = known.lost = known.snoozes = 0
                expected.append((known.task.id, RetryOutcome.COMPLETED))
                known.made_due(self.now)
            else:
                expected.append((known.task.id, RetryOutcome.NOT_RETRYABLE))
        ids = [task_id for task_id, _ in expected]
        outcomes = self.run(self.store.retry(ids, self.now))
        assert list(zip(ids, outcomes, strict=True)) == expected

    @precondition(has_tasks)
    @rule(wanted=some_picks)
    def replay(self, wanted: list[int]) -> None:
        chosen = self.some(wanted)
        copies = [self.make.id() for _ in chosen]
        expected: list[Accepted | None] = []
        for known, copy in zip(chosen, copies, strict=True):
            if known.state is not State.FAILED:
                expected.append(None)
                continue
            expected.append(Accepted(known.copy or copy, created=known.copy is None))
            if known.copy is None:
                known.copy = copy
                task = self.make.task(
                    id=copy,
                    run_at=self.now,
                    priority=known.task.priority,
                    concurrency_key=known.gate,
                    max_concurrency=known.task.max_concurrency,
                )
                state = State.READY if known.gate is None else State.SCHEDULED
                self.known[copy] = Known(task, state, task.run_at, task.rank)
        ids = [known.task.id for known in chosen]
        assert self.run(self.store.replay(ids, copies, self.now)) == expected

    @rule()
    def prune(self) -> None:
        before = self.now - 3 * MINUTE
        old = [t for t, k in self.known.items() if k.over_at is not None and k.over_at < before]
        pruned = 0
        while gone := self.run(self.store.prune(self.now, kept(3 * MINUTE), 100)):
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
        assert [
            t and (t.cancel_requested_at, t.progress, t.replayed_as, t.concurrency_key, t.at_gate)
            for t in tasks
        ] == [
            (k.asked_at, None if k.done is None else Progress(k.done), k.copy, k.gate, k.at_gate)
            for k in self.known.values()
        ]

    @invariant()
    def every_end_is_counted(self) -> None:
        found: Counter[State] = Counter()
        for (_, _, state), number in self.run(self.store.tallies(0)).items():
            found[state] += number
        assert found == self.ended


def assert_alike(claimed: list[Claimed], expected: list[Known]) -> None:
    assert [(c.id, c.fence, c.attempt, c.lost, c.snoozes) for c in claimed] == [
        (k.task.id, k.fence, k.attempt, k.lost, k.snoozes) for k in expected
    ]

"""What the model of a store knows, and what may be asked of both."""

from collections.abc import Iterable

import msgspec
from hypothesis import strategies as st

from rota.config import LEASE, MINUTE
from rota.model import Micros, NewTask, State, Transition, rank_of
from tests.support.factories import error

LIVE = (State.SCHEDULED, State.READY, State.RUNNING)
OVER = (State.COMPLETED, State.CANCELLED)
ENDS = (State.COMPLETED, State.CANCELLED, State.FAILED, State.SCHEDULED, State.READY)
WINDOW = 5 * MINUTE + 1  # time moves by whole seconds, so nothing ends at the instant it is read
TERM = LEASE + 1


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
    asked_at: Micros | None = None
    deadline: Micros | None = None
    done: int | None = None
    copy: str | None = None
    at_gate: bool = False

    @property
    def gate(self) -> str | None:
        """The gate that it has to go through."""
        return self.task.concurrency_key

    def moved(self, to: State, run_at: Micros, now: Micros) -> None:
        """Nobody holds it any more; it waits from `run_at` on, or it is over."""
        self.state, self.session, self.at_gate = to, None, False
        if to in (State.READY, State.SCHEDULED):
            self.run_at, self.rank = run_at, rank_of(run_at, self.task.priority)
        else:
            self.asked_at = self.deadline = None
        if to in OVER:
            self.over_at = now
        if to is State.FAILED:
            self.done = None

    def made_due(self, now: Micros) -> None:
        """A caller wants it to run at once: through its gate, if it has one."""
        if self.gate is None:
            self.moved(State.READY, now, now)
        elif self.state is State.FAILED:
            self.moved(State.SCHEDULED, now, now)
        else:
            self.run_at = min(self.run_at, now)
            self.rank = min(self.rank, rank_of(now, self.task.priority))

    def asked(self, now: Micros, deadline: Micros | None) -> None:
        """It was asked to stop."""
        self.asked_at = now if self.asked_at is None else self.asked_at
        given = [each for each in (self.deadline, deadline) if each is not None]
        self.deadline = min(given, default=None)

    def report(self, to: State, off: int, now: Micros, *, keep: bool) -> Transition:
        """What its holder would say of it; under another fence if `off` is not 0."""
        run_at = now + (MINUTE if to is State.SCHEDULED else 0)
        return Transition(
            self.task.id,
            self.fence + off,
            to,
            run_at=run_at,
            rank=rank_of(run_at, self.task.priority),
            attempt=self.attempt - (to is State.READY),
            lost=self.lost,
            snoozes=self.snoozes + (to is State.SCHEDULED),
            error=error(self.attempt) if to in (State.SCHEDULED, State.FAILED) else None,
            keep=keep,
        )


class Lease(msgspec.Struct):
    """What the model knows of a session."""

    id: str
    until: Micros
    closed: bool = False


def let_in(gate: str, tasks: Iterable[Known]) -> list[Known]:
    """Let in at a gate as many as it has room for, and return them."""
    own = sorted((k for k in tasks if k.gate == gate), key=lambda k: (k.rank, k.task.id))
    inside = sum(known.state in (State.READY, State.RUNNING) for known in own)
    gone_in = []
    for known in own:
        if known.at_gate and known.asked_at is None:
            if inside >= (known.task.max_concurrency or 1):
                break
            known.state, known.at_gate = State.READY, False
            gone_in.append(known)
            inside += 1
    return gone_in


GATES = {"one": 1, "two": 2}
"""The gates, and how many may be inside each."""

picks = st.integers(0, 40)
some_picks = st.lists(picks, min_size=1, max_size=3)
which = st.integers(0, 1)
wishes = st.tuples(
    st.sampled_from([-60, 0, 0, 30, 400]),
    st.sampled_from([4, 5, 6]),
    st.sampled_from([None, None, "a", "b"]),
    st.sampled_from([None, None, *GATES]),
)
offsets = st.sampled_from([0, 0, 0, 0, -1, 1])
reports = st.tuples(picks, st.sampled_from(ENDS), offsets, st.sampled_from([True, True, False]))

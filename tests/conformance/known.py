"""What the model of a store knows, and what may be asked of both."""

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

    def moved(self, to: State, run_at: Micros, now: Micros) -> None:
        """Nobody holds it any more; it waits from `run_at` on, or it is over."""
        self.state, self.session = to, None
        if to in (State.READY, State.SCHEDULED):
            self.run_at, self.rank = run_at, rank_of(run_at, self.task.priority)
        else:
            self.asked_at = self.deadline = None
        if to in OVER:
            self.over_at = now
        if to is State.FAILED:
            self.done = None

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


picks = st.integers(0, 40)
some_picks = st.lists(picks, min_size=1, max_size=3)
which = st.integers(0, 1)
wishes = st.tuples(
    st.sampled_from([-60, 0, 0, 30, 400]),
    st.sampled_from([4, 5, 6]),
    st.sampled_from([None, None, "a", "b"]),
)
offsets = st.sampled_from([0, 0, 0, 0, -1, 1])
reports = st.tuples(picks, st.sampled_from(ENDS), offsets, st.sampled_from([True, True, False]))

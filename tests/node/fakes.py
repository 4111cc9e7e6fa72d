"""A backend and a heartbeat's line that do as a test tells them."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rota.backend import Claim, Report
from rota.clock import ManualClock
from rota.config import SECOND
from rota.errors import StoreError
from rota.model import Beat, CancelRequest, Claimed, Micros, Note


class FakeBackend:
    """Hands out what lies in `ready` and keeps what is reported."""

    distant = False

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ready: deque[Claimed] = deque()
        self.taken: list[Claimed] = []
        self.reports: list[Report] = []
        self.batches: list[int] = []
        self.wants: list[int] = []
        self.spares: list[int] = []
        self.again_at: Micros | None = None
        self.again_in: float | None = None
        self.spared = False
        self.avoided: tuple[str, ...] = ()
        self.avoids: list[tuple[str, ...]] = []
        self.claim_faults: deque[StoreError] = deque()
        self.finish_faults: deque[StoreError] = deque()
        self.refuse: Callable[[Report], bool] = lambda report: False
        self.unstorable: Callable[[Report], bool] = lambda report: False
        self.takes_before_fault = False
        self.notes: list[Note] = []
        self.note_batches: list[int] = []
        self.noted = asyncio.Event()
        self.note_faults: deque[StoreError] = deque()
        self.refuse_note: Callable[[Note], bool] = lambda note: False

    async def claim(
        self,
        session_id: str,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
    ) -> Claim:
        """Hand out, or fail before or after that."""
        self.wants.append(slots)
        self.spares.append(spare)
        self.avoided = tuple(avoid)
        self.avoids.append(self.avoided)
        if self.claim_faults and not self.takes_before_fault:
            raise self.claim_faults.popleft()
        got = [self.ready.popleft() for _ in range(min(slots, len(self.ready)))]
        self.taken += got
        if self.claim_faults:
            raise self.claim_faults.popleft()
        if self.again_in is not None:
            self.again_at = self.clock.now() + round(self.again_in * SECOND)
        return Claim(got, self.again_at, self.spared)

    async def held(self, session_id: str) -> list[Claimed]:
        """Return what was handed out and not reported."""
        ended = {report.task.id for report in self.reports}
        return [task for task in self.taken if task.id not in ended]

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        """Keep the reports, refuse some, or fail."""
        if self.finish_faults:
            raise self.finish_faults.popleft()
        if any(self.unstorable(report) for report in reports):
            raise StoreError("cannot keep that")
        self.batches.append(len(reports))
        self.reports += reports
        return [not self.refuse(report) for report in reports]

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        """Keep the notes, refuse some, or fail."""
        if self.note_faults:
            raise self.note_faults.popleft()
        self.note_batches.append(len(notes))
        self.notes += notes
        self.noted.set()
        return [not self.refuse_note(note) for note in notes]


class FakePulse:
    """A heartbeat's line: alive unless told otherwise."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.alive = True
        self.cancels: tuple[CancelRequest, ...] = ()
        self.fault: StoreError | None = None
        self.takes = 0.0
        self.beats: list[Micros] = []
        self.beat_came = threading.Event()
        self.closed = False

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        """Renew, after as long as the test says, and tell what is to be cancelled."""
        self._clock.advance(self.takes)
        if self.fault:
            raise self.fault
        self.beats.append(lease_until)
        self.beat_came.set()
        return Beat(self.alive, self.cancels)

    def clock(self) -> Micros:
        """Return the time."""
        return self._clock.now()

    def close(self) -> None:
        """Take note."""
        self.closed = True


def claimed(number: int = 1, kind: str = "work", **fields: Any) -> Claimed:
    """A task as it is handed out the first time."""
    values: dict[str, Any] = {
        "id": f"task-{number}",
        "fence": 1,
        "attempt": 1,
        "lost": 0,
        "snoozes": 0,
        "kind": kind,
        "queue": "default",
        "tenant": "",
        "priority": 5,
        "run_at": 0,
        "created_at": 0,
        "payload": f'{{"n":{number}}}',
    }
    return Claimed(**values | fields)


def endings(reports: Sequence[Report]) -> list[str]:
    """The names of the endings."""
    return [type(report.ending).__name__ for report in reports]

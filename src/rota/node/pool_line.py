"""The line before the pool of processes: what of its kinds runs, and the little that waits."""

from collections import deque

from rota.clock import Clock
from rota.model import Claimed
from rota.node.run import HandOut

QUICK = 0.05
"""While handlers take less than so many seconds, a few more are claimed than can run at once."""
MOST = 4


class PoolLine:
    """Says how many tasks for processes a worker should hold, and which comes next (B139, B143).

    Only as many run at once as there are processes. What waits longer than it should is handed
    back, for other workers may be free.
    """

    def __init__(self, size: int, clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._running = 0
        self._seconds = 1.0
        self._waiting: deque[tuple[Claimed, float]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def places(self) -> int:
        """How many tasks more could be used."""
        extra = self._size * int(min(QUICK / max(self._seconds, 1e-6), MOST))
        return max(self._size + extra - self._running - len(self._waiting), 0)

    def admit(self, task: Claimed) -> bool:
        """Take a task in; say whether it may start now. If not, it waits here."""
        if self._running < self._size:
            self._running += 1
            return True
        self._waiting.append((task, self._clock.monotonic()))
        return False

    def ended(self, seconds: float) -> None:
        """Take note that one has ended that ran for so long."""
        self._running -= 1
        self._seconds = (self._seconds * 3 + seconds) / 4

    def next(self) -> Claimed | None:
        """Return the task that may start now, if one waits for it; it has been admitted."""
        if not self._waiting or self._running >= self._size:
            return None
        self._running += 1
        return self._waiting.popleft()[0]

    def hand_outs(self) -> set[HandOut]:
        """Return what waits."""
        return {(task.id, task.fence) for task, _ in self._waiting}

    def take_out(self, older_than: float = 0.0) -> list[Claimed]:
        """Remove what has waited for so many seconds and return it."""
        before = self._clock.monotonic() - older_than
        out = []
        while self._waiting and self._waiting[0][1] <= before:
            out.append(self._waiting.popleft()[0])
        return out

    def remove(self, hand_out: HandOut) -> Claimed | None:
        """Remove one that waits and return it."""
        for entry in self._waiting:
            if (entry[0].id, entry[0].fence) == hand_out:
                self._waiting.remove(entry)
                return entry[0]
        return None

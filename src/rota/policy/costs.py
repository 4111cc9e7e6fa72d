"""What tasks take of their workers' time, as far as it was measured (R7.3, `fair_by="time"`).

A task is charged to its tenant when it is handed out, by what its kind takes with that tenant on
average, or else with anyone, and the charge is put right when the run has ended and its time is
known. All tables are bounded; what falls out of one is reckoned by an average again.
"""

from collections.abc import Hashable
from typing import Final, TypeVar

from rota.config import SECOND
from rota.model import Claimed, Lane, Micros, PriorityClass

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KINDS: Final = 1_000
LANES: Final = 4_000
OUT: Final = 10_000
NEWEST: Final = 0.2
"""What the newest of the runs of a kind counts for in its average."""
UNKNOWN: Final[Micros] = SECOND // 10
LEAST: Final[Micros] = SECOND // 1_000
"""Nothing is reckoned to take less: what a slot costs beside the handler's own time."""


class Table(dict[K, V]):
    """A dictionary that forgets what was set first when it would grow beyond `most` entries."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        if len(self) >= self._most:
            del self[next(iter(self))]
        super().__setitem__(key, value)


class Costs:
    """The averages of one worker's runs: by kind and lane, and of what a lane was handed out."""

    def __init__(self) -> None:
        self._all: Micros = 0
        self._kinds: Table[str, Micros] = Table(KINDS)
        self._runs: Table[tuple[Lane, str], Micros] = Table(LANES)
        self._lanes: Table[Lane, Micros] = Table(LANES)
        self._out: Table[tuple[str, int], Micros] = Table(OUT)

    def of(self, lane: Lane) -> Micros:
        """Return what a task of a lane will take, reckoned by what its last ones took."""
        return self._lanes.get(lane) or self._all or UNKNOWN

    def hand_out(self, task: Claimed) -> Micros:
        """Return what a task that is handed out is charged."""
        lane = lane_of(task)
        own = self._runs.get((lane, task.kind))
        charge = own or self._kinds.get(task.kind) or self._all or UNKNOWN
        self._out[task.id, task.fence] = charge
        self._lanes[lane] = _average(self._lanes.get(lane), charge)
        return charge

    @property
    def waiting(self) -> bool:
        """Say whether anything was handed out that has not ended."""
        return bool(self._out)

    def ended(self, task: Claimed, took: Micros | None) -> Micros:
        """Take in how long a run took, and return what is to be added to its charge.

        Without a run, or where its time is not known, the charge is given back.
        """
        charge = self._out.pop((task.id, task.fence), None)
        if charge is None:
            return 0
        if took is None:
            return -charge
        took = max(took, LEAST)
        self._all = _average(self._all or None, took)
        self._kinds[task.kind] = _average(self._kinds.get(task.kind), took)
        key = (lane_of(task), task.kind)
        self._runs[key] = _average(self._runs.get(key), took)
        return took - charge


def lane_of(task: Claimed) -> Lane:
    """Return the lane that a task was taken from."""
    return Lane(task.queue, PriorityClass.of(task.priority), task.tenant)


def _average(before: Micros | None, newest: Micros) -> Micros:
    return newest if before is None else round(before + NEWEST * (newest - before))

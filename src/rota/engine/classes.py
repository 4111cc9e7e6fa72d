"""What a process counts by class of priority and by source, for its own metrics alone (R9.3).

Nothing of this is written into the store: statistics are kept by queue and kind. A batch of one
queue and one class costs the same few steps whatever its size.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from rota.model import Micros, PriorityClass
from rota.policy.histogram import BUCKETS, add_micros

QUEUES_MOST: Final = 1_000
"""More queues than this are counted as one, `_other`."""
OTHER: Final = "_other"

SOURCES: Final = ("delay", "schedule", "retry")
"""Why a task was due later than it was made."""
REASONS: Final = ("queue", "tenant")
"""Whose depth was too much for what was refused (R1.7)."""


class Lined(Protocol):
    """What has a queue and a priority."""

    @property
    def queue(self) -> str: ...
    @property
    def priority(self) -> int: ...


class Times:
    """A histogram of times by the bounds of `rota.policy.histogram`, and their sum."""

    __slots__ = ("counts", "micros")

    def __init__(self) -> None:
        self.counts = [0] * BUCKETS
        self.micros = 0

    def add(self, times: list[Micros]) -> None:
        """Count times; puts them in order."""
        self.micros += sum(times)
        add_micros(self.counts, 0, times)


Place = tuple[str, PriorityClass]


class Classes:
    """Counts since the start of the process, by queue and class of priority."""

    def __init__(self) -> None:
        self.submitted: Counter[Place] = Counter()
        self.refused: Counter[tuple[str, PriorityClass, str]] = Counter()
        self.waits: dict[Place, Times] = {}
        self.claims = Times()
        """How long claims took."""
        self.late = {source: Times() for source in SOURCES}
        self._queues: set[str] = set()

    def made(self, tasks: Sequence[Lined]) -> None:
        """Count tasks that were stored."""
        for place, number in self._placed(tasks).items():
            self.submitted[place] += number

    def turned_away(self, tasks: Sequence[Lined], reason: str) -> None:
        """Count tasks that were refused under overload."""
        for (queue, cls), number in self._placed(tasks).items():
            self.refused[queue, cls, reason] += number

    def waited(self, queue: str, priorities: Sequence[int], waits: list[Micros]) -> None:
        """Count how long the tasks of a queue had waited, each with its priority."""
        queue = self._bounded(queue)
        # By priority first: a class is dearer to look up than a number.
        groups: dict[int, list[Micros]] = {priority: [] for priority in {*priorities}}
        if len({PriorityClass.of(priority) for priority in groups}) == 1:
            self._times(queue, PriorityClass.of(priorities[0])).add(waits)
            return
        for priority, wait in zip(priorities, waits, strict=True):
            groups[priority].append(wait)
        for priority, some in groups.items():
            self._times(queue, PriorityClass.of(priority)).add(some)

    def delayed(self, found: Iterable[tuple[str, Micros]]) -> None:
        """Count by source how much later than their time tasks were handed out."""
        groups: dict[str, list[Micros]] = {}
        for source, late in found:
            groups.setdefault(source, []).append(late)
        for source, some in groups.items():
            self.late[source].add(some)

    def _placed(self, tasks: Sequence[Lined]) -> Mapping[Place, int]:
        queues = {task.queue for task in tasks}
        priorities = {task.priority for task in tasks}
        if len(queues) == len(priorities) == 1:
            place = (self._bounded(queues.pop()), PriorityClass.of(priorities.pop()))
            return {place: len(tasks)}
        found: Counter[Place] = Counter()
        pairs = Counter([(task.queue, task.priority) for task in tasks])
        for (queue, priority), number in pairs.items():
            found[self._bounded(queue), PriorityClass.of(priority)] += number
        return found

    def _times(self, queue: str, cls: PriorityClass) -> Times:
        known = self.waits.get((queue, cls))
        if known is None:
            known = self.waits[queue, cls] = Times()
        return known

    def _bounded(self, queue: str) -> str:
        if queue in self._queues:
            return queue
        if len(self._queues) >= QUEUES_MOST:
            return OTHER
        self._queues.add(queue)
        return queue

"""The seven figures and the signals for autoscaling, worked out from what was read (R9.4, R9.6)."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from msgspec import Struct

from rota.config import SECOND
from rota.figures import RECENT, Figure, Holding, Reading, Scale, Statistic
from rota.model import Micros, Session
from rota.policy import patterns
from rota.policy.histogram import merge, quantile
from rota.shares import Settings

ATTEMPTS_LEAST = 20
"""An error rate of fewer attempts says nothing: one failure of two would be half."""
DRAIN = 60.0
"""What waits is to be worked off within so many seconds."""


class Measured(Struct, frozen=True, kw_only=True):
    """What was read at `now`: of the present moment, and by queue of the last minutes.

    `recent` is what was counted from `since` on. `ticks` says when each duty was last done, `named`
    which queues there are besides those of which something was read.
    """

    now: Micros
    since: Micros = 0
    waiting: Mapping[str, int] = {}
    oldest: Mapping[str, Micros] = {}
    dead_letters: Mapping[str, int] = {}
    recent: Mapping[str, Statistic] = {}
    sessions: Sequence[Session] = ()
    holdings: Sequence[Holding] = ()
    ticks: Mapping[str, Micros] = {}
    settings: Settings = Settings()
    named: Sequence[str] = ()

    def paused(self, queue: str) -> bool:
        """Say whether nothing of a queue is started at present, by somebody's wish (R7.7)."""
        return self.settings.queue(queue).paused_at is not None

    @property
    def queues(self) -> list[str]:
        """Every queue of which anything is known, empty ones that workers name among them."""
        held = {holding.queue for holding in self.holdings}
        counted = {*self.waiting, *self.dead_letters, *self.recent}
        words = {word for session in self.sessions for word in session.queues}
        taken = {
            word
            for word in words
            if not (patterns.is_pattern(word) or word.startswith(patterns.EXCEPT))
        }
        return sorted({*self.settings.queues, *counted, *held, *taken, *self.named} - {""})


def readings(measured: Measured) -> tuple[Reading, ...]:
    """Return the seven figures of all, and those of each queue that a queue can have."""
    room = rooms(measured)
    found = [*_overall(measured, room)]
    for queue in measured.queues:
        found += _of_queue(measured, queue, room)
    return tuple(found)


def _overall(measured: Measured, room: "Rooms") -> Iterable[Reading]:
    active = [queue for queue in measured.queues if not measured.paused(queue)]
    recent = list(measured.recent.values())
    ages = [_age(measured, queue) for queue in active]
    yield Reading(Figure.DEPTH, sum(measured.waiting.get(queue, 0) for queue in active))
    yield Reading(Figure.OLDEST, max(ages, default=0.0))
    yield Reading(Figure.ERRORS, error_rate(recent))
    yield Reading(Figure.DEAD_LETTERS, sum(measured.dead_letters.values()))
    yield Reading(Figure.SATURATION, saturation(room.held, room.slots))
    yield Reading(Figure.RUN_TIME, run_time(recent))
    yield Reading(Figure.SILENCE, silence(measured.ticks, measured.now))


def _of_queue(measured: Measured, queue: str, room: "Rooms") -> Iterable[Reading]:
    recent = [measured.recent[queue]] if queue in measured.recent else []
    paused = measured.paused(queue)
    waiting = None if paused else measured.waiting.get(queue, 0)
    yield Reading(Figure.DEPTH, waiting, queue)
    yield Reading(Figure.OLDEST, None if paused else _age(measured, queue), queue)
    yield Reading(Figure.ERRORS, error_rate(recent), queue)
    yield Reading(Figure.DEAD_LETTERS, measured.dead_letters.get(queue, 0), queue)
    yield Reading(Figure.SATURATION, saturation(*room.of(queue)), queue)
    yield Reading(Figure.RUN_TIME, run_time(recent), queue)


def _age(measured: Measured, queue: str) -> float:
    since = measured.oldest.get(queue)
    return 0.0 if since is None else max(measured.now - since, 0) / SECOND


def error_rate(counted: Iterable[Statistic]) -> float | None:
    """Return which part of the attempts that ended had failed; None if they were too few.

    An attempt that will be tried again has failed as well: whoever waits for the dead letters
    hears of a provider that is down only when all attempts are spent.
    """
    good = bad = 0
    for one in counted:
        good += one.completed
        bad += one.failed + one.retried
    return bad / (good + bad) if good + bad >= ATTEMPTS_LEAST else None


def run_time(counted: Iterable[Statistic], part: float = 0.99) -> float | None:
    """Return how long all but the longest runs took at most; None if nothing ran."""
    return quantile(merge(*(one.runs for one in counted)), part)


def saturation(held: int, slots: int) -> float | None:
    """Return which part of the slots is taken; None without any. What is held ahead is no more."""
    return min(held / slots, 1.0) if slots else None


def silence(ticks: Mapping[str, Micros], now: Micros) -> float | None:
    """Return for how long the duty that has been done the least lately has not been done."""
    if not ticks:
        return None
    return max(now - min(ticks.values()), 0) / SECOND


class Rooms:
    """The slots of live workers, and what they hold, by the pools of each (R7.6)."""

    def __init__(self) -> None:
        self.slots = 0
        self.held = 0
        self._pools: list[tuple[tuple[str, ...], int, int]] = []

    def add(self, words: tuple[str, ...], slots: int, held: int) -> None:
        """Take in the slots of a session, and what it holds."""
        self.slots += slots
        self.held += held
        self._pools.append((words, slots, held))

    def of(self, queue: str) -> tuple[int, int]:
        """Return what those hold who may take tasks of a queue, and their slots."""
        held = slots = 0
        for words, some, taken in self._pools:
            if patterns.takes(words, queue):
                held += taken
                slots += some
        return held, slots


def rooms(measured: Measured) -> Rooms:
    """Return the slots of the live workers."""
    held: dict[str, int] = {}
    for holding in measured.holdings:
        held[holding.session] = held.get(holding.session, 0) + holding.held
    room = Rooms()
    for session in measured.sessions:
        room.add(session.queues, session.slots, min(held.get(session.id, 0), session.slots))
    return room


def scales(measured: Measured) -> list[Scale]:
    """Return for each queue how much capacity it has and wants."""
    room = rooms(measured)
    running: dict[str, int] = {}
    for holding in measured.holdings:
        running[holding.queue] = running.get(holding.queue, 0) + holding.held
    lasted = max((measured.now - measured.since) / SECOND, 1.0)
    return [
        _scale(measured, queue, room, running.get(queue, 0), lasted) for queue in measured.queues
    ]


def _scale(measured: Measured, queue: str, room: Rooms, running: int, lasted: float) -> Scale:
    recent = measured.recent.get(queue) or Statistic(at=0, step=RECENT, queue=queue)
    paused = measured.paused(queue)
    ready = measured.waiting.get(queue, 0)
    held, slots = room.of(queue)
    arriving = recent.submitted / lasted
    return Scale(
        queue=queue,
        paused=paused,
        ready=ready,
        oldest_ready=_age(measured, queue),
        running=running,
        slots=slots,
        utilisation=saturation(held, slots) or 0.0,
        arriving=arriving,
        leaving=(recent.completed + recent.failed + recent.cancelled) / lasted,
        errors=error_rate([recent]),
        backlog_per_slot=ready / max(slots, 1),
        wanted_slots=running if paused else wanted(ready, running, arriving, _mean(recent)),
    )


def _mean(recent: Statistic) -> float | None:
    ran = sum(recent.runs)
    return recent.ran / ran if ran else None


def wanted(ready: int, running: int, arriving: float, run_time: float | None) -> int:
    """Return how many slots keep up with what comes in, and work off what waits within `DRAIN`.

    By Little's law: so many a second, each taking so long. Without a known run time one slot a
    task is wanted, for a start that shows it; and where anything is to be done, one at least.

    >>> wanted(ready=600, running=10, arriving=20.0, run_time=0.5)
    15
    """
    if run_time is None:
        return ready + running
    busy = ceil(round((arriving + ready / DRAIN) * run_time, 6))
    return max(busy, 1 if ready or running else 0)

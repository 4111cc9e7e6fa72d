"""The values of what is measured: the seven figures and statistics by the minute (R9.4, R9.6)."""

from enum import IntEnum, StrEnum

from msgspec import Struct

from rota.config import HOUR, MINUTE, SECOND
from rota.model import Micros


class Figure(StrEnum):
    """The seven figures by which it is seen whether all is well (R9.4)."""

    DEPTH = "queue_depth"
    OLDEST = "oldest_age"
    ERRORS = "error_rate"
    DEAD_LETTERS = "dead_letters"
    SATURATION = "worker_saturation"
    RUN_TIME = "run_p99"
    SILENCE = "scheduler_silence"


THRESHOLDS: dict[Figure, float] = {
    Figure.DEPTH: 10_000,
    Figure.OLDEST: 300,
    Figure.ERRORS: 0.05,
    Figure.DEAD_LETTERS: 100,
    Figure.SATURATION: 0.9,
    Figure.RUN_TIME: 60,
    Figure.SILENCE: 10,
}
"""From where on a figure is too high: tasks, seconds, parts of one (R9.4)."""

UNITS: dict[Figure, str] = {
    Figure.DEPTH: "tasks",
    Figure.OLDEST: "seconds",
    Figure.ERRORS: "ratio",
    Figure.DEAD_LETTERS: "tasks",
    Figure.SATURATION: "ratio",
    Figure.RUN_TIME: "seconds",
    Figure.SILENCE: "seconds",
}

RECENT: Micros = 5 * MINUTE
"""Rates and run times are those of the last minutes: long enough to mean something."""
DEPTH_CAP = 50_000
"""The tasks of a queue that wait are counted so far; a figure that says this says "or more"."""
DEAD_LETTERS_CAP = 10_000
"""So many dead letters are looked at, whatever their queues."""
LANES_CAP = 2_000
"""The oldest task is looked for at the heads of so many lanes."""


class Reading(Struct, frozen=True):
    """What a figure is of a queue, or of all (`queue` None); None where nothing can be measured.

    Ages and times are seconds, rates are parts of one. Of a paused queue there is neither depth
    nor age: what waits there waits because somebody wants it to.
    """

    figure: Figure
    value: float | None
    queue: str | None = None


class Figures(Struct, frozen=True):
    """All figures as of one moment."""

    as_of: Micros
    readings: tuple[Reading, ...] = ()

    def value(self, figure: Figure, queue: str | None = None) -> float | None:
        """Return one figure of a queue, or of all."""
        for reading in self.readings:
            if reading.figure is figure and reading.queue == queue:
                return reading.value
        return None


class Measure(IntEnum):
    """What is counted; the numbers are places in what is stored, and never change.

    `submitted` counts new tasks that came through a process of Rota, `started` hand-outs, and
    `completed`, `failed` and `cancelled` what ended. `retried`, `snoozed` and `released` go back to
    wait. `expired` counts what nobody started in time, `stale` reports under an old fence, and
    `lost` tasks whose worker was lost. The last three are sums of microseconds.
    """

    SUBMITTED = 0
    REFUSED = 1
    STARTED = 2
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    RETRIED = 6
    SNOOZED = 7
    RELEASED = 8
    EXPIRED = 9
    STALE = 10
    LOST = 11
    WAITED = 12
    LATE = 13
    RAN = 14


WAITS, LATENESS, RUNS = 20, 50, 80
"""Where the buckets of the histograms begin: see `rota.policy.histogram`."""
PLACES = 110

ENDS = (Measure.COMPLETED, Measure.FAILED, Measure.CANCELLED)
"""What the store counts itself, exactly, in the statement that ends a task (R9.1)."""

Line = tuple[str, str]
"""A queue and a kind."""


class Counted(Struct, frozen=True):
    """What was counted of a queue and a kind from `at` on, for a `span`; `counts` by place.

    Read back, `queue` and `kind` are None where those of all are added up.
    """

    at: Micros
    span: Micros
    queue: str | None
    kind: str | None
    counts: dict[int, int]


class Ended(Struct, frozen=True):
    """How many tasks ended from `at` on, as the store counts them."""

    at: Micros
    queue: str | None
    kind: str | None
    completed: int = 0
    failed: int = 0
    cancelled: int = 0


class By(StrEnum):
    """What statistics are split by."""

    QUEUE = "queue"
    KIND = "kind"


class StatisticsFilter(Struct, frozen=True, kw_only=True):
    """Which statistics to read: from `since` on, before `until`, in steps of whole minutes.

    Both ends are moved down to whole steps, so that a step is whole or is not there. Split by
    nothing, there is one row for each step in which anything happened.
    """

    since: Micros
    until: Micros
    step: Micros = MINUTE
    queue: str | None = None
    kind: str | None = None
    by: tuple[By, ...] = ()

    @property
    def span(self) -> Micros:
        """The length of what is added up: minutes are kept for a day, hours for a week."""
        return HOUR if self.step % HOUR == 0 else MINUTE


POINTS = 1_440
"""So many steps are answered at most: a day by the minute."""
ROWS = 10_000
"""So many rows are answered at most, the oldest first."""


class Statistic(Struct, frozen=True, kw_only=True):
    """What happened in one step: counts, and waits, lateness and run times as histograms.

    The histograms count by the buckets of `rota.policy.histogram`; the sums are in seconds.
    """

    at: Micros
    step: Micros
    queue: str | None = None
    kind: str | None = None
    submitted: int = 0
    refused: int = 0
    started: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    retried: int = 0
    snoozed: int = 0
    released: int = 0
    expired: int = 0
    stale: int = 0
    lost: int = 0
    waited: float = 0.0
    late: float = 0.0
    ran: float = 0.0
    waits: tuple[int, ...] = ()
    lateness: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()


class Served(Struct, frozen=True):
    """How many tasks of each tenant were completed since."""

    now: Micros
    since: Micros
    tenants: dict[str, int]


class Scale(Struct, frozen=True, kw_only=True):
    """How much capacity a queue has and wants (R9.6); rates are tasks a second of late.

    `slots` are those that may take its tasks, `wanted_slots` how many would keep up with what comes
    in and work off what waits within `policy.figures.DRAIN` seconds.
    """

    queue: str
    paused: bool
    ready: int
    oldest_ready: float
    running: int
    slots: int
    utilisation: float
    arriving: float
    leaving: float
    errors: float | None
    backlog_per_slot: float
    wanted_slots: int


class Holding(Struct, frozen=True):
    """How many tasks of a queue a session holds."""

    session: str
    queue: str
    held: int


def seconds(span: Micros) -> float:
    """Return a time in seconds."""
    return span / SECOND

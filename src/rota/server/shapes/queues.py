"""What is answered of queues."""

from msgspec import Struct

from rota.shares import FairBy, WhenFull


class Weights(Struct, frozen=True):
    """What each class gets of a saturated queue, in parts."""

    critical: int
    high: int
    normal: int
    low: int


class QueueSettings(Struct, frozen=True, kw_only=True):
    """How a queue is shared out; `aging` is in seconds."""

    name: str
    paused: bool
    paused_at: str | None
    pause_reason: str | None
    weights: Weights
    aging: float
    fair_by: FairBy
    max_depth: int | None
    when_full: WhenFull
    version: int


class QueueDepth(Struct, frozen=True):
    """How many tasks of a queue are ready, and how many run."""

    ready: int
    running: int


class Queue(QueueSettings, frozen=True, kw_only=True):
    """A queue with what goes on in it.

    `waiting` is how many ready tasks wait, or more if `capped`. `slots` is how many tasks its
    workers can run at once. Rates are tasks a second over the last minutes, `error_ratio` is the
    part of ended tasks that failed; null where it is not known.
    """

    waiting: int
    capped: bool
    slots: int | None
    depth: QueueDepth | None
    oldest_ready_s: float | None
    in_per_s: float | None
    out_per_s: float | None
    error_ratio: float | None


class QueuePage(Struct, frozen=True):
    """Queues by name."""

    items: list[Queue]
    next: str | None
    as_of: str

"""What routes about statistics, figures and health answer."""

from msgspec import Struct


class QueueFigure(Struct, frozen=True):
    """A figure of one queue; null where nothing can be measured, or the queue is paused."""

    queue: str
    value: float | None
    breached: bool


class FigureOf(Struct, frozen=True):
    """One of the seven figures, with the usual threshold from which on it is too high."""

    figure: str
    value: float | None
    threshold: float
    unit: str
    breached: bool
    queues: list[QueueFigure]


class Figures(Struct, frozen=True):
    """The seven figures as of one moment."""

    as_of: str
    figures: list[FigureOf]


class Times(Struct, frozen=True):
    """How long something took: how often, the mean and quantiles, in seconds."""

    count: int
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    buckets: list[int] | None


class StatsPoint(Struct, frozen=True):
    """What happened in one step."""

    at: str
    queue: str | None
    kind: str | None
    submitted: int
    refused: int
    started: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    snoozed: int
    released: int
    expired: int
    stale: int
    lost: int
    wait: Times
    lateness: Times
    run: Times


class Stats(Struct, frozen=True):
    """What happened, step by step; steps in which nothing did are left out.

    `bounds` are the upper bounds of the buckets in seconds; the last bucket has none. `truncated`
    says that there was more.
    """

    as_of: str
    since: str
    until: str
    step_s: float
    bounds: list[float]
    items: list[StatsPoint]
    truncated: bool


class StateCounts(Struct, frozen=True):
    """How many tasks are in each state, counted up to `cap`."""

    scheduled: int
    ready: int
    running: int
    completed: int
    cancelled: int
    failed: int


class States(Struct, frozen=True):
    """How many tasks there are by state; those in `capped` are as many or more."""

    as_of: str
    cap: int
    states: StateCounts
    capped: list[str]


class TenantServed(Struct, frozen=True):
    """How many tasks of a tenant were completed; `share` is their part of all."""

    tenant: str
    completed: int
    share: float


class TenantsServed(Struct, frozen=True):
    """Who got how much since: an hour ago, or later where more than 10,000 were completed.

    The tenants that got most come first, 200 of them; `completed` is of all.
    """

    as_of: str
    since: str
    completed: int
    items: list[TenantServed]


class TenantPart(Struct, frozen=True):
    """What a tenant got in a step: tasks, seconds of run time, and which part of all that was.

    `due` is its weight's part among all that got anything in the whole time. They are null for a
    key that is bound to a tenant, and `due` where there were more tenants than are told apart.
    """

    tenant: str
    completed: int
    ran_s: float
    share: float | None
    time_share: float | None
    due: float | None


class SharesPoint(Struct, frozen=True):
    """Who got how much in one step; `completed` and `ran_s` are of all tenants."""

    at: str
    completed: int | None
    ran_s: float | None
    tenants: list[TenantPart]


class Shares(Struct, frozen=True):
    """Who got how much, step by step; steps in which nothing completed are left out."""

    as_of: str
    since: str
    until: str
    step_s: float
    items: list[SharesPoint]


class QueueScale(Struct, frozen=True):
    """The signals of a queue for an autoscaler."""

    paused: bool
    ready: int
    oldest_ready_s: float
    running: int
    slots: int
    utilisation: float
    in_per_s: float
    out_per_s: float
    error_ratio: float | None
    backlog_per_slot: float
    wanted_slots: int


class Scaling(Struct, frozen=True):
    """The signals of all queues, by name."""

    as_of: str
    queues: dict[str, QueueScale]


class Alive(Struct, frozen=True):
    """The process is alive."""

    status: str


class Check(Struct, frozen=True, omit_defaults=True):
    """One of the things that are looked at."""

    ok: bool
    age_s: float | None = None
    offset_s: float | None = None


class Checks(Struct, frozen=True):
    """All that is looked at."""

    store: Check
    scheduler_tick: Check
    migrations: Check
    clock: Check


class Ready(Struct, frozen=True):
    """Whether calls may be sent here."""

    status: str
    checks: Checks

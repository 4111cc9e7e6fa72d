"""The values by which capacity is shared out: settings of queues, tenants and kinds, and limits.

They are data in the store, the same for all nodes, and every change of any of them raises one
version number, by which a node sees that what it knows is old. Durations and instants are whole
microseconds (`Micros`), rates are tasks a second.
"""

from enum import StrEnum

from msgspec import Struct

from rota.config import LEVEL
from rota.model import Claimed, Micros, PriorityClass


class FairBy(StrEnum):
    """What tenants get equal parts of: tasks, or the time that workers spend on them (R7.3)."""

    TASKS = "tasks"
    TIME = "time"


class WhenFull(StrEnum):
    """What becomes of low priority work that is submitted above `max_depth` (R1.7)."""

    REFUSE = "refuse"
    DEFER = "defer"


class Weights(Struct, frozen=True, kw_only=True):
    """What each class gets of a saturated queue, in parts of at least 1 (R7.1)."""

    critical: int = 50
    high: int = 30
    normal: int = 15
    low: int = 5

    def of(self, cls: PriorityClass) -> int:
        """Return the parts of a class."""
        return (self.critical, self.high, self.normal, self.low)[cls]


class QueueSettings(Struct, frozen=True, kw_only=True):
    """How a queue is shared out. Waiting for `aging` is worth one level of priority (R7.2).

    Above `max_depth` waiting tasks, work of the lowest classes is refused or deferred (R1.7).
    `version` 0 stands for settings that nobody has changed.
    """

    name: str
    weights: Weights = Weights()
    aging: Micros = LEVEL
    fair_by: FairBy = FairBy.TASKS
    max_depth: int | None = None
    when_full: WhenFull = WhenFull.REFUSE
    paused_at: Micros | None = None
    pause_reason: str | None = None
    version: int = 0


class TenantSettings(Struct, frozen=True, kw_only=True):
    """A tenant's part beside other tenants, in every queue; `weight` is at least 1 (R7.3)."""

    name: str
    weight: int = 1
    max_depth: int | None = None
    paused_at: Micros | None = None
    pause_reason: str | None = None
    version: int = 0


class KindSettings(Struct, frozen=True, kw_only=True):
    """Whether tasks of a kind are started at present (R7.7)."""

    name: str
    paused_at: Micros | None = None
    pause_reason: str | None = None
    version: int = 0


AnySettings = QueueSettings | TenantSettings | KindSettings


class Limit(Struct, frozen=True, kw_only=True):
    """A cap on running tasks, a rate of starts, or both, for a scope (R7.4, R7.5).

    The scope is a queue (`tenant` None), a tenant in every queue (`queue` None), or a tenant in a
    queue. With a rate at most `burst` tokens gather, and each start spends one: in any window at
    most `burst + rate * window` start. `tokens` were there at `filled_at`.
    """

    id: str
    queue: str | None = None
    tenant: str | None = None
    max_running: int | None = None
    rate: float | None = None
    burst: int | None = None
    tokens: float = 0.0
    filled_at: Micros = 0
    version: int = 0

    def binds(self, queue: str, tenant: str) -> bool:
        """Say whether tasks of this lane fall under the limit."""
        return self.queue in (None, queue) and self.tenant in (None, tenant)


class Settings(Struct, frozen=True):
    """All settings at one `version`; what is not named has the defaults."""

    version: int = 0
    queues: dict[str, QueueSettings] = {}
    tenants: dict[str, TenantSettings] = {}
    kinds: dict[str, KindSettings] = {}
    limits: tuple[Limit, ...] = ()

    def queue(self, name: str) -> QueueSettings:
        """Return the settings of a queue."""
        return self.queues.get(name) or QueueSettings(name=name)

    def tenant(self, name: str) -> TenantSettings:
        """Return the settings of a tenant."""
        return self.tenants.get(name) or TenantSettings(name=name)


class Held(StrEnum):
    """Why a limit let less through than was asked for."""

    CAP = "cap"
    RATE = "rate"
    BUSY = "busy"
    """Another claimer had it locked; it was skipped, not waited for."""


class Blocked(Struct, frozen=True):
    """A limit that let less through than was asked for, and when it will let more (if known)."""

    limit: str
    why: Held
    until: Micros | None = None


class LimitUse(Struct, frozen=True):
    """How much of a limit is in use: running tasks now, and tokens that are left at `as_of`."""

    limit: Limit
    running: int
    tokens: float | None
    as_of: Micros


class Depth(Struct, frozen=True):
    """How many tasks of a queue or a tenant are ready and wait, counted up to a cap."""

    name: str
    waiting: int


class Taken(Struct, frozen=True):
    """What a take handed out; `stale` if it was planned by settings that have changed since."""

    tasks: list[Claimed]
    stale: bool = False
    blocked: tuple[Blocked, ...] = ()

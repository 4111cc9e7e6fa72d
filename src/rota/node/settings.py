"""How a worker is set up."""

from msgspec import Struct

from rota.config import LEASE, SECOND
from rota.errors import ConfigurationError
from rota.model import Micros


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """What a worker takes, how much at once, and which duties it does; durations in microseconds.

    Without `queues` it takes those that its kinds are declared for. `concurrency` handlers run at
    once. `grace` is how long an orderly stop waits for them. Any number of workers may do the
    duties at once (R8.3).

    At most `pool` processes, by default as many as there are cores, run the handlers that are
    declared for one; each is replaced after `pool_tasks` tasks. They import the app at `app_path`
    (`module:attribute`), or without it the modules of their handlers.
    """

    queues: tuple[str, ...] = ()
    concurrency: int = 100
    grace: Micros = 30 * SECOND
    lease: Micros = LEASE
    name: str = ""
    stage: bool = True
    reap: bool = True
    prune: bool = True
    pool: int = 0
    pool_tasks: int = 1_000
    app_path: str = ""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {self.concurrency}")
        if self.lease < SECOND:
            raise ConfigurationError("a lease must be at least one second")
        if self.pool < 0 or self.pool_tasks < 1:
            raise ConfigurationError("pool must not be negative, and pool_tasks at least 1")
        if self.grace < 0:
            raise ConfigurationError("the grace time must not be negative")

"""How a worker is set up."""

from msgspec import Struct

from rota.config import LEASE, SECOND
from rota.errors import ConfigurationError
from rota.model import Micros
from rota.node.queue_names import plan_queues


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """What a worker takes, how much at once, and which duties it does; durations in microseconds.

    Without `queues` it takes those that its kinds are declared for. They are names, patterns such
    as `mail.*` and exclusions, `!bulk`; `sms=50` is a pool of its own with 50 slots (R7.6), all
    others share `concurrency` slots. `grace` is how long an orderly stop waits for handlers. Any
    number of workers may do the duties at once (R8.3).

    At most `pool` processes of each pool, by default as many as there are cores, run the handlers
    that are declared for one; each is replaced after `pool_tasks` tasks. They import the app at
    `app_path` (`module:attribute`), or without it the modules of their handlers.

    On `metrics_port` it answers Prometheus and probes; several processes take one port each, from
    there on. 0: none.

    Kinds that a worker has to allow, such as `command`, run here if `allow` names them. Those that
    call addresses call the hosts and networks in `private` and the `ports` as well, and else only
    public ones.
    """

    queues: tuple[str, ...] = ()
    concurrency: int = 100
    grace: Micros = 30 * SECOND
    lease: Micros = LEASE
    name: str = ""
    stage: bool = True
    reap: bool = True
    prune: bool = True
    schedule: bool = True
    alert: bool = True
    pool: int = 0
    pool_tasks: int = 1_000
    app_path: str = ""
    allow: tuple[str, ...] = ()
    metrics_port: int = 0
    metrics_host: str = "127.0.0.1"
    private: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {self.concurrency}")
        if self.lease < SECOND:
            raise ConfigurationError("a lease must be at least one second")
        if self.pool < 0 or self.pool_tasks < 1:
            raise ConfigurationError("pool must not be negative, and pool_tasks at least 1")
        if not 0 <= self.metrics_port <= 65_535:
            raise ConfigurationError(f"a port lies between 0 and 65535, not {self.metrics_port}")
        if self.grace < 0:
            raise ConfigurationError("the grace time must not be negative")
        plan_queues(self.queues, self.concurrency)

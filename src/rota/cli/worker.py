"""`rota worker`: runs the tasks of an app in this process, or in several below it."""

import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from rota import __version__
from rota.app import Rota
from rota.cli.logs import LogFormat, set_up_logs
from rota.cli.opening import at_address, bare_app, load, reach, warn_of_other_address
from rota.cli.options import COMMON, PORT_MOST, Common, check_ports, length, whole
from rota.cli.problems import UsageError
from rota.cli.settings import Settings, find_settings
from rota.clock import SystemClock, new_rng
from rota.config import SECOND
from rota.errors import ConfigurationError, StoreUnavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from rota.backend import Backend
    from rota.node.settings import WorkerSettings
    from rota.node.worker import Worker


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WorkerFlags:
    """How one process of a worker is set up."""

    queue: Annotated[
        tuple[str, ...],
        Parameter(
            help="Take this queue, those of a pattern (mail.*), or all but these (!bulk); sms=50 "
            "has 50 slots of its own. May be repeated. Without: those of the app's kinds.",
        ),
    ] = ()
    concurrency: Annotated[
        int,
        Parameter(
            help="How many handlers at once, of all queues without slots of their own.",
            converter=whole(1),
            show_default=True,
        ),
    ] = 100
    grace: Annotated[
        str, Parameter(help="How long a stop waits for handlers.", show_default=True)
    ] = "30s"
    lease: Annotated[
        str,
        Parameter(help="After how long without a renewal its tasks go on.", show_default=True),
    ] = "30s"
    name: Annotated[str, Parameter(help="The worker's name in lists.")] = ""
    pool: Annotated[
        int,
        Parameter(
            help="How many processes for handlers that run in one, in each pool; 0: one a core.",
            converter=whole(0),
            show_default=True,
        ),
    ] = 0
    allow_commands: Annotated[
        bool, Parameter(help="Run tasks of the built-in kind command: any program, as this user.")
    ] = False
    allow_http: Annotated[
        bool, Parameter(help="Run tasks of the built-in kind http: calls of URLs.")
    ] = False
    allow_private: Annotated[
        tuple[str, ...],
        Parameter(
            help="Let tasks call this host or network (10.0.0.0/8), which is no public one. May "
            "be repeated."
        ),
    ] = ()
    allow_port: Annotated[
        tuple[int, ...],
        Parameter(help="Let tasks call this port, besides 80 and 443. May be repeated."),
    ] = ()
    metrics_port: Annotated[
        int,
        Parameter(
            help="Answer Prometheus (/metrics) and probes (/healthz, /readyz) on this port; each "
            "of several processes takes one, from there on.",
            converter=whole(0, PORT_MOST),
        ),
    ] = 0
    metrics_host: Annotated[
        str,
        Parameter(help="At which address; whoever reaches it may read it.", show_default=True),
    ] = "127.0.0.1"
    no_stage: Annotated[bool, Parameter(help="Leave it to others to make tasks due.")] = False
    no_schedule: Annotated[bool, Parameter(help="Leave it to others to fire schedules.")] = False
    no_reap: Annotated[bool, Parameter(help="Leave lost workers' tasks to others.")] = False
    no_alert: Annotated[bool, Parameter(help="Leave it to others to watch for alerts.")] = False
    no_prune: Annotated[bool, Parameter(help="Leave old history to others.")] = False

    def settings(self) -> "WorkerSettings":
        """Return the settings; an error names the option that is wrong."""
        from rota.node.queue_names import plan_queues
        from rota.node.settings import WorkerSettings

        try:
            plan_queues(self.queue, self.concurrency)
        except ConfigurationError as error:
            raise UsageError(f"--{error}") from None  # its text begins with the word: queue sms=0
        if self.allow_http and find_spec("aiohttp") is None:
            raise ConfigurationError("--allow-http needs aiohttp: pip install 'rota[http]'")
        return WorkerSettings(
            queues=self.queue,
            concurrency=self.concurrency,
            grace=length(self.grace, "--grace"),
            lease=length(self.lease, "--lease"),
            name=self.name,
            pool=self.pool,
            stage=not self.no_stage,
            schedule=not self.no_schedule,
            reap=not self.no_reap,
            alert=not self.no_alert,
            prune=not self.no_prune,
            allow=tuple(
                name
                for name, allowed in (("command", self.allow_commands), ("http", self.allow_http))
                if allowed
            ),
            metrics_port=self.metrics_port,
            metrics_host=self.metrics_host,
            private=self.allow_private,
            ports=self.allow_port,
        )


WORKER_FLAGS = WorkerFlags()
_FLAGS = {"command": "commands", "http": "http"}


def worker(
    app_path: Annotated[
        str | None,
        Parameter(name="APP", help="module:attribute; or --app, ROTA_APP, rota.toml."),
    ] = None,
    /,
    *,
    processes: Annotated[
        int, Parameter(help="How many processes.", converter=whole(1), show_default=True)
    ] = 1,
    log_format: LogFormat = None,
    flags: WorkerFlags = WORKER_FLAGS,
    common: Common = COMMON,
) -> int:
    """Run the tasks of an app until told to stop.

    The first SIGTERM or Ctrl-C stops taking tasks and waits for the handlers that
    run, at most the grace time; the second hands back at once. Logs go to stderr,
    one line a record.

    For instance:

        $ rota worker school:app
        $ rota worker school:app --queue sms --processes 4 --concurrency 50
        $ rota worker school:app --queue sms=50 --queue transcode=2 --queue '*'
    """
    settings = flags.settings()
    found = find_settings(url=common.url, app=app_path or common.app)
    app = _app(found, settings, common, log_format)
    path = "" if found.app is None else found.app.value
    if processes == 1:
        return _run_here(app, replace(settings, app_path=path))
    return _run_below(app, path, settings, processes, common)


def _app(found: Settings, settings: "WorkerSettings", common: Common, form: LogFormat) -> Rota:
    """Return what the worker runs: the app that is set, with commands if they are allowed."""
    if found.app is None and not settings.allow:
        raise UsageError("name the app, for instance: rota worker app:app. See: rota worker --help")
    if found.app is not None:
        own = load(found.app)
    else:
        # By a name of its own: it declares no schedules, and those of apps are not its to delete.
        own = bare_app(found.url, common.token_file, name="commands")
    # After the app's own code: a program that sets up its logs keeps them.
    set_up_logs(common, usual=logging.INFO, form=form)
    warn_of_other_address(own, found.url)
    _add_allowed(own, settings)
    return at_address(own, found.url, common.token_file)


def _add_allowed(own: Rota, settings: "WorkerSettings") -> None:
    """Make the kinds known that are allowed, and how far their calls reach."""
    if "command" in settings.allow:
        from rota.contrib.command import add_command

        add_command(own)
    if "http" in settings.allow:
        from rota.contrib._addresses import Reach
        from rota.contrib.http_call import add_http

        add_http(own, reach=Reach.of(settings.private, settings.ports))


def _run_here(app: Rota, settings: "WorkerSettings") -> int:
    from rota.node.process import leave, run_here
    from rota.reconcile import at_start

    rng = new_rng()
    code = run_here(
        app.registry,
        app.connect,
        settings,
        rng=rng,
        version=__version__,
        beside=lambda: at_start(app.connect, tuple(app.declarations), app.source, rng),
        watch=_watching(app, settings),
    )
    leave(code)
    return code


def _watching(
    app: Rota, settings: "WorkerSettings"
) -> "Callable[[Worker, Backend], asyncio.Task[None]] | None":
    """Return what answers on the worker's metrics port, if it has one."""
    from rota.node.process import CHILD

    if not settings.metrics_port:
        return None
    try:
        from rota.node.endpoint import watching
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"--metrics-port needs {error.name}: pip install 'rota[server]'"
        ) from None
    port = settings.metrics_port + int(os.environ.get(CHILD, "0"))
    return watching(app.registry, settings.metrics_host, port)


def _run_below(
    app: Rota, path: str, settings: "WorkerSettings", processes: int, common: Common
) -> int:
    from rota.node.supervisor import supervise

    check_ports(settings.metrics_port, processes)
    # What no restart would mend is said once, here, and not by every child again and again.
    with suppress(StoreUnavailable):
        reach(app)
    words = [path] if path else []
    command = [sys.executable, "-m", "rota", "worker", *words, *child_options(settings, common)]
    return supervise(command, processes, SystemClock(), app.connect)


def child_options(settings: "WorkerSettings", common: Common) -> list[str]:
    """Return the options with which one process of several does the same as all would."""
    words = [word for queue in settings.queues for word in ("--queue", queue)]
    words += ["--concurrency", str(settings.concurrency)]
    words += ["--grace", str(settings.grace / SECOND), "--lease", str(settings.lease / SECOND)]
    if settings.pool:
        words += ["--pool", str(settings.pool)]
    if settings.name:
        words += ["--name", settings.name]
    if settings.metrics_port:
        words += ["--metrics-port", str(settings.metrics_port)]
        words += ["--metrics-host", settings.metrics_host]
    words += [f"--allow-{_FLAGS[name]}" for name in settings.allow]
    words += [word for host in settings.private for word in ("--allow-private", host)]
    words += [word for port in settings.ports for word in ("--allow-port", str(port))]
    duties = {
        "--no-stage": settings.stage,
        "--no-schedule": settings.schedule,
        "--no-reap": settings.reap,
        "--no-alert": settings.alert,
        "--no-prune": settings.prune,
    }
    words += [option for option, done in duties.items() if not done]
    # Not the address that was found elsewhere: the child finds it there too, and an address
    # with a password does not belong on a command line.
    if common.url is not None:
        words += ["--url", common.url]
    if common.token_file is not None:
        words += ["--token-file", common.token_file]
    return words + [f"--{flag}" for flag in ("quiet", "verbose") if getattr(common, flag)]

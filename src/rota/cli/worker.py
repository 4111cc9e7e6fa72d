"""`rota worker`: runs the tasks of an app in this process, or in several below it."""

import logging
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from rota import __version__
from rota.app import Rota
from rota.cli.logs import set_up_logs
from rota.cli.opening import at_address, load, reach, warn_of_other_address
from rota.cli.options import COMMON, Common, length, whole
from rota.cli.problems import UsageError
from rota.cli.settings import Settings, find_settings
from rota.clock import SystemClock, new_rng
from rota.config import SECOND
from rota.errors import ConfigurationError, StoreUnavailable

if TYPE_CHECKING:
    from rota.node.settings import WorkerSettings


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
    no_stage: Annotated[bool, Parameter(help="Leave it to others to make tasks due.")] = False
    no_schedule: Annotated[bool, Parameter(help="Leave it to others to fire schedules.")] = False
    no_reap: Annotated[bool, Parameter(help="Leave lost workers' tasks to others.")] = False
    no_prune: Annotated[bool, Parameter(help="Leave old history to others.")] = False

    def settings(self) -> "WorkerSettings":
        """Return the settings; an error names the option that is wrong."""
        from rota.node.queue_names import plan_queues
        from rota.node.settings import WorkerSettings

        try:
            plan_queues(self.queue, self.concurrency)
        except ConfigurationError as error:
            raise UsageError(f"--{error}") from None  # its text begins with the word: queue sms=0
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
            prune=not self.no_prune,
            allow=("command",) if self.allow_commands else (),
        )


WORKER_FLAGS = WorkerFlags()


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
    app = _app(found, settings, common)
    path = "" if found.app is None else found.app.value
    if processes == 1:
        return _run_here(app, replace(settings, app_path=path))
    return _run_below(app, path, settings, processes, common)


def _app(found: Settings, settings: "WorkerSettings", common: Common) -> Rota:
    """Return what the worker runs: the app that is set, with commands if they are allowed."""
    if found.app is None and not settings.allow:
        raise UsageError("name the app, for instance: rota worker app:app. See: rota worker --help")
    if found.app is not None:
        own = load(found.app)
    else:
        # By a name of its own: it declares no schedules, and those of apps are not its to delete.
        own = Rota(found.url.value if found.url else None, name="commands")
    # After the app's own code: a program that sets up its logs keeps them.
    set_up_logs(common, usual=logging.INFO)
    warn_of_other_address(own, found.url)
    if settings.allow:
        from rota.contrib.command import add_command

        add_command(own)
    return at_address(own, found.url)


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
    )
    leave(code)
    return code


def _run_below(
    app: Rota, path: str, settings: "WorkerSettings", processes: int, common: Common
) -> int:
    from rota.node.supervisor import supervise

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
    if settings.allow:
        words.append("--allow-commands")
    duties = {
        "--no-stage": settings.stage,
        "--no-schedule": settings.schedule,
        "--no-reap": settings.reap,
        "--no-prune": settings.prune,
    }
    words += [option for option, done in duties.items() if not done]
    # Not the address that was found elsewhere: the child finds it there too, and an address
    # with a password does not belong on a command line.
    if common.url is not None:
        words += ["--url", common.url]
    return words + [f"--{flag}" for flag in ("quiet", "verbose") if getattr(common, flag)]

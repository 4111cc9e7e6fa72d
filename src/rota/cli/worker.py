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
from rota.cli.settings import find_settings
from rota.clock import SystemClock, new_rng
from rota.config import SECOND
from rota.errors import StoreUnavailable

if TYPE_CHECKING:
    from rota.node.settings import WorkerSettings


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WorkerFlags:
    """How one process of a worker is set up."""

    queue: Annotated[
        tuple[str, ...],
        Parameter(help="Take this queue; may be repeated. Without: those of the app's kinds."),
    ] = ()
    concurrency: Annotated[
        int,
        Parameter(help="How many handlers at once.", converter=whole(1), show_default=True),
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
            help="How many processes for handlers that run in one; 0: one a core.",
            converter=whole(0),
            show_default=True,
        ),
    ] = 0
    no_stage: Annotated[bool, Parameter(help="Leave it to others to make tasks due.")] = False
    no_reap: Annotated[bool, Parameter(help="Leave lost workers' tasks to others.")] = False
    no_prune: Annotated[bool, Parameter(help="Leave old history to others.")] = False

    def settings(self) -> "WorkerSettings":
        """Return the settings; an error names the option that is wrong."""
        from rota.node.settings import WorkerSettings

        return WorkerSettings(
            queues=self.queue,
            concurrency=self.concurrency,
            grace=length(self.grace, "--grace"),
            lease=length(self.lease, "--lease"),
            name=self.name,
            pool=self.pool,
            stage=not self.no_stage,
            reap=not self.no_reap,
            prune=not self.no_prune,
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
    """
    settings = flags.settings()
    found = find_settings(url=common.url, app=app_path or common.app)
    if found.app is None:
        raise UsageError("name the app, for instance: rota worker app:app. See: rota worker --help")
    own = load(found.app)
    # After the app's own code: a program that sets up its logs keeps them.
    set_up_logs(common, usual=logging.INFO)
    warn_of_other_address(own, found.url)
    app = at_address(own, found.url)
    if processes == 1:
        return _run_here(app, replace(settings, app_path=found.app.value))
    return _run_below(app, found.app.value, settings, processes, common)


def _run_here(app: Rota, settings: "WorkerSettings") -> int:
    from rota.node.process import leave, run_here

    code = run_here(app.registry, app.connect, settings, rng=new_rng(), version=__version__)
    leave(code)
    return code


def _run_below(
    app: Rota, path: str, settings: "WorkerSettings", processes: int, common: Common
) -> int:
    from rota.node.supervisor import supervise

    # What no restart would mend is said once, here, and not by every child again and again.
    with suppress(StoreUnavailable):
        reach(app)
    command = [sys.executable, "-m", "rota", "worker", path, *child_options(settings, common)]
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
    duties = {
        "--no-stage": settings.stage,
        "--no-reap": settings.reap,
        "--no-prune": settings.prune,
    }
    words += [option for option, done in duties.items() if not done]
    # Not the address that was found elsewhere: the child finds it there too, and an address
    # with a password does not belong on a command line.
    if common.url is not None:
        words += ["--url", common.url]
    return words + [f"--{flag}" for flag in ("quiet", "verbose") if getattr(common, flag)]

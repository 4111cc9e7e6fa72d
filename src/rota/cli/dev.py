"""`rota dev`: everything in one, for development; starts again when code changes."""

import logging
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rota.app import Rota
from rota.cli import app_loading
from rota.cli.credentials import is_server
from rota.cli.logs import LogFormat, set_up_logs
from rota.cli.opening import at_address, load, warn_of_other_address
from rota.cli.options import COMMON, PORT_MOST, Common, whole
from rota.cli.output import Output
from rota.cli.problems import Exit, UsageError, report
from rota.cli.settings import Settings, find_settings
from rota.dev.line import child_file
from rota.errors import ConfigurationError

if TYPE_CHECKING:
    from rota.server.settings import ServerSettings


def dev(
    app_path: Annotated[
        str | None,
        Parameter(name="APP", help="module:attribute; or --app, ROTA_APP, rota.toml."),
    ] = None,
    /,
    *,
    host: Annotated[str, Parameter(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(
            help="The port; 0 takes a free one.", converter=whole(0, PORT_MOST), show_default=True
        ),
    ] = 8300,
    concurrency: Annotated[
        int, Parameter(help="How many handlers at once.", converter=whole(1), show_default=True)
    ] = 20,
    no_reload: Annotated[bool, Parameter(help="Leave it as it is when code changes.")] = False,
    log_format: LogFormat = None,
    common: Common = COMMON,
) -> int:
    """Run server, worker and scheduler in one, and again when a Python file changes.

    Prints a link that logs you in, good for 60 seconds; Enter prints another one.
    With --json that is a line {"url", "code"}.
    Code that cannot be imported is reported, and what ran before goes on until the
    next change. Ctrl-C ends it; tasks that run are handed back.

    For instance:

        $ rota dev school:app
        $ rota dev school:app --port 8301 --url sqlite:///other.db
    """
    found = find_settings(url=common.url, app=app_path or common.app)
    if found.app is None:
        raise UsageError("name the app, for instance: rota dev app:app. See: rota dev --help")
    # No change of the code would mend this.
    app_loading.check_path(found.app.value)
    settings = _settings(host, port)
    output = Output(common)
    if child_file() is not None:
        return _child(found, settings, concurrency, log_format, common)
    from rota.dev.parent import run_parent
    from rota.server.run import bound

    # Said here, once, rather than by every child; and they all get the same.
    with closing(bound(settings)) as listening:
        port = listening.getsockname()[1]
    command = [sys.executable, "-m", "rota", "dev", found.app.value]
    command += ["--host", host, "--port", str(port), "--concurrency", str(concurrency)]
    command += _passed_on(log_format, common)
    output.hint("Ctrl-C ends it; Enter prints a new link")
    folders = {Path.cwd(), *([found.app.folder] if found.app.folder else [])}
    return run_parent(command, sorted(folders), reload=not no_reload, say=output.hint)


def _passed_on(log_format: LogFormat, common: Common) -> list[str]:
    """Return the options that every child gets as they were typed."""
    named = {"--log-format": log_format, "--url": common.url}
    options = [part for name, value in named.items() if value is not None for part in (name, value)]
    return options + [f"--{flag}" for flag in ("json", "quiet", "verbose") if getattr(common, flag)]


def _settings(host: str, port: int) -> "ServerSettings":
    try:
        import uvicorn  # noqa: F401 - asked for now, and not in each child
        import watchfiles  # noqa: F401

        from rota.server.settings import ServerSettings
    except ImportError as error:
        raise ConfigurationError(
            f"rota dev needs {error.name}, which is not installed: pip install 'rota[server]'"
        ) from None
    return ServerSettings(host=host, port=port)


def _child(
    found: Settings,
    settings: "ServerSettings",
    concurrency: int,
    log_format: LogFormat,
    common: Common,
) -> int:
    from rota.dev.child import run_child

    output = Output(common)

    try:
        app = _app(found, common, log_format)
    except ConfigurationError as error:
        if error.__cause__ is not None:
            # Without it nobody could tell which line of the code is wrong.
            sys.stderr.write(_from_its_code_on(error.__cause__))
        report(error)
        return Exit.USAGE

    def link(address: str, code: str) -> None:
        if common.json:
            output.object({"url": address, "code": code})
            return
        output.line(f"{address}/#code={code}")
        output.out.flush()

    return run_child(app, settings, concurrency, link)


def _app(found: Settings, common: Common, log_format: LogFormat) -> Rota:
    assert found.app is not None
    own = load(found.app)
    set_up_logs(common, usual=logging.INFO, form=log_format)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it tells of each start and each end
    warn_of_other_address(own, found.url)
    app = at_address(own, found.url)
    if is_server(app.url):
        raise ConfigurationError("rota dev is a server itself: set --url to a store")
    return app


def _from_its_code_on(error: BaseException) -> str:
    """Return a traceback without the frames of whoever imports the code."""
    place = error.__traceback__
    while place is not None and _imports(place.tb_frame.f_code.co_filename):
        place = place.tb_next
    return "".join(traceback.format_exception(error.with_traceback(place)))


def _imports(file: str) -> bool:
    return "importlib" in file or file == app_loading.__file__

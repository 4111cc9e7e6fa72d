"""`rota server`: answers HTTP for an app, in this process or in several below it."""

import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from rota.app import Rota
from rota.cli.logs import LogFormat, set_up_logs
from rota.cli.opening import at_address, load, reach, warn_of_other_address
from rota.cli.options import COMMON, PORT_MOST, Common, check_ports, whole
from rota.cli.problems import UsageError
from rota.cli.settings import find_settings
from rota.clock import SystemClock, new_rng
from rota.errors import ConfigurationError, StoreUnavailable

if TYPE_CHECKING:
    from rota.server.settings import ServerSettings


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """How one process of a server is set up."""

    host: Annotated[
        str, Parameter(help="The address to listen on; loopback alone without any key.")
    ] = "127.0.0.1"
    port: Annotated[
        int, Parameter(help="The port; 0 takes a free one.", converter=whole(0, PORT_MOST))
    ] = 8300
    allow_host: Annotated[
        tuple[str, ...],
        Parameter(help="A name that this server is called by; may be repeated."),
    ] = ()
    trust_proxy: Annotated[
        tuple[str, ...],
        Parameter(
            help="Believe X-Forwarded-For of this address or network; may be repeated.",
        ),
    ] = ()
    tls_cert: Annotated[str | None, Parameter(help="The certificate's file, with its chain.")] = (
        None
    )
    tls_key: Annotated[str | None, Parameter(help="The file of the certificate's key.")] = None
    insecure_plain: Annotated[
        bool, Parameter(help="Listen to the network without TLS: a proxy before it does that.")
    ] = False
    rate: Annotated[
        int | None, Parameter(help="Calls a second of one key.", converter=whole(1))
    ] = None
    any_kind: Annotated[
        bool, Parameter(help="Take tasks of kinds that neither the app nor a worker knows.")
    ] = False
    no_duties: Annotated[
        bool, Parameter(help="Leave staging, schedules, webhooks and upkeep to others.")
    ] = False
    allow_private: Annotated[
        tuple[str, ...],
        Parameter(help="A host or network that webhooks may go to although it is not public."),
    ] = ()
    allow_port: Annotated[
        tuple[int, ...], Parameter(help="A port that webhooks may go to besides 80 and 443.")
    ] = ()
    public_url: Annotated[
        str, Parameter(help="Where people find this server: links in messages begin with it.")
    ] = ""
    metrics_port: Annotated[
        int,
        Parameter(
            help="Answer /metrics and probes without a key on this port too; each of several "
            "processes takes one, from there on.",
            converter=whole(0, PORT_MOST),
        ),
    ] = 0
    metrics_host: Annotated[
        str, Parameter(help="At which address; whoever reaches it may read it.")
    ] = "127.0.0.1"
    share_port: Annotated[bool, Parameter(help="Let other processes listen on the same port.")] = (
        False
    )

    def settings(self) -> "ServerSettings":
        """Return the settings; an error names the option that is wrong."""
        try:
            from rota.server.settings import ServerSettings
        except ImportError as error:
            raise _not_installed(error) from None
        return ServerSettings(
            host=self.host,
            port=self.port,
            hosts=self.allow_host,
            proxies=self.trust_proxy,
            tls_cert=self.tls_cert,
            tls_key=self.tls_key,
            insecure_plain=self.insecure_plain,
            rate=None if self.rate is None else float(self.rate),
            any_kind=self.any_kind,
            duties=not self.no_duties,
            share_port=self.share_port,
            private=self.allow_private,
            ports=self.allow_port,
            public_url=self.public_url,
            metrics_port=self.metrics_port,
            metrics_host=self.metrics_host,
        )


SERVER_FLAGS = ServerFlags()


def server(
    app_path: Annotated[
        str | None,
        Parameter(name="APP", help="module:attribute; or --app, ROTA_APP, rota.toml."),
    ] = None,
    /,
    *,
    processes: Annotated[
        int, Parameter(help="How many processes, on one port.", converter=whole(1))
    ] = 1,
    log_format: LogFormat = None,
    flags: ServerFlags = SERVER_FLAGS,
    common: Common = COMMON,
) -> int:
    """Answer HTTP until told to stop: the API, workers in any language, metrics.

    It takes tasks of the app's kinds, and of those that live workers run;
    without an app of the latter only. The first SIGTERM or Ctrl-C takes no more
    calls and answers those under way, the second ends at once. Logs go to
    stderr.

    For instance:

        $ rota keys create first --role admin
        $ rota server school:app
        $ rota server school:app --host 10.0.0.5 --tls-cert a.pem --tls-key a.key
        $ rota server --url postgresql://db/rota --processes 2
    """
    settings = flags.settings()
    found = find_settings(url=common.url, app=app_path or common.app)
    if found.app is None and found.url is None:
        raise UsageError(
            "name the app or the store, for instance: rota server app:app. See: rota server --help"
        )
    if found.app is not None:
        own = load(found.app)
    else:
        own = Rota(found.url.value if found.url else None, name="server")
    # After the app's own code: a program that sets up its logs keeps them.
    set_up_logs(common, usual=logging.INFO, form=log_format)
    warn_of_other_address(own, found.url)
    app = at_address(own, found.url)
    if processes == 1:
        try:
            from rota.server.run import run_server
        except ImportError as error:
            raise _not_installed(error) from None
        return run_server(app, own_port(settings), rng=new_rng())
    path = "" if found.app is None else found.app.value
    return _run_below(app, path, settings, processes, common)


def own_port(settings: "ServerSettings") -> "ServerSettings":
    """Return the settings of this process: of several each has a metrics port of its own."""
    if not settings.metrics_port:
        return settings
    from rota.node.process import CHILD

    number = int(os.environ.get(CHILD, "0"))
    return replace(settings, metrics_port=settings.metrics_port + number)


def _run_below(
    app: Rota, path: str, settings: "ServerSettings", processes: int, common: Common
) -> int:
    from rota.node.supervisor import supervise
    from rota.server.run import bound
    from rota.server.settings import children

    if settings.port == 0:
        raise UsageError("--port 0 would be another port in each of the processes; name one")
    check_ports(settings.metrics_port, processes)
    # What no restart would mend is said once, here, and not by every child again and again.
    with suppress(StoreUnavailable):
        reach(app)
    bound(replace(settings, share_port=True)).close()
    command = [sys.executable, "-m", "rota", "server", *([path] if path else [])]
    command += children(settings)
    # Not the address that was found elsewhere: the child finds it there too, and an address
    # with a password does not belong on a command line.
    if common.url is not None:
        command += ["--url", common.url]
    command += [f"--{flag}" for flag in ("quiet", "verbose") if getattr(common, flag)]
    return supervise(command, processes, SystemClock(), app.connect)


def _not_installed(error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"the server needs {error.name}, which is not installed; run: pip install 'rota[server]'"
    )

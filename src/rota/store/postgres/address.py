"""Where the database is, and how a connection to it is made."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from rota.errors import ConfigurationError
from rota.store import masked
from rota.store.postgres.faults import driver
from rota.store.postgres.statements import Connection

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 40.0
"""How long an answer is waited for: past the server's own limit of 30 s, so that it takes a dead
link to get there."""

_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")


class Address:
    """The address of a database; `?pgbouncer=1` says that there is a pooler on the way.

    It may name several hosts, `host1:5432,host2:5432`, of which the first that answers is taken,
    with `?target_session_attrs=read-write` the first that takes writes. All other options, such as
    those of TLS (`sslmode`, `sslrootcert`), are the driver's.

    `shown` is fit for messages. `pooled` means that a pooler in transaction mode may send each
    transaction to another connection of the server. `reached` says whether a connection was ever
    made: until then a refused login is a mistake in the set-up, afterwards it may pass.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            login, at, hosts = parts.netloc.rpartition("@")
            self._hosts = [login + at + host for host in hosts.split(",")]
            for host in self._hosts:
                urlsplit(f"//{host}").port  # noqa: B018 - says whether it is a number
            self.shown = masked(url)
        except ValueError:
            raise ConfigurationError(
                "this is no address of PostgreSQL; give postgresql://user:password@host/database "
                "with / @ : # in the password written as %2F %40 %3A %23"
            ) from None
        options = parse_qsl(parts.query, keep_blank_values=True)
        self.pooled = any(name == "pgbouncer" and value not in ("", "0") for name, value in options)
        self.reached = False
        self._options = [option for option in options if option[0] != "pgbouncer"]
        self._parts = parts._replace(query=urlencode(self._options))

    @property
    def dsn(self) -> str:
        """The address as the driver knows it, with all hosts."""
        return self._parts.geturl()

    async def connect(
        self, settings: dict[str, str], seconds: float | None = ANSWER_SECONDS
    ) -> Connection:
        """Open a connection with these settings; a pooler would refuse them and gets none."""
        asyncpg = driver()
        timeout = min(CONNECT_SECONDS, seconds or CONNECT_SECONDS)
        refused: BaseException | None = None
        for host in tuple(self._hosts):
            try:
                connection = await asyncpg.connect(
                    self._parts._replace(netloc=host).geturl(),
                    # A machine that is off does not even refuse: the others need time as well.
                    timeout=timeout / len(self._hosts),
                    command_timeout=seconds,
                    statement_cache_size=0 if self.pooled else 100,
                    server_settings={"application_name": "rota"} if self.pooled else settings,
                )
            except asyncpg.ClientConfigurationError as error:
                raise ConfigurationError(
                    f"the address {self.shown} cannot be used: {error}"
                ) from None
            except asyncpg.ProtocolViolationError as error:
                raise self._unlike_a_server(error) from None
            except _elsewhere() as error:
                self._miss_no_file()
                refused = error
            else:
                self._take_first(host)
                return connection
        assert refused is not None
        raise refused

    def _unlike_a_server(self, error: BaseException) -> BaseException:
        """Return what to raise when settings are refused, as a pooler does and no server."""
        if self.pooled or "startup parameter" not in str(error):
            return error
        return ConfigurationError(
            f"{self.shown} seems to be a pooler ({error}); if it is PgBouncer, add "
            "?pgbouncer=1 to the address"
        )

    def _miss_no_file(self) -> None:
        """Refuse an address that names a file that is not there; the driver does not say which."""
        for name, path in self._options:
            if name in _FILES and not Path(path).exists():
                raise ConfigurationError(f"the address {self.shown}: there is no {name} {path}")

    def _take_first(self, host: str) -> None:
        """Begin with this host the next time: the others may be down for long."""
        self.reached = True
        self._hosts.sort(key=lambda one: one != host)


def _elsewhere() -> tuple[type[BaseException], ...]:
    """Return what is raised when a host is not the one that is looked for, or is not up."""
    asyncpg = driver()
    return (
        OSError,
        TimeoutError,
        asyncpg.TargetServerAttributeNotMatched,
        asyncpg.CannotConnectNowError,
    )

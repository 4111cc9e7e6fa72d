"""Where the database is, and how a connection to it is made."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from rota.errors import ConfigurationError
from rota.store import masked
from rota.store.postgres.faults import driver
from rota.store.postgres.statements import Connection

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 40.0
"""How long an answer is waited for: past the server's own limit of 30 s, so that it takes a dead
link to get there."""


class Address:
    """The address of a database; `?pgbouncer=1` says that there is a pooler on the way.

    `shown` is fit for messages. `pooled` means that a pooler in transaction mode may send each
    transaction to another connection of the server. `reached` says whether a connection was ever
    made: until then a refused login is a mistake in the set-up, afterwards it may pass.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 - says whether it is a number
            self.shown = masked(url)
        except ValueError:
            raise ConfigurationError(
                "this is no address of PostgreSQL; give postgresql://user:password@host/database "
                "with / @ : # in the password written as %2F %40 %3A %23"
            ) from None
        options = parse_qsl(parts.query, keep_blank_values=True)
        self.pooled = any(name == "pgbouncer" and value not in ("", "0") for name, value in options)
        self.reached = False
        kept = urlencode([option for option in options if option[0] != "pgbouncer"])
        self.dsn = parts._replace(query=kept).geturl()

    async def connect(
        self, settings: dict[str, str], seconds: float | None = ANSWER_SECONDS
    ) -> Connection:
        """Open a connection with these settings; a pooler would refuse them and gets none."""
        asyncpg = driver()
        try:
            connection = await asyncpg.connect(
                self.dsn,
                timeout=min(CONNECT_SECONDS, seconds or CONNECT_SECONDS),
                command_timeout=seconds,
                statement_cache_size=0 if self.pooled else 100,
                server_settings={"application_name": "rota"} if self.pooled else settings,
            )
        except asyncpg.ClientConfigurationError as error:
            raise ConfigurationError(f"the address {self.shown} cannot be used: {error}") from None
        self.reached = True
        return connection

"""Where the tasks of an app lie, so that a connection to somewhere else is refused."""

from pathlib import Path

from rota.clock import Clock
from rota.errors import ConfigurationError, SchemaOutOfDate
from rota.transactions.borrowed import Dialect, Rows

_SPOKEN: dict[Dialect, str] = {"postgres": "PostgreSQL", "sqlite": "SQLite"}


class Home:
    """The place of an app's tasks, and its clock.

    `dialect` is None where the app does not know: a server may stand between. `file` is that of a
    SQLite store.
    """

    def __init__(self, clock: Clock, dialect: Dialect | None, file: Path | None = None) -> None:
        self.clock = clock
        self.file = file
        self.looked = False
        self._dialect = dialect

    def check(self, dialect: Dialect) -> None:
        """Refuse a connection to another kind of database: no worker would ever look there."""
        if self._dialect not in (None, dialect):
            raise ConfigurationError(
                f"this connection is to {_SPOKEN[dialect]}, but the app's tasks lie in "
                f"{_SPOKEN[self._dialect]}; give Rota(…) the address of the database that the "
                "connection is to"
            )

    def check_files(self, files: list[str]) -> None:
        """Refuse a connection to another file than the app's."""
        if self.file is None or any(_same(self.file, Path(file)) for file in files):
            return
        raise ConfigurationError(
            f"this connection is to {' and '.join(files) or 'a database in memory'}, but the app's "
            f"tasks lie in {self.file}"
        )

    def take_in(self, rows: Rows) -> None:
        """Read the answer of `look_inside`: is the schema there, and what is the time."""
        ((ready, store_time),) = rows
        if not ready:
            raise SchemaOutOfDate(
                "the database of this connection lacks Rota's functions; run `rota migrate` on it"
            )
        self.clock.observe(int(store_time), self.clock.monotonic())
        self.looked = True


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)

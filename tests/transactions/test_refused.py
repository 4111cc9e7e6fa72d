"""Connections that cannot be used are refused, with what to do instead (R1.6)."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import psycopg
import pytest

from rota import InvalidTask, Rota, SchemaOutOfDate, TaskKind, effects
from rota.errors import ConfigurationError
from rota.transactions import sqlite
from rota.transactions.django import DjangoConnection
from rota.transactions.sqlalchemy import SqlalchemyConnection
from tests.support.places import Place
from tests.transactions.callers import Caller, Psycopg, Sqlite3

Send = TaskKind[[int], None]

sqlite_only = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@sqlite_only
@pytest.mark.parametrize(
    "what", [7, "sqlite:///rota.db", object(), sqlite3], ids=["number", "text", "object", "module"]
)
def test_what_is_no_connection_is_refused(send: Send, what: Any) -> None:
    """R1.6: the message names those that are."""
    with pytest.raises(ConfigurationError, match=r"psycopg\.Connection.*SQLAlchemy.*apsw"):
        send.using(connection=what).submit(1)
    with pytest.raises(ConfigurationError, match="it takes"):
        effects.once(what, "order-1")


@sqlite_only
def test_no_connection_is_none(app: Rota, send: Send) -> None:
    """R1.3: a function that may be given a connection can pass on that it was not."""
    accepted = send.using(connection=None).submit(1)

    assert app.tasks.get(accepted.id).state == "ready"


@sqlite_only
def test_a_call_carries_no_connection(place: Place, app: Rota, send: Send) -> None:
    """R1.3: it would be stored outside of the transaction, and nobody would notice."""
    own = send.using(connection=apsw.Connection(place.address))

    with pytest.raises(ConfigurationError, match="submit_many"):
        own.bind(1)
    with pytest.raises(ConfigurationError, match="submit_many"):
        own.split([1, 2], into="n")
    with pytest.raises(InvalidTask, match="submit_many"):
        app.call("send", {"n": 1}, connection=apsw.Connection(place.address))


@pytest.mark.parametrize("kind", [Psycopg, Sqlite3], indirect=True, ids=lambda k: k.__name__)
def test_another_kind_of_database_is_refused(caller: Caller, tmp_path: Path) -> None:
    """R1.6: no worker of the app would ever look there."""
    url = f"sqlite:///{tmp_path}/other.db" if caller.dialect == "postgres" else "postgresql://db/x"
    app = Rota(url)

    @app.task
    def send(n: int) -> None: ...

    with pytest.raises(ConfigurationError, match=r"give Rota\(…\) the address"):
        send.using(connection=caller.connection).submit(1)


@sqlite_only
def test_another_file_is_refused(send: Send, tmp_path: Path) -> None:
    """R1.6: as is a database in memory."""
    for name in (str(tmp_path / "other.db"), ":memory:"):
        connection = sqlite3.connect(name)
        with pytest.raises(ConfigurationError, match=r"tasks lie in .*rota\.db"):
            send.using(connection=connection).submit(1)
        connection.close()


def test_a_file_without_the_schema_says_what_to_run(tmp_path: Path) -> None:
    """R8.6."""
    app = Rota(f"sqlite:///{tmp_path}/empty.db")

    @app.task
    def send(n: int) -> None: ...

    connection = sqlite3.connect(tmp_path / "empty.db")
    connection.execute("create table orders (n)")
    connection.execute("insert into orders values (1)")

    with pytest.raises(SchemaOutOfDate, match="rota migrate"):
        send.using(connection=connection).submit(1)
    with pytest.raises(SchemaOutOfDate, match="rota migrate"):
        effects.once(connection, "order-1")

    assert connection.execute("select n from orders").fetchall() == [(1,)]
    connection.close()


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_database_without_the_schema_says_what_to_run(send: Send, bare_postgres_url: str) -> None:
    """R8.6: and the caller's transaction goes on."""
    with psycopg.connect(bare_postgres_url) as connection:
        connection.execute("create table orders (n int)")

        with pytest.raises(SchemaOutOfDate, match="rota migrate"):
            send.using(connection=connection).submit(1)

        connection.execute("insert into orders values (1)")
        connection.commit()
        with pytest.raises(SchemaOutOfDate, match="rota migrate"):
            effects.once(connection, "order-1")


@sqlite_only
def test_a_sqlite_that_is_too_old_is_refused(
    place: Place, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1.6."""
    monkeypatch.setattr(sqlite, "OLDEST", (99, 0, 0))
    connection = sqlite3.connect(place.address)

    with pytest.raises(ConfigurationError, match=r"too old.*apsw"):
        send.using(connection=connection).submit(1)

    connection.close()


@sqlite_only
async def test_an_asynchronous_apsw_is_refused(place: Place, send: Send) -> None:
    """R1.6: it is of the same type as one that blocks."""
    connection = await apsw.Connection.as_async(place.address)

    with pytest.raises(ConfigurationError, match="it takes"):
        await send.using(connection=connection).asubmit(1)

    await connection.aclose()


@sqlite_only
def test_two_copies_of_sqlite_are_kept_apart(place: Place, app: Rota, send: Send) -> None:
    """Cases B169, R1.2: neither sees what the other has locked, and commits would get lost."""
    connection = sqlite3.connect(place.address)
    send.using(connection=connection).submit(1)
    connection.commit()

    with pytest.raises(ConfigurationError, match="Two copies of SQLite"):
        send.submit(2)
    connection.close()
    assert send.submit(2).created

    connection = sqlite3.connect(place.address)
    with pytest.raises(ConfigurationError, match=r"apsw\.Connection"):
        send.using(connection=connection).submit(3)
    app.close()
    send.using(connection=connection).submit(3)
    connection.commit()
    connection.close()

    assert app.tasks.count() == {"ready": 3}


@sqlite_only
def test_the_same_copy_of_sqlite_works_beside_the_store(
    place: Place, app: Rota, send: Send
) -> None:
    """R1.3: an apsw connection and a store that is open."""
    send.submit(1)
    connection = apsw.Connection(place.address)
    connection.set_busy_timeout(5000)

    with connection:
        send.using(connection=connection).submit(2)
        assert app.tasks.count() == {"ready": 1}

    assert app.tasks.count() == {"ready": 2}
    connection.close()


@sqlite_only
def test_what_the_driver_raises_leaves_as_it_is(place: Place, send: Send) -> None:
    """R1.3: somebody else writes for longer than the caller waits; then it goes on."""
    other = sqlite3.connect(place.address, isolation_level=None)
    connection = sqlite3.connect(place.address, timeout=0)
    other.execute("begin immediate")

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        send.using(connection=connection).submit(1)
    other.execute("rollback")
    connection.rollback()
    send.using(connection=connection).submit(1)
    connection.commit()

    assert other.execute("select count(*) from ready").fetchone() == (1,)
    connection.close()
    other.close()


@sqlite_only
def test_who_begins_without_writing_is_not_refused_for_others_who_write(
    place: Place, send: Send
) -> None:
    """R1.3: nothing is read before the write lock is there; SQLite would refuse the write then."""
    other = apsw.Connection(place.address)
    connection = apsw.Connection(place.address)
    connection.execute("begin")
    seen: list[str] = []

    def somebody_else_writes(_cursor: object, sql: str, _values: object) -> bool:
        if not any(statement.startswith("delete") for statement in seen):
            other.execute("insert into orders (n) values (1)")
        seen.append(sql)
        return True

    connection.exec_trace = somebody_else_writes
    send.using(connection=connection).submit(1)
    connection.exec_trace = None
    connection.execute("commit")

    assert other.execute("select count(*) from ready").get == 1
    assert other.execute("select count(*) from orders").get > 2
    connection.close()
    other.close()


@pytest.mark.parametrize("name", ["mysql", "oracle"])
def test_a_database_that_tasks_cannot_lie_in_is_refused(name: str) -> None:
    """R1.6: whatever SQLAlchemy and Django can connect to."""
    with pytest.raises(ConfigurationError, match=f"PostgreSQL or SQLite.*{name}"):
        SqlalchemyConnection(SimpleNamespace(dialect=SimpleNamespace(name=name)))
    with pytest.raises(ConfigurationError, match=f"PostgreSQL or SQLite.*{name}"):
        DjangoConnection(SimpleNamespace(vendor=name, display_name=name))

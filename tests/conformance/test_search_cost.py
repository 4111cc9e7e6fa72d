"""A look costs what it was allowed to, whatever is looked for and however much there is (B170)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from rota.model import State, TaskFilter
from rota.orders import Order, Spot
from rota.store.postgres import ordered as ordered_in_postgres
from rota.store.postgres import search as in_postgres
from rota.store.postgres.address import Address
from rota.store.postgres.connections import Lines, Role
from rota.store.sqlite import ordered as ordered_in_sqlite
from rota.store.sqlite import search as in_sqlite
from tests.conformance.backlog import LIVE_SESSION, OF_EACH, SCHEDULE, SCHEDULED, task_id
from tests.support.explain import touched
from tests.support.factories import LATER
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

LOOK = 2_000
STEPS = 400 * LOOK
"""SQLite's machine may take so many steps: a scan of one of the tables takes millions."""
PAGES = 3 * LOOK
"""A page for each task that is looked at in three large tables; a scan touches many more rows."""

FILTERS = [
    TaskFilter(),
    *(TaskFilter(states=(state,)) for state in State),
    TaskFilter(queue="none"),
    TaskFilter(queues=("none", "nowhere")),
    TaskFilter(tenant="none"),
    TaskFilter(kind="none"),
    TaskFilter(tag="none"),
    TaskFilter(key="none"),
    TaskFilter(concurrency_key="none"),
    TaskFilter(schedule=task_id(SCHEDULE, 7)),
    TaskFilter(session=LIVE_SESSION),
    TaskFilter(id_prefix=OF_EACH[15]),
    TaskFilter(id_or_key="none"),
    TaskFilter(group="none"),
    TaskFilter(error_type="none"),
    TaskFilter(created_to=1),
    TaskFilter(run_to=1),
    TaskFilter(finished_to=1),
    TaskFilter(kind="send_result", payload=(("none", "1"),)),
]


def named(where: TaskFilter) -> str:
    fields = {name: getattr(where, name) for name in where.__struct_fields__}
    return "-".join(f"{n}-{v}" for n, v in fields.items() if v not in (None, (), False))


class Explaining:
    """A connection that runs a query and keeps what it touched."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.pages = 0

    async def fetchrow(self, sql: str, *values: Any) -> Any:
        """Run the query and return its row."""
        await self._explain(sql, *values)
        return await self._connection.fetchrow(sql, *values)

    async def fetch(self, sql: str, *values: Any) -> Any:
        """Run the query and return its rows."""
        await self._explain(sql, *values)
        return await self._connection.fetch(sql, *values)

    async def _explain(self, sql: str, *values: Any) -> None:
        text = await self._connection.fetchval(
            f"explain (analyze, buffers, format json) {sql}", *values
        )
        self.pages += touched(json.loads(text)[0]["Plan"])


@pytest.fixture(scope="module")
def database(postgres_backlog: str) -> str:
    """The address of a database with a backlog and its statistics."""
    asyncio.run(Place("postgres", postgres_backlog).run("analyze"))
    return postgres_backlog


@pytest.mark.parametrize("where", FILTERS, ids=named)
async def test_postgres_looks_at_no_more_than_it_may(database: str, where: TaskFilter) -> None:
    """B170: the list and the count."""
    lines = Lines(Address(database))

    async def look(connection: Any) -> int:
        explaining = Explaining(connection)
        await in_postgres.search(explaining, where, None, 50, LOOK)
        await in_postgres.count_among(explaining, where, 1_000, LOOK)
        return explaining.pages

    try:
        assert await lines.run(Role.READ, look) < PAGES
    finally:
        await lines.close()


@pytest.mark.parametrize("where", FILTERS, ids=named)
def test_sqlite_looks_at_no_more_than_it_may(sqlite_backlog: Path, where: TaskFilter) -> None:
    """B170."""
    connection = apsw.Connection(str(sqlite_backlog))
    steps: list[int] = []
    connection.trace_v2(
        apsw.SQLITE_TRACE_PROFILE,
        lambda event: steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
    )
    in_sqlite.search(connection, where, None, 50, LOOK)
    in_sqlite.count_among(connection, where, 1_000, LOOK)
    connection.trace_v2(0, None)
    connection.close()
    assert sum(steps) < STEPS


ORDERS = {
    Order.RANK: TaskFilter(states=(State.READY,), queue="sms", tenant="board"),
    Order.RUN_AT: TaskFilter(states=(State.SCHEDULED,)),
    Order.STARTED_AT: TaskFilter(states=(State.RUNNING,)),
    Order.FINISHED_AT: TaskFilter(states=(State.FAILED,)),
}
FEW = 400
"""A look at fifty tasks and what is above them in an index, or at all that runs."""
BEHIND = Spot(LATER, task_id(SCHEDULED, 1))


@pytest.mark.parametrize("after", [None, BEHIND], ids=["first", "next"])
@pytest.mark.parametrize("order", ORDERS)
async def test_postgres_reads_an_order_from_its_index(
    database: str, order: Order, after: Spot | None
) -> None:
    """B170: no list is sorted but that of what runs."""
    lines = Lines(Address(database))

    async def look(connection: Any) -> int:
        explaining = Explaining(connection)
        await ordered_in_postgres.ordered(
            explaining, ORDERS[order], order, after, limit=50, most=50
        )
        return explaining.pages

    try:
        pages = await lines.run(Role.READ, look)
    finally:
        await lines.close()
    assert pages < (PAGES if order is Order.STARTED_AT else FEW)


@pytest.mark.parametrize("after", [None, BEHIND], ids=["first", "next"])
@pytest.mark.parametrize("order", ORDERS)
def test_sqlite_reads_an_order_from_its_index(
    sqlite_backlog: Path, order: Order, after: Spot | None
) -> None:
    """B170: no list is sorted but that of what runs."""
    connection = apsw.Connection(str(sqlite_backlog))
    steps: list[int] = []
    connection.trace_v2(
        apsw.SQLITE_TRACE_PROFILE,
        lambda event: steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
    )
    ordered_in_sqlite.ordered(connection, ORDERS[order], order, after, limit=50, most=50)
    connection.trace_v2(0, None)
    connection.close()
    assert sum(steps) < (STEPS if order is Order.STARTED_AT else 100 * FEW)

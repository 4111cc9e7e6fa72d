"""What is asked of alerts costs the same however many there have been (R2.4, R9.4)."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rota.alerting import Alert, AlertMove
from rota.clock import Ids, new_rng
from rota.contrib.embedded import EmbeddedPostgres
from rota.figures import Figure
from rota.store.sqlfiles import blocks, number
from tests.support.explain import literal, steps
from tests.support.factories import NOW
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ALERTS = 5_000
STEPS = 2_500
"""No statement may take more steps of SQLite's machine; a scan of all alerts takes 50,000."""
IDS = Ids(new_rng(1)).many(NOW, ALERTS)
ANY = {"rule": None, "queue": None, "over": None, "before": None, "limit": 50}


async def pile_up(place: Place) -> None:
    """Many alerts that are over, and a few that are not."""
    store = place.store()
    await store.migrate()
    await store.open()
    made = [
        Alert(
            id=id_,
            rule=f"rule-{n % 50}",
            figure=Figure.DEPTH,
            queue=None,
            value=1.0,
            threshold=1.0,
            since=NOW + n,
            fired_at=NOW + n,
            cleared_at=None if n >= ALERTS - 5 else NOW + n,
        )
        for n, id_ in enumerate(IDS)
    ]
    await store.move_alerts([AlertMove(alert=alert) for alert in made], NOW)
    await store.close()


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "what is open": ("open_alerts", {}, "alert_open"),
    "the newest": ("find_alerts", ANY, "alert_pkey"),
    "a page": ("find_alerts", ANY | {"before": IDS[2_500]}, "alert_pkey"),
    "what is not over": ("find_alerts", ANY | {"over": False, "limit": 5}, "alert_open"),
    "one": ("get_alert", {"id": IDS[7]}, "alert_pkey"),
    "what is old": ("forget_alerts", {"before": NOW + 50, "limit": 50}, "alert_age"),
}
"""What is asked for, the statement, its values, and the index that it goes by."""


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """A file with many alerts."""
    path: Path = tmp_path_factory.mktemp("alerts") / "rota.db"
    asyncio.run(pile_up(Place("sqlite", str(path))))
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


@pytest.mark.parametrize(("block", "values", "_"), CASES.values(), ids=CASES)
def test_sqlite_does_no_more_than_it_is_asked_for(
    sqlite: apsw.Connection, block: str, values: dict[str, Any], _: str
) -> None:
    """F13: counted, not guessed."""
    counted: list[int] = []
    sqlite.execute("begin immediate")
    sqlite.trace_v2(
        apsw.SQLITE_TRACE_PROFILE,
        lambda event: counted.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
    )
    try:
        found = sqlite.execute(blocks("sqlite")[block], values).fetchall()
    finally:
        sqlite.trace_v2(0, None)
        sqlite.execute("rollback")

    assert sum(counted) < STEPS
    assert len(found) <= 50


@pytest.fixture(scope="module")
def postgres(quick_server: EmbeddedPostgres) -> str:
    """A database with many alerts."""
    url = quick_server.create_database("alert_plans")
    asyncio.run(pile_up(Place("postgres", url)))
    asyncio.run(Place("postgres", url).run("analyze"))
    return url


@pytest.mark.parametrize(("block", "values", "index"), CASES.values(), ids=CASES)
async def test_postgres_goes_by_its_indexes(
    postgres: str, block: str, values: dict[str, Any], index: str
) -> None:
    """F13"""
    sql, names = number(blocks("postgres")[block])
    async with Place("postgres", postgres).connection() as line:
        await line.execute("set plan_cache_mode = force_custom_plan; set enable_seqscan = off")
        await line.execute(f"prepare tried as {sql}")
        arguments = ", ".join(literal(values[name]) for name in names)
        call = f"tried({arguments})" if names else "tried"
        (row,) = await line.fetch(f"explain (format json) execute {call}")
    parts = list(steps(json.loads(row[0])[0]["Plan"]))

    assert [part for part in parts if part["Node Type"] == "Seq Scan"] == []
    assert index in {part["Index Name"] for part in parts if "Index Name" in part}

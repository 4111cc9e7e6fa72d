"""What is asked of keys and of the audit record costs the same however long the record is (S17)."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rota.access import AuditEntry, AuditFilter, Key, Login, Role, Via
from rota.clock import Ids, new_rng
from rota.contrib.embedded import EmbeddedPostgres
from rota.store import access_rows
from rota.store.sqlfiles import blocks, number
from rota.store.sqlite.access import searching
from tests.support.explain import literal, steps
from tests.support.factories import NOW
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ENTRIES = 20_000
LOGINS = 300
STEPS = 20_000
"""No statement may take more steps of SQLite's machine; the record alone would take 200,000."""


async def pile_up(place: Place) -> None:
    """A long record of one busy key, in which one entry is of another and of another kind."""
    store = place.store()
    await store.migrate()
    await store.open()
    ids = Ids(new_rng(1)).many(NOW, ENTRIES)
    entries = [
        AuditEntry(
            id=id_,
            at=NOW + n,
            key_id="rare" if n == 7 else "busy",
            key_name="app",
            via=Via.KEY,
            action="key.create" if n == 7 else "task.submit",
        )
        for n, id_ in enumerate(ids)
    ]
    for n in range(0, ENTRIES, 5_000):
        await store.record(entries[n : n + 5_000])
    for n in range(20):
        await store.add_key(
            Key(id=f"key-{n}", name="app", secret_hash=b"x", roles=(Role.READ,), created_at=NOW + n)
        )
    await asyncio.gather(
        *(
            store.add_login(
                Login(
                    id_hash=hashed(n), key_id="key-1", created_at=NOW, seen_at=NOW, ends_at=NOW + n
                )
            )
            for n in range(LOGINS)
        )
    )
    await store.close()


def hashed(n: int) -> bytes:
    return hashlib.sha256(str(n).encode()).digest()


def page(**fields: Any) -> dict[str, Any]:
    return access_rows.filter_row(AuditFilter(**fields), None, 50)


CASES: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "the newest": ("read_audit", page(), {"audit_pkey"}),
    "of one kind": ("read_audit", page(action="key.create"), {"audit_action"}),
    "of one key": ("read_audit", page(key_id="rare"), {"audit_key"}),
    "a key": ("find_key", {"id": "key-7"}, set()),
    "a log-in": ("find_login", {"id_hash": hashed(7)}, {"login_pkey"}),
    "the end of a log-in": ("drop_login", {"id_hash": hashed(7)}, {"login_pkey"}),
    "the use of log-ins": (
        "touch_logins",
        {"used": access_rows.used_logins({hashed(7): NOW})},
        {"login_pkey"},
    ),
    "the use of keys": ("touch_keys", {"used": access_rows.used_keys({"key-7": NOW})}, set()),
    "a revocation": ("revoke_key", {"id": "key-7", "now": NOW}, set()),
    "old entries": ("prune_audit", {"before": NOW + 100, "limit": 50}, {"audit_age"}),
    "old log-ins": ("prune_logins", {"now": NOW + 100, "limit": 50}, {"login_end"}),
    "old keys": ("prune_access_keys", {"before": NOW}, set()),
}
"""What is asked for, the statement, its values, and the indexes of large tables that it needs."""


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path: Path = tmp_path_factory.mktemp("access") / "rota.db"
    asyncio.run(pile_up(Place("sqlite", str(path))))
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


@pytest.mark.parametrize(("block", "values", "_"), CASES.values(), ids=CASES)
def test_sqlite_does_no_more_than_it_is_asked_for(
    sqlite: apsw.Connection, block: str, values: dict[str, Any], _: set[str]
) -> None:
    """F13: counted, not guessed."""
    counted: list[int] = []
    sql = searching(values) if block == "read_audit" else blocks("sqlite")[block]
    sqlite.execute("begin immediate")
    sqlite.trace_v2(
        apsw.SQLITE_TRACE_PROFILE,
        lambda event: counted.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
    )
    try:
        found = sqlite.execute(sql, values).fetchall()
    finally:
        sqlite.trace_v2(0, None)
        sqlite.execute("rollback")

    assert sum(counted) < STEPS
    assert len(found) <= 50


@pytest.fixture(scope="module")
def postgres(quick_server: EmbeddedPostgres) -> str:
    url = quick_server.create_database("access_plans")
    asyncio.run(pile_up(Place("postgres", url)))
    asyncio.run(Place("postgres", url).run("analyze"))
    return url


@pytest.mark.parametrize(("block", "values", "indexes"), CASES.values(), ids=CASES)
async def test_postgres_goes_by_its_indexes(
    postgres: str, block: str, values: dict[str, Any], indexes: set[str]
) -> None:
    """F13, B170."""
    sql, names = number(blocks("postgres")[block])
    async with Place("postgres", postgres).connection() as line:
        await line.execute("set plan_cache_mode = force_custom_plan")
        if block != "read_audit":  # as on the lines that these go by
            await line.execute("set enable_seqscan = off")
        await line.execute(f"prepare tried as {sql}")
        arguments = ", ".join(written(values[name]) for name in names)
        (row,) = await line.fetch(f"explain (format json) execute tried({arguments})")
    parts = list(steps(json.loads(row[0])[0]["Plan"]))
    read_whole = {part["Relation Name"] for part in parts if part["Node Type"] == "Seq Scan"}
    assert read_whole <= {"access_key"}
    assert indexes <= {part["Index Name"] for part in parts if "Index Name" in part}


def written(value: Any) -> str:
    return f"'\\x{value.hex()}'::bytea" if isinstance(value, bytes) else literal(value)

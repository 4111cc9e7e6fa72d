"""What PostgreSQL does for each statement follows what it is asked for, never the backlog."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec import Struct

from rota.config import ERRORS_KEPT, LEASE, LEVEL, MINUTE
from rota.contrib.embedded import EmbeddedPostgres
from rota.store.postgres.address import Address
from rota.store.postgres.connections import Lines, Role
from rota.store.sqlfiles import blocks, number
from tests.conformance.backlog import (
    DUE,
    DUE_AT,
    HELD_BY_IT,
    LIVE_SESSION,
    OF_EACH,
    ROWS,
    pile_up,
)
from tests.support.factories import NOW
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGES = 1500
"""No statement here may touch more; each of the large tables has more than twice as many."""


class Plan(Struct, frozen=True):
    """A statement, the line that it runs on, and the indexes that it must go by."""

    block: str
    role: Role
    indexes: set[str]
    sorts: bool = False
    """Whether it may sort: what a session holds or a batch counts, never a backlog."""


EVERY_KEY = {"ready_pkey", "scheduled_pkey", "dead_letter_pkey", "finished_default_pkey"}
HOT = [
    Plan("next_lanes", Role.CLAIM, {"ready_lane"}),
    Plan("take", Role.CLAIM, {"ready_lane", "session_pkey"}),
    Plan("held", Role.CLAIM, {"ready_held"}, sorts=True),
    Plan("to_completed", Role.FINISH, {"ready_pkey"}, sorts=True),
    Plan("to_cancelled", Role.FINISH, {"ready_pkey"}, sorts=True),
    Plan("to_scheduled", Role.FINISH, {"ready_pkey"}),
    Plan("to_ready", Role.FINISH, {"ready_pkey"}),
    Plan("to_failed", Role.FINISH, {"ready_pkey"}, sorts=True),
    Plan("known_ids", Role.SUBMIT, EVERY_KEY),
    Plan("key_holders", Role.SUBMIT, {"task_key_pkey"}),
    Plan("stage", Role.DUTY, {"scheduled_due"}),
    Plan("next_due", Role.DUTY, {"scheduled_due"}),
    Plan("renew_session", Role.DUTY, {"session_pkey"}),
    Plan("asked_cancels", Role.DUTY, {"ready_asked"}, sorts=True),
    Plan("note", Role.FINISH, {"ready_pkey"}),
    Plan("to_nothing", Role.FINISH, {"ready_pkey"}, sorts=True),
    Plan("revoke_overdue", Role.DUTY, {"ready_overdue"}, sorts=True),
]
OTHERS = [
    Plan("end_expired_sessions", Role.DUTY, {"session_pkey"}, sorts=True),
    Plan("ended_sessions_holding", Role.DUTY, {"ready_held"}, sorts=True),
    Plan("cancel", Role.CALL, {"scheduled_pkey", "ready_pkey"}, sorts=True),
    Plan("retry_scheduled", Role.DUTY, {"scheduled_pkey"}),
    Plan("retry_failed", Role.DUTY, {"dead_letter_pkey"}),
    Plan("states_of", Role.DUTY, EVERY_KEY),
    Plan("prune_finished", Role.DUTY, {"finished_default_finished_at_idx"}),
    Plan("expire_ready", Role.DUTY, {"ready_expiry", "ready_asked"}, sorts=True),
    Plan("expire_scheduled", Role.DUTY, {"scheduled_expiry", "scheduled_asked"}, sorts=True),
    Plan("prune_keys", Role.DUTY, {"task_key_expires"}),
    Plan("prune_dead_letters", Role.DUTY, {"dead_letter_age", "dead_letter_discarded"}),
    Plan("prune_tallies", Role.DUTY, {"tally_pkey"}),
    Plan("read_tallies", Role.READ, {"tally_pkey"}, sorts=True),
    Plan("replay", Role.DUTY, {"dead_letter_pkey"}),
    Plan("replayed_as", Role.DUTY, {"dead_letter_pkey"}),
    Plan("discard", Role.DUTY, {"dead_letter_pkey"}),
    Plan("ahead", Role.READ, {"ready_pkey", "ready_lane"}),
    Plan("get", Role.READ, EVERY_KEY),
]

_IDS = [*HELD_BY_IT, *OF_EACH]
VALUES: dict[str, Any] = {
    "queues": ["sms", "mail"],
    "classes": [2, 1],
    "starts": ["", "school-150"],
    "tenants": ["board", "school-13"],
    "counts": [20, 5],
    "avoid": ["unknown"],
    "limit": DUE,
    "session": LIVE_SESSION,
    "ids": _IDS,
    "fences": [1] * len(_IDS),
    "run_ats": [NOW] * len(_IDS),
    "ranks": [NOW] * len(_IDS),
    "attempts": [1] * len(_IDS),
    "losts": [0] * len(_IDS),
    "snoozes": [0] * len(_IDS),
    "results": None,
    "errors": None,
    "reasons": None,
    "groups": None,
    "error_types": None,
    "error_shapes": None,
    "kept": ERRORS_KEPT,
    "due": _IDS,
    "later": _IDS,
    "made_since": NOW,
    "kinds": ["send_result", "send_result"],
    "keys": ["hold-1", "hold-2"],
    "lease_until": NOW + LEASE,
    "since": NOW,
    "until": NOW + 50,
    "queue": None,
    "state": "completed",
    "others": ["audit"],
    "failed_before": NOW + 50,
    "discarded_before": NOW + 50,
    "before": NOW - 1000 * MINUTE,
    "minute": NOW - 30 * MINUTE,
    "dones": None,
    "totals": None,
    "checkpoints": None,
    "copies": [f"f{task_id[1:]}" for task_id in _IDS],
    "deadline": NOW,
    "asked": "cancelled by request",
    "expired": "expired",
    "id": OF_EACH[0],
    "cap": 1000,
    "reason": "cancelled by request",
    "level": LEVEL,
    "now": NOW,
}


def named(plan: Plan) -> str:
    return plan.block


def literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "'{" + ",".join(f'"{item}"' for item in value) + "}'"
    return str(value) if isinstance(value, int) else f"'{value}'"


async def explain(connection: Any, block: str, **values: Any) -> dict[str, Any]:
    """Run a block as the store would have it prepared, undo it, and return its plan."""
    sql, names = number(blocks("postgres")[block])
    given = VALUES | values
    arguments = ", ".join(literal(given[name]) for name in names)
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(f"prepare tried as {sql}")
        call = f"execute tried({arguments})" if names else "execute tried"
        rows = await connection.fetch(f"explain (analyze, buffers, format json) {call}")
        await connection.execute("deallocate tried")
    finally:
        await transaction.rollback()
    plan: dict[str, Any] = json.loads(rows[0][0])[0]["Plan"]
    return plan


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps(part)


def touched(plan: dict[str, Any]) -> int:
    """How many pages a plan touched, in memory or on the disk."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def assert_follows_its_indexes(wanted: Plan, found: dict[str, Any]) -> None:
    parts = list(steps(found))
    scanned = {part["Relation Name"] for part in parts if part["Node Type"] == "Seq Scan"}
    used = {part["Index Name"] for part in parts if "Index Name" in part}
    kinds = {part["Node Type"] for part in parts}
    assert scanned <= {"session"}
    assert wanted.indexes <= used
    assert wanted.sorts or not kinds & {"Sort", "Incremental Sort", "Hash Join", "Merge Join"}
    assert touched(found) <= PAGES


@pytest.fixture(scope="module")
def backlog() -> Iterator[str]:
    """The address of a database with a backlog, about which PostgreSQL has no statistics yet."""
    settings = {"fsync": "off", "autovacuum": "off", "shared_buffers": "256MB"}
    with EmbeddedPostgres(settings) as server:
        asyncio.run(pile_up(Place("postgres", server.url)))
        yield server.url


@pytest.fixture(scope="module", params=["unknown", "gathered"])
def statistics(request: pytest.FixtureRequest, backlog: str) -> str:
    """The same, before and after what autovacuum does to tables that have grown."""
    if request.param == "gathered":
        asyncio.run(Place("postgres", backlog).run("vacuum analyze"))
    return backlog


def values_for(plan: Plan) -> dict[str, Any]:
    due = ("stage", "revoke_overdue", "expire_ready", "expire_scheduled")
    return {"now": DUE_AT} if plan.block in due else {}


async def on_the_store_s_line(url: str, plan: Plan, **values: Any) -> dict[str, Any]:
    lines = Lines(Address(url))
    try:
        return await lines.run(plan.role, lambda line: explain(line, plan.block, **values))
    finally:
        await lines.close()


@pytest.mark.parametrize("plan", HOT, ids=named)
async def test_a_hot_statement_follows_its_indexes(statistics: str, plan: Plan) -> None:
    """F13, R2.4, R7.3: also before the first statistics have been gathered."""
    found = await on_the_store_s_line(statistics, plan, **values_for(plan))

    assert_follows_its_indexes(plan, found)


@pytest.mark.parametrize("statistics", ["gathered"], indirect=True)
@pytest.mark.parametrize("plan", OTHERS, ids=named)
async def test_every_other_statement_follows_its_indexes(statistics: str, plan: Plan) -> None:
    """R2.4, B170."""
    found = await on_the_store_s_line(statistics, plan)

    assert_follows_its_indexes(plan, found)


@pytest.mark.parametrize("statistics", ["gathered"], indirect=True)
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("plan", HOT, ids=named)
async def test_a_hot_statement_needs_no_help_from_settings(
    statistics: str, plan: Plan, mode: str
) -> None:
    """B155: a pooler drops them; the planner finds the same way by itself."""
    async with Place("postgres", statistics).connection() as connection:
        await connection.execute(f"set plan_cache_mode = {mode}")

        found = await explain(connection, plan.block, **values_for(plan))

    assert_follows_its_indexes(plan, found)


async def test_the_large_tables_are_large(backlog: str) -> None:
    """A bound that nothing could break would prove nothing."""
    sizes = await Place("postgres", backlog).rows("""
        select relname, pg_relation_size(oid) / 8192 from pg_class
        where relname in ('ready', 'scheduled', 'finished_default')
    """)

    assert min(pages for _, pages in sizes) > 2 * PAGES
    assert len(sizes) == 3


async def test_a_claim_locks_exactly_what_it_takes(statistics: str) -> None:
    """B151: five claimers at once, twenty each, out of 200,000."""
    place = Place("postgres", statistics)
    sql, names = number(blocks("postgres")["take"])
    wanted = VALUES | {"queues": ["sms"], "classes": [2], "tenants": ["board"], "counts": [20]}
    taken = []
    async with AsyncExitStack() as open_transactions:
        for _ in range(5):
            claimer = await open_transactions.enter_async_context(place.connection())
            await claimer.transaction().start()
            taken += await claimer.fetch(sql, *(wanted[name] for name in names))

        unlocked = (
            "select 1 from ready where session is null and cancel_requested_at is null"
            " for update skip locked"
        )
        free = await place.value(f"with free as ({unlocked}) select count(*) from free")

    assert len({row[0] for row in taken}) == 100
    assert ROWS - free == 100


async def test_a_claim_reads_no_more_than_it_takes(statistics: str) -> None:
    """B151, F13: twenty rows out of a lane of hundreds."""
    take = HOT[1]

    found = await on_the_store_s_line(
        statistics, take, queues=["sms"], classes=[2], tenants=["board"], counts=[20]
    )

    read = [part for part in steps(found) if part.get("Index Name") == "ready_lane"]
    assert [part["Actual Rows"] * part["Actual Loops"] for part in read] == [20]
    assert not any(part.get("Rows Removed by Filter") for part in read)


async def test_staging_touches_what_is_due(statistics: str) -> None:
    """B152: 100 due among 200,000."""
    stage = next(plan for plan in HOT if plan.block == "stage")

    found = await on_the_store_s_line(statistics, stage, now=DUE_AT, limit=1000)

    due = [part for part in steps(found) if part.get("Index Name") == "scheduled_due"]
    assert [part["Actual Rows"] * part["Actual Loops"] for part in due] == [DUE]
    assert not any(part.get("Rows Removed by Filter") for part in due)
    assert touched(found) < 15 * DUE

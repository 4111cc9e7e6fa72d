"""What PostgreSQL does for each statement follows what it is asked for, never the backlog."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec import Struct, structs

from rota.config import ERRORS_KEPT, LEASE, LEVEL, MINUTE
from rota.figures import Counted
from rota.service import REST, Got
from rota.store import statistic_rows
from rota.store.postgres.address import Address
from rota.store.postgres.connections import Lines, Role
from rota.store.schedule_rows import columns, to_json
from rota.store.sqlfiles import blocks, number
from tests.conformance.backlog import (
    CHATTY,
    CROWDED,
    DUE,
    DUE_AT,
    HELD,
    HELD_BY_IT,
    LIVE_SESSION,
    OF_EACH,
    QUIET,
    ROWS,
    SCHEDULE,
    SESSIONS,
    task_id,
)
from tests.support.explain import literal, steps, touched
from tests.support.factories import NOW, Make
from tests.support.places import Place
from tests.support.schedules import a_schedule, firing, slot

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
    Plan("take_numbered", Role.CLAIM, {"ready_lane", "session_pkey"}),
    Plan("standing", Role.CLAIM, {"session_pkey"}),
    Plan("begin_claim", Role.CLAIM, {"session_pkey"}),
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
    Plan("waiting_gates", Role.DUTY, {"scheduled_gate"}),
    Plan("gate_use", Role.READ, {"ready_gate", "scheduled_gate"}),
    Plan("renew_session", Role.DUTY, {"session_pkey"}),
    Plan("asked_cancels", Role.DUTY, {"ready_asked"}, sorts=True),
    Plan("note", Role.FINISH, {"ready_pkey"}),
    Plan("to_nothing", Role.FINISH, {"ready_pkey"}, sorts=True),
    Plan("revoke_overdue", Role.DUTY, {"ready_overdue"}, sorts=True),
    Plan("due_schedules", Role.FIRE, {"schedule_due", "ready_schedule", "scheduled_schedule"}),
    Plan("next_firing", Role.DUTY, {"schedule_due"}),
    Plan("schedules_behind", Role.DUTY, {"schedule_due"}),
    Plan("live", Role.DUTY, {"ready_schedule", "scheduled_schedule"}, sorts=True),
    Plan("queues_with_work", Role.CLAIM, {"ready_lane"}),
]
OTHERS = [
    Plan("add_statistics", Role.DUTY, set(), sorts=True),
    Plan("read_statistics", Role.READ, {"statistic_pkey"}, sorts=True),
    Plan("read_ended", Role.READ, {"tally_pkey"}, sorts=True),
    Plan("prune_statistics", Role.DUTY, {"statistic_pkey"}, sorts=True),
    Plan("add_service", Role.DUTY, set(), sorts=True),
    Plan("service_totals", Role.READ, {"service_pkey"}, sorts=True),
    Plan("read_service", Role.READ, {"service_pkey"}, sorts=True),
    Plan("prune_service", Role.DUTY, {"service_pkey"}, sorts=True),
    Plan("oldest_ready", Role.FIRE, {"ready_lane"}, sorts=True),
    Plan("open_dead_letters", Role.FIRE, {"dead_letter_open"}, sorts=True),
    Plan("holdings", Role.FIRE, {"ready_held"}, sorts=True),
    Plan("served", Role.CALL, {"finished_default_finished_at_idx"}, sorts=True),
    Plan("waiting_kinds", Role.CALL, {"ready_lane"}, sorts=True),
    Plan("held_counts", Role.CALL, {"ready_held"}, sorts=True),
    Plan("overrunning", Role.CALL, {"ready_held"}, sorts=True),
    Plan("late_schedules", Role.CALL, {"schedule_due"}),
    Plan("recent_dead_letters", Role.CALL, {"dead_letter_age"}),
    Plan("end_claim", Role.CALL, {"session_pkey"}),
    Plan("drain_session", Role.CALL, {"session_pkey"}),
    Plan("end_expired_sessions", Role.DUTY, {"session_pkey"}, sorts=True),
    Plan("ended_sessions_holding", Role.DUTY, {"ready_held"}, sorts=True),
    Plan("placed", Role.CALL, EVERY_KEY),
    Plan("amend", Role.CALL, {"scheduled_pkey", "ready_pkey"}, sorts=True),
    Plan("delete_over", Role.CALL, {"dead_letter_pkey", "finished_default_pkey"}),
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
    Plan("queue_depths", Role.SUBMIT, {"ready_lane"}),
    Plan("tenant_depths", Role.SUBMIT, {"ready_lane"}),
    Plan("has_schedule", Role.CALL, {"schedule_pkey"}),
    Plan("change_schedule", Role.CALL, {"schedule_pkey", "schedule_name_key"}),
    Plan("remove_schedule", Role.CALL, {"schedule_pkey"}),
    Plan("get_schedules", Role.READ, {"schedule_pkey", "schedule_name_key"}),
    Plan("find_schedules", Role.READ, {"schedule_name_key"}),
    Plan("outdated_schedules", Role.DUTY, {"schedule_tz_data"}),
    Plan("slots", Role.READ, {"slot_pkey", "skip_slot"}, sorts=True),
    Plan("slots_of", Role.READ, {"slot_pkey", "skip_slot"}, sorts=True),
    Plan("slot_tasks", Role.READ, EVERY_KEY),
    Plan("forget_slots", Role.CALL, {"slot_pkey"}),
    Plan("forget_skips", Role.CALL, {"skip_slot"}),
    Plan("prune_slots", Role.DUTY, {"slot_age"}),
    Plan("prune_skips", Role.DUTY, {"skip_age"}),
]

_IDS = [*HELD_BY_IT, *OF_EACH]
STATISTICS = statistic_rows.to_json(
    [Counted(NOW - n * MINUTE, MINUTE, "sms", "send_result", {0: 1}) for n in range(20)]
)
SERVICE = statistic_rows.packed([Got(NOW, MINUTE, f"t{n}", 1, 1) for n in range(200)])
VALUES: dict[str, Any] = {
    "rest": REST,
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
    "number": 1,
    "since": NOW,
    "newest": 1_000,
    "tenants_most": 20,
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
    "key": CROWDED,
    "after": "gate-2",
    "reason": "cancelled by request",
    "level": LEVEL,
    "now": NOW,
    **columns(structs.replace(a_schedule(Make(), "report-7"), id=task_id(SCHEDULE, 7))),
    "old_version": 1,
    "old_cursor": NOW,
    "skips": '[{"first":1,"last":1,"count":1,"state":"skipped:paused"}]',
    "more_skipped": 1,
    "names": ["report-7", "report-8"],
    "paused": None,
    "paused_tenants": ["board"],
    "paused_kinds": [],
    "span": MINUTE,
    "step": MINUTE,
    "by_queue": True,
    "by_kind": False,
    "apart": MINUTE,
    "rows": STATISTICS,
    "version": 0,
    "old_queues": ["sms"] * len(_IDS),
    "old_priorities": [5] * len(_IDS),
    "old_run_ats": [NOW] * len(_IDS),
    "priorities": [1] * len(_IDS),
    "with_timeout": "true",
    "timeout": MINUTE,
    "with_tags": "true",
    "tags": ["vip"],
} | {"kind": None, "source": None, "tenant": None, "id": OF_EACH[0]}
OF_SCHEDULES = {"slots", "forget_slots", "forget_skips", "has_schedule", "remove_schedule"}
"""Statements of which `id` is that of a schedule."""


def named(plan: Plan) -> str:
    return plan.block


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


def assert_follows_its_indexes(wanted: Plan, found: dict[str, Any]) -> None:
    parts = list(steps(found))
    scanned = {part["Relation Name"] for part in parts if part["Node Type"] == "Seq Scan"}
    used = {part["Index Name"] for part in parts if "Index Name" in part}
    kinds = {part["Node Type"] for part in parts}
    assert scanned <= {"session", "settings_version"}
    assert wanted.indexes <= used
    assert wanted.sorts or not kinds & {"Sort", "Incremental Sort", "Hash Join", "Merge Join"}
    assert touched(found) <= PAGES


@pytest.fixture(scope="module", params=["unknown", "gathered"])
def statistics(request: pytest.FixtureRequest, postgres_backlog: str) -> str:
    """The same, before and after what autovacuum does to tables that have grown."""
    if request.param == "gathered":
        asyncio.run(Place("postgres", postgres_backlog).run("vacuum analyze"))
    return postgres_backlog


OTHERWISE: dict[str, dict[str, Any]] = {
    "add_service": {"rows": SERVICE},
    "served": {"since": NOW + ROWS - 100},
    "waiting_kinds": {"queues": ["sms"]},
}
"""Statements in which these names mean something else."""


def values_for(plan: Plan) -> dict[str, Any]:
    if plan.block in ("read_statistics", "read_ended", "service_totals", "read_service"):
        return {"since": NOW - 60 * MINUTE, "until": NOW}
    if plan.block in OTHERWISE:
        return OTHERWISE[plan.block]
    if plan.block == "amend":
        return {"queues": ["sms"] * len(_IDS), "classes": [1] * len(_IDS)}
    due = ("stage", "revoke_overdue", "expire_ready", "expire_scheduled", "due_schedules")
    if plan.block == "live":
        return {"ids": [task_id(SCHEDULE, n) for n in range(1, 101)]}
    if plan.block == "slots_of":
        return {"ids": [CHATTY], "before": NOW - 50, "limit": 30}
    if plan.block in ("queue_depths", "tenant_depths"):
        return {"names": ["board", "sms", "school-7"]}
    if plan.block in OF_SCHEDULES:
        return {"id": CHATTY, "before": NOW - 50}
    if plan.block in ("prune_slots", "prune_skips"):
        return {"before": NOW - 1000}
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
    found = await on_the_store_s_line(statistics, plan, **values_for(plan))

    assert_follows_its_indexes(plan, found)


@pytest.mark.parametrize("statistics", ["gathered"], indirect=True)
async def test_groups_of_dead_letters_look_further_in_their_index(statistics: str) -> None:
    """R4.4: all are counted at once; whose the newest are, and their hours, the index tells."""
    plan = Plan("dead_letter_groups", Role.READ, {"dead_letter_open"}, sorts=True)
    found = await on_the_store_s_line(statistics, plan, limit=10, since=NOW + ROWS - 100)

    read = [part for part in steps(found) if part.get("Relation Name") == "dead_letter"]
    assert [part["Node Type"] for part in read].count("Seq Scan") <= 1
    looks = [part["Actual Rows"] for part in read if part.get("Index Name") in plan.indexes]
    assert len(looks) == 2, read
    assert max(looks) <= 1_000, read


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


async def test_the_large_tables_are_large(postgres_backlog: str) -> None:
    """A bound that nothing could break would prove nothing."""
    sizes = await Place("postgres", postgres_backlog).rows("""
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


async def test_a_gate_costs_the_same_however_many_wait_at_it(statistics: str) -> None:
    """F13, R7.4: a hundred thousand at one gate, ten at another."""
    found = {gate: await explain_admit(statistics, [gate]) for gate in (QUIET, CROWDED, "unknown")}

    assert found[CROWDED] <= found[QUIET] + 30
    assert found["unknown"] < found[QUIET] < 200


async def test_five_hundred_gates_cost_five_hundred_looks(statistics: str) -> None:
    """R7.4: one page of ten thousand gates with a task waiting at each."""
    gates = [f"gate-{n}" for n in range(1, 501)]

    assert await explain_admit(statistics, gates) < 80 * len(gates)


async def test_a_claim_under_limits_costs_the_same_however_much_is_ready(statistics: str) -> None:
    """F13, R7.3, R7.4: a lane of a hundred, a lane of ten thousand; 2,000 run in 400 sessions."""
    lanes = {tenant: (["sms"], [2], [tenant], [20]) for tenant in ("school-14", "board")}

    small, large = [await explain_limited(statistics, lane, ["sms"]) for lane in lanes.values()]

    assert abs(large - small) <= 200
    assert large < 8 * SESSIONS


async def test_three_hundred_limits_count_what_runs_once(statistics: str) -> None:
    """R7.4: each tenant has its own; to look for each in 400 sessions would be 120,000 looks."""
    tenants = [f"school-{n}" for n in range(1, 251)]
    lanes = (["sms"] * 250, [2] * 250, tenants, [1] * 250)

    assert await explain_limited(statistics, lanes, tenants) < 4 * HELD + 40 * 250


async def explain_limited(url: str, lanes: tuple[Any, ...], limits: list[str]) -> int:
    """How many pages a limited claim takes, after a first one in which the plans are made.

    Nothing is read whole on the way.
    """
    scans = (
        "select coalesce(sum(seq_scan), 0) from pg_stat_xact_user_tables where schemaname = 'rota'"
        " and relname in ('ready', 'scheduled', 'finished_default', 'lane_limit')"
    )
    bound = list(range(1, len(limits) + 1))
    given = dict(zip(("queues", "classes", "tenants", "counts"), lanes, strict=True))

    async def measured(line: Any) -> tuple[int, int]:
        await explain(line, "take_limited", **given, bound=bound, limits=limits)
        before = await line.fetchval(scans)
        found = await explain(line, "take_limited", **given, bound=bound, limits=limits)
        return touched(found), await line.fetchval(scans) - before

    lines = Lines(Address(url))
    try:
        pages, read_whole = await lines.run(Role.CLAIM, measured)
    finally:
        await lines.close()
    assert read_whole == 0
    return pages


async def explain_admit(url: str, gates: list[str]) -> int:
    """How many pages it takes to let in, after a first time in which the plans are made."""
    lines = Lines(Address(url))
    try:

        async def twice(line: Any) -> int:
            await explain(line, "admit", keys=gates)
            return touched(await explain(line, "admit", keys=gates))

        return await lines.run(Role.FINISH, twice)
    finally:
        await lines.close()


async def test_firing_costs_the_same_however_many_schedules_there_are(statistics: str) -> None:
    """F13, F50: fifty of a hundred thousand; not one table is read from end to end."""
    make = Make()
    known = [a_schedule(make, id=task_id(SCHEDULE, n), cursor=NOW) for n in range(1, 51)]
    firings = to_json([firing(make, each, slot(1)) for each in known])
    lines = Lines(Address(statistics))
    scans = "select sum(seq_scan) from pg_stat_xact_user_tables where schemaname = 'rota'"

    async def fired(line: Any) -> tuple[int, int]:
        sql, _ = number(blocks("postgres")["fire"])
        transaction = line.transaction()
        await transaction.start()
        before = await line.fetchval(scans)
        explained = f"explain (analyze, buffers, format json) {sql}"
        rows = await line.fetch(explained, firings, slot(1), 10_000, "later")
        read_whole = await line.fetchval(scans) - before
        applied = await line.fetchval("select count(*) from rota.slot where fired_at = $1", slot(1))
        await transaction.rollback()
        assert applied == 50
        return touched(json.loads(rows[0][0])[0]["Plan"]), read_whole

    try:
        await lines.run(Role.FIRE, fired)
        pages, read_whole = await lines.run(Role.FIRE, fired)
    finally:
        await lines.close()

    assert read_whole == 0
    assert pages < 150 * 50

"""What SQLite does for each statement follows what it is asked for, never the backlog."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from rota.config import ERRORS_KEPT, LEASE, LEVEL, MINUTE
from rota.figures import Counted
from rota.model import Lane, PriorityClass, Share, State, Transition
from rota.service import REST, Got
from rota.store import statistic_rows
from rota.store.schedule_rows import columns
from rota.store.sqlfiles import blocks
from tests.conformance.backlog import (
    CHATTY,
    CROWDED,
    DUE,
    DUE_AT,
    GROUPS,
    HELD_BY_IT,
    LIVE_SESSION,
    OF_EACH,
    QUIET,
    ROWS,
    SCHEDULE,
    task_id,
)
from tests.support.factories import NOW, Make
from tests.support.schedules import a_schedule

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STEPS = 60_000
"""No statement may take more steps of SQLite's machine; a scan of a table takes over a million."""

SOME = [task_id(SCHEDULE, n) for n in range(7, 107)]
_IDS = [*HELD_BY_IT, *OF_EACH]
_REPORTS = [Transition(task_id, 1, State.COMPLETED, result="1") for task_id in _IDS]
_LANES = [
    Lane("sms", PriorityClass.NORMAL, "board"),
    Lane("mail", PriorityClass.HIGH, "school-13"),
]
_LOOKS = [{"queue": lane.queue, "class": lane.cls, "start": lane.tenant} for lane in _LANES]


def packed(value: Any) -> str:
    return msgspec.json.encode(value).decode()


STATISTICS = statistic_rows.to_json(
    [Counted(NOW - n * MINUTE, MINUTE, "sms", "send_result", {0: 1}) for n in range(20)]
)
VALUES: dict[str, Any] = {
    "rows": STATISTICS,
    "span": MINUTE,
    "step": MINUTE,
    "until": NOW,
    "by_queue": True,
    "by_kind": False,
    "apart": MINUTE,
    "paused_tenants": packed(["board"]),
    "paused_kinds": packed([]),
    "since": NOW,
    "newest": 1_000,
    "tenants_most": 20,
    "looks": packed(_LOOKS),
    "shares": packed([Share(lane, 20) for lane in _LANES]),
    "avoid": "[]",
    "limit": DUE,
    "session": LIVE_SESSION,
    "ids": packed(_IDS),
    "reports": packed(_REPORTS),
    "held": packed([(task_id, 1) for task_id in HELD_BY_IT]),
    "picked": packed(list(range(1, 21))),
    "tasks": packed([Make().keyed(f"hold-{n}") for n in range(20)]),
    "kept": ERRORS_KEPT,
    "lease_until": NOW + LEASE,
    "number": 1,
    "completed_before": NOW + 50,
    "cancelled_before": NOW + 50,
    "failed_before": NOW + 50,
    "discarded_before": NOW + 50,
    "queues_before": packed({"mail": NOW + 20}),
    "minute": NOW - 30 * MINUTE,
    "before": NOW - 1000 * MINUTE,
    "last": 1000,
    "added": 500,
    "deadline": NOW,
    "asked": "cancelled by request",
    "expired": "expired",
    "id": OF_EACH[0],
    "cap": 1000,
    "keys": packed([CROWDED, QUIET, *(f"gate-{n}" for n in range(20))]),
    "most": 100,
    "after": "gate-2",
    "payload": "{}",
    "copies": packed([{"id": task_id, "copy": "f" + task_id[1:]} for task_id in OF_EACH]),
    "ended_before": NOW,
    "reason": "cancelled by request",
    "level": LEVEL,
    "live_at": NOW,
    "key": "effect-1",
    "at": NOW,
    "now": NOW,
    "kind": None,
    "source": None,
    "tenant": None,
    "paused": None,
    "old_version": 1,
    "old_cursor": NOW,
    "more_skipped": 1,
    "tz_data": "2026a",
    "names": packed(["report-7", "report-8", *SOME]),
    "expected": packed([(schedule, 1, NOW) for schedule in SOME]),
    "changes": packed([{"id": id_, "cursor": NOW, "fired": 1, "skipped": 0} for id_ in SOME]),
    "runs": packed([{"schedule": id_, "slot": NOW + 1, "task_id": id_} for id_ in SOME]),
    "skips": packed([{"schedule": id_, "first": 1, "last": 1, "state": "x"} for id_ in SOME]),
    "backfilled": False,
    "used": packed([{"id": f"school-{n}", "tokens": 1.5, "filled_at": NOW} for n in range(100)]),
    "noun": "tenant",
    "name": "school-7",
    "body": "{}",
    "queue": None,
    "max_running": 3,
    "rate": None,
    "burst": None,
    "filled_at": NOW,
    "moves": packed(
        [{"id": id_, "queue": "sms", "priority": 1, "run_at": NOW, "rank": NOW} for id_ in OF_EACH]
    ),
    "with_timeout": True,
    "timeout": MINUTE,
    "with_tags": True,
    "tags": None,
}
ACTION: dict[str, Any] = {
    "id": SOME[0],
    "queues": None,
    "before_id": None,
    "after": None,
    "done": 1,
    "changed": 1,
    "skipped": "{}",
    "error": None,
    "next_at": NOW,
    "state": "running",
    "ended_at": None,
    "hold": 1,
    "until": NOW,
}
SUBMISSION: dict[str, Any] = {
    "scope": "*",
    "operation": "batch",
    "key": "r-1",
    "fingerprint": "f",
    "task_ids": "[]",
    "created_at": NOW,
    "key_until": NOW,
    "keep_until": NOW,
}
LIMITS = packed([f"school-{n}" for n in range(100)])
OTHERWISE: dict[str, dict[str, Any]] = {
    "add_service": {"rows": packed([Got(NOW, MINUTE, f"t{n}", 1, 1) for n in range(200)])},
    "service_totals": {"since": NOW - 60 * MINUTE},
    "read_service": {
        "since": NOW - 60 * MINUTE,
        "tenants": packed(["board", "school-7"]),
        "rest": REST,
    },
    "read_statistics": {"since": NOW - 60 * MINUTE},
    "read_ended": {"since": NOW - 60 * MINUTE},
    "tick": {"names": packed(["fire", "stage"])},
    "limit_use": {"ids": LIMITS},
    "keep_submission": SUBMISSION,
    "keep_submissions": {
        "submissions": packed(
            [SUBMISSION | {"id": id_, "key": f"r-{n}"} for n, id_ in enumerate(OF_EACH)]
        )
    },
    "keep_batch": SUBMISSION,
    "set_submission_tasks": SUBMISSION,
    "find_submission": SUBMISSION,
    "free_submission_key": SUBMISSION,
    **dict.fromkeys(("get_action", "list_actions", "hold_action", "note_run"), ACTION),
    "put_limit": {"id": "school-7", "tenant": "school-7"},
    "drop_limit": {"id": "school-7"},
    "queue_depths": {"names": packed(["sms", "mail"])},
    "tenant_depths": {"names": packed(["board", "school-7"])},
    "live": {"ids": packed(SOME)},
    "live_ids": {"ids": packed(SOME)},
    "slots": {"id": CHATTY, "before": NOW - 50},
    "slots_of": {"ids": packed([CHATTY]), "before": NOW - 50},
    "forget_slots": {"id": CHATTY},
    "forget_skips": {"id": CHATTY},
    "prune_slots": {"before": NOW - 1000},
    "prune_skips": {"before": NOW - 1000},
    "has_schedule": {"id": CHATTY},
    "remove_schedule": {"id": CHATTY},
    "change_schedule": columns(a_schedule(Make(), "report-7", id=SOME[0])),
}
"""Statements in which these names mean something else."""

SMALL = re.compile(
    r"SCAN (.*VIRTUAL TABLE|session\b|duty\b|setting\b|settings_version\b|lane_limit\b|"
    r"walk\b|hop\b|wanted\b|gate\b|line\b|CONSTANT ROW|\()"
)
"""What may be read whole: what was asked for, the sessions, what a statement has found,
and in `settings` all that there are."""
WALKED = {"open_dead_letters": ["SCAN dead_letter USING COVERING INDEX dead_letter_open"]}
"""What goes along an index made for it, as far as a limit says."""
VIEW = {"get", "states_of", "slot_tasks"}
"""Statements that read the view `task`; its parts are entered by id, their union is read whole."""


@pytest.fixture(scope="module", params=["unknown", "analyzed"])
def connection(request: pytest.FixtureRequest, sqlite_backlog: Path) -> Iterator[apsw.Connection]:
    """The same, before and after statistics were gathered."""
    connection = apsw.Connection(str(sqlite_backlog))
    if request.param == "analyzed":
        connection.execute("analyze")
    yield connection
    connection.close()


def bound(connection: apsw.Connection, block: str) -> dict[str, Any]:
    """The values for the parameters of a block, and for no others."""
    names = set(re.findall(r"(?<![:\w]):([a-z_]+)", blocks("sqlite")[block]))
    values = VALUES | ({"now": DUE_AT} if block in AT_DUE else {}) | OTHERWISE.get(block, {})
    return {name: values[name] for name in names}


def work(connection: apsw.Connection, block: str, **given: Any) -> int:
    """Run a block, undo it, and return how many steps SQLite's machine took."""
    steps: list[int] = []

    def count(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    values = bound(connection, block) | given
    connection.execute("begin immediate")
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    try:
        connection.execute(blocks("sqlite")[block], values).fetchall()
    finally:
        connection.trace_v2(0, None)
        connection.execute("rollback")
    return sum(steps)


AT_DUE = {"due_ids", "overdue_ids", "expired_ready_ids", "expired_scheduled_ids", "due_schedules"}
"""Statements that find what an instant has made due."""
SKIPPED = {
    *("open_session", "begin_action", "insert_ready", "insert_scheduled", "create_schedule"),
    "note_skips",
}
"""Plain inserts have no plan."""
COUNTED = {"dead_letter_groups"}
"""Statements that count everything that there is, in an index made for it."""
OF_ACCESS = {
    *("add_key", "list_keys", "find_key", "revoke_key", "touch_keys", "prune_access_keys"),
    *("add_login", "find_login", "touch_logins", "drop_login", "prune_logins"),
    *("record", "read_audit", "prune_audit", "keep_secret", "read_secret"),
}
"""Statements on tables that are not piled up here: see test_plans_access."""
OF_ALERTS = {
    *("take_alert_turn", "alert_rules", "put_alert_rule", "drop_alert_rule"),
    *("open_alerts", "add_alert", "change_alert", "drop_alert"),
    *("find_alerts", "get_alert", "forget_alerts"),
    *("webhooks", "add_webhook", "change_webhook", "rotate_webhook", "drop_webhook"),
    *("signing", "delivered", "not_delivered", "switch_off"),
}
"""The same: see test_plans_alerts."""
NAMES = [name for name in blocks("sqlite") if name not in SKIPPED | COUNTED | OF_ACCESS | OF_ALERTS]


@pytest.mark.parametrize("block", NAMES)
def test_a_statement_scans_no_table_that_grows(connection: apsw.Connection, block: str) -> None:
    """F13, R2.4, R7.3: each of the large tables is entered by an index."""
    sql = "explain query plan " + blocks("sqlite")[block]
    plan = [row[3] for row in connection.execute(sql, bound(connection, block))]

    scans = [step for step in plan if step.startswith("SCAN") and not SMALL.match(step)]
    assert scans == (["SCAN task"] if block in VIEW else WALKED.get(block, []))


@pytest.mark.parametrize("block", NAMES)
def test_a_statement_does_no_more_than_it_is_asked_for(
    connection: apsw.Connection, block: str
) -> None:
    """B151, B152, R2.4: no sort of a backlog, no walk along an index; counted, not guessed."""
    assert work(connection, block) < STEPS


@pytest.mark.parametrize(
    ("block", "index"),
    [
        ("next_lanes", "ready_lane"),
        ("pick", "ready_lane"),
        ("held", "ready_held"),
        ("due_ids", "scheduled_due"),
        ("next_due", "scheduled_due"),
        ("admit", "scheduled_gate"),
        ("admit", "ready_gate"),
        ("waiting_gates", "scheduled_gate"),
        ("gate_use", "ready_gate"),
        ("ended_sessions_holding", "ready_held"),
        ("prune_finished", "finished_age"),
        ("prune_dead_letters", "dead_letter_age"),
        ("prune_dead_letters", "dead_letter_discarded"),
        ("asked_cancels", "ready_asked"),
        ("renew_session", "ready_asked"),
        ("overdue_ids", "ready_overdue"),
        ("expired_ready_ids", "ready_expiry"),
        ("expired_ready_ids", "ready_asked"),
        ("expired_scheduled_ids", "scheduled_expiry"),
        ("expired_scheduled_ids", "scheduled_asked"),
        ("note", "sqlite_autoindex_ready_1"),
        ("to_nothing", "sqlite_autoindex_ready_1"),
        ("add_tallies", "INTEGER PRIMARY KEY"),
        ("add_failed_tallies", "INTEGER PRIMARY KEY"),
        ("add_dropped_tallies", "sqlite_autoindex_ready_1"),
        ("read_tallies", "PRIMARY KEY"),
        ("read_ended", "PRIMARY KEY"),
        ("read_statistics", "PRIMARY KEY"),
        ("service_totals", "PRIMARY KEY"),
        ("read_service", "PRIMARY KEY"),
        ("oldest_ready", "ready_lane"),
        ("open_dead_letters", "dead_letter_open"),
        ("holdings", "ready_held"),
        ("served", "finished_age"),
        ("ahead", "ready_lane"),
        ("to_completed", "sqlite_autoindex_ready_1"),
        ("to_ready", "sqlite_autoindex_ready_1"),
        ("get", "sqlite_autoindex_finished_1"),
        ("running", "ready_held"),
        ("limit_use", "sqlite_autoindex_lane_limit_1"),
        ("spend", "sqlite_autoindex_lane_limit_1"),
        ("queue_depths", "ready_lane"),
        ("tenant_depths", "ready_lane"),
        ("queues_with_work", "ready_lane"),
        ("due_schedules", "schedule_due"),
        ("due_schedules", "ready_schedule"),
        ("due_schedules", "scheduled_schedule"),
        ("next_firing", "schedule_due"),
        ("schedules_behind", "schedule_due"),
        ("live", "ready_schedule"),
        ("live", "scheduled_schedule"),
        ("live_ids", "ready_schedule"),
        ("expected_firings", "sqlite_autoindex_schedule_1"),
        ("fire", "sqlite_autoindex_schedule_1"),
        ("find_schedules", "sqlite_autoindex_schedule_2"),
        ("outdated_schedules", "schedule_tz_data"),
        ("holding_slots", "sqlite_autoindex_slot_1"),
        ("slots", "skip_slot"),
        ("slots_of", "skip_slot"),
        ("slots_of", "sqlite_autoindex_slot_1"),
        ("slot_tasks", "sqlite_autoindex_finished_1"),
        ("prune_slots", "slot_age"),
        ("prune_skips", "skip_age"),
    ],
)
def test_a_statement_goes_by_its_index(connection: apsw.Connection, block: str, index: str) -> None:
    """F13."""
    sql = "explain query plan " + blocks("sqlite")[block]
    plan = [row[3] for row in connection.execute(sql, bound(connection, block))]

    assert any(f" {index} " in f"{step} " for step in plan), plan


def test_groups_are_counted_without_reading_a_dead_letter(connection: apsw.Connection) -> None:
    """R4.4: errors may be long; 200,000 dead letters are counted in the index of the open ones.

    Whose the newest are, and in which hours they failed, is read in the same index.
    """
    sql = "explain query plan " + blocks("sqlite")["dead_letter_groups"]
    plan = [row[3] for row in connection.execute(sql, bound(connection, "dead_letter_groups"))]

    assert "USING COVERING INDEX dead_letter_open" in plan[1], plan
    reads = [step for step in plan if " dead_letter" in step]
    by = "SEARCH dead_letter USING COVERING INDEX dead_letter_open (error_group=?"
    assert sorted(reads[1:]) == [f"{by} AND failed_at>?)", f"{by})"], plan
    assert work(connection, "dead_letter_groups") < 30 * ROWS + 50 * GROUPS * 1_000


def test_a_gate_costs_the_same_however_many_wait_at_it(connection: apsw.Connection) -> None:
    """F13, R7.4: a hundred thousand at one gate, ten at another."""
    small, crowded = (work(connection, "admit", keys=packed([gate])) for gate in (QUIET, CROWDED))

    assert crowded <= small + 20


def test_a_scan_would_be_noticed(connection: apsw.Connection) -> None:
    """A bound that nothing could break would prove nothing."""
    steps: list[int] = []
    connection.trace_v2(
        apsw.SQLITE_TRACE_PROFILE,
        lambda event: steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
    )
    connection.execute("select sum(length(payload)) from scheduled").fetchall()
    connection.trace_v2(0, None)

    assert sum(steps) > 10 * STEPS

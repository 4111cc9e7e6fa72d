"""What SQLite does for each statement follows what it is asked for, never the backlog."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from rota.config import ERRORS_KEPT, LEASE, LEVEL, MINUTE
from rota.model import Lane, PriorityClass, Share, State, Transition
from rota.store.sqlfiles import blocks
from tests.conformance.backlog import (
    DUE,
    DUE_AT,
    HELD_BY_IT,
    LIVE_SESSION,
    OF_EACH,
    ROWS,
    pile_up,
)
from tests.support.factories import NOW, Make
from tests.support.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STEPS = 60_000
"""No statement may take more steps of SQLite's machine; a scan of a table takes over a million."""

_IDS = [*HELD_BY_IT, *OF_EACH]
_REPORTS = [Transition(task_id, 1, State.COMPLETED, result="1") for task_id in _IDS]
_LANES = [
    Lane("sms", PriorityClass.NORMAL, "board"),
    Lane("mail", PriorityClass.HIGH, "school-13"),
]
_LOOKS = [{"queue": lane.queue, "class": lane.cls, "start": lane.tenant} for lane in _LANES]


def packed(value: Any) -> str:
    return msgspec.json.encode(value).decode()


VALUES: dict[str, Any] = {
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
    "payload": "{}",
    "copies": packed([{"id": task_id, "copy": "f" + task_id[1:]} for task_id in OF_EACH]),
    "ended_before": NOW,
    "reason": "cancelled by request",
    "level": LEVEL,
    "live_at": NOW,
    "key": "effect-1",
    "at": NOW,
    "now": NOW,
}

SMALL = re.compile(r"SCAN (.*VIRTUAL TABLE|session\b|walk\b|line\b|CONSTANT ROW|\()")
"""What may be read whole: what was asked for, the sessions, what the statement itself has found."""
VIEW = {"get", "states_of"}
"""Statements that read the view `task`; its parts are entered by id, their union is read whole."""


@pytest.fixture(scope="module")
def backlog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a backlog, about which SQLite has no statistics yet."""
    path = tmp_path_factory.mktemp("backlog") / "rota.db"
    asyncio.run(pile_up(Place("sqlite", str(path))))
    return path


@pytest.fixture(scope="module", params=["unknown", "analyzed"])
def connection(request: pytest.FixtureRequest, backlog: Path) -> Iterator[apsw.Connection]:
    """The same, before and after statistics were gathered."""
    connection = apsw.Connection(str(backlog))
    if request.param == "analyzed":
        connection.execute("analyze")
    yield connection
    connection.close()


def bound(connection: apsw.Connection, block: str) -> dict[str, Any]:
    """The values for the parameters of a block, and for no others."""
    names = set(re.findall(r"(?<![:\w]):([a-z_]+)", blocks("sqlite")[block]))
    values = VALUES | ({"now": DUE_AT} if block in AT_DUE else {})
    return {name: values[name] for name in names}


def work(connection: apsw.Connection, block: str) -> int:
    """Run a block, undo it, and return how many steps SQLite's machine took."""
    steps: list[int] = []

    def count(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    values = bound(connection, block)
    connection.execute("begin immediate")
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    try:
        connection.execute(blocks("sqlite")[block], values).fetchall()
    finally:
        connection.trace_v2(0, None)
        connection.execute("rollback")
    return sum(steps)


AT_DUE = {"due_ids", "overdue_ids", "expired_ready_ids", "expired_scheduled_ids"}
"""Statements that find what an instant has made due."""
SKIPPED = {"open_session", "insert_ready", "insert_scheduled"}
"""Plain inserts have no plan."""
COUNTED = {"dead_letter_groups"}
"""Statements that count everything that there is, in an index made for it."""
NAMES = [name for name in blocks("sqlite") if name not in SKIPPED | COUNTED]


@pytest.mark.parametrize("block", NAMES)
def test_a_statement_scans_no_table_that_grows(connection: apsw.Connection, block: str) -> None:
    """F13, R2.4, R7.3: each of the large tables is entered by an index."""
    sql = "explain query plan " + blocks("sqlite")[block]
    plan = [row[3] for row in connection.execute(sql, bound(connection, block))]

    scans = [step for step in plan if step.startswith("SCAN") and not SMALL.match(step)]
    assert scans == (["SCAN task"] if block in VIEW else [])


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
        ("ahead", "ready_lane"),
        ("to_completed", "sqlite_autoindex_ready_1"),
        ("to_ready", "sqlite_autoindex_ready_1"),
        ("get", "sqlite_autoindex_finished_1"),
    ],
)
def test_a_statement_goes_by_its_index(connection: apsw.Connection, block: str, index: str) -> None:
    """F13."""
    sql = "explain query plan " + blocks("sqlite")[block]
    plan = [row[3] for row in connection.execute(sql, bound(connection, block))]

    assert any(f" {index} " in f"{step} " for step in plan), plan


def test_groups_are_counted_without_reading_a_dead_letter(connection: apsw.Connection) -> None:
    """R4.4: errors may be long; 200,000 dead letters are counted in the index of the open ones."""
    sql = "explain query plan " + blocks("sqlite")["dead_letter_groups"]
    plan = [row[3] for row in connection.execute(sql, bound(connection, "dead_letter_groups"))]

    assert "USING COVERING INDEX dead_letter_open" in plan[1], plan
    assert sum(" dead_letter" in step for step in plan) == 1, plan
    assert work(connection, "dead_letter_groups") < 30 * ROWS


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

"""What is found wrong, from facts alone (issue 6, point 7): each case a row."""

import re
from typing import Any

import pytest
from msgspec import structs

from rota.access import Key, Role
from rota.config import HOUR, MINUTE, SECOND
from rota.diagnosis import (
    DeadLetters,
    File,
    Held,
    Late,
    Overrun,
    Prepared,
    ReplicationSlot,
    Server,
    Severity,
    StoreFacts,
    TableUse,
    Transaction,
    Waiting,
)
from rota.policy.diagnosis import Facts, findings, worst_first
from rota.shares import KindSettings, Limit, LimitUse, QueueSettings, Settings, TenantSettings
from tests.support.factories import NOW, Make

KEY = Key(id="k", name="k", secret_hash=b"", roles=(Role.ADMIN,), created_at=NOW)
WORKER = structs.replace(Make().session(queues=("sms",), kinds=("send",), slots=10), id="w")
OLD = Waiting("sms", "send", 7, NOW - 2 * MINUTE)
SOUND = Server(
    version=160_002,
    shown="16.2",
    settings={
        "synchronous_commit": "on", "fsync": "on", "full_page_writes": "on",
        "autovacuum": "on", "track_counts": "on",
    },
    connections=10,
    connections_most=100,
)  # fmt: skip
FILE = File("rota.db", "3.51.3", "wal", 4096, 0, 50 * 1024**3, 0o600)


def facts(**given: Any) -> Facts:
    """Facts in which nothing is wrong, but what is given."""
    kept = {name: given.pop(name) for name in StoreFacts.__struct_fields__ if name in given}
    return Facts(now=NOW, kept=StoreFacts(**kept), **{"keys": (KEY,), **given})


def settings_off(name: str) -> Server:
    return structs.replace(SOUND, settings={**SOUND.settings, name: "off"})


LIMIT = Limit(id="l", queue="sms", max_running=200)
FULL = LimitUse(LIMIT, 200, None, NOW)
EMPTY = LimitUse(Limit(id="r", queue="sms", rate=1.0, burst=1), 0, 0.2, NOW)

QUIET: dict[str, Facts] = {
    "nothing at all": facts(),
    "a sound server": facts(server=SOUND),
    "a sound file": facts(file=FILE),
    "work that waits for a moment": facts(waiting=(Waiting("sms", "send", 3, NOW - 5 * SECOND),)),
    "work in its turn behind busy workers": facts(
        waiting=(OLD,), sessions=(WORKER,), held=(Held("w", "w", 10, NOW, NOW + MINUTE),)
    ),
    "work that a rate holds back": facts(waiting=(OLD,), sessions=(WORKER,), uses=(EMPTY,)),
    "work of a tenant that may be paused": facts(
        waiting=(OLD,),
        sessions=(WORKER,),
        settings=Settings(tenants={"b": TenantSettings(name="b", paused_at=NOW)}),
    ),
    "a session that was over just now": facts(
        held=(Held("x", "w-1", 3, NOW - MINUTE, NOW - 2 * SECOND),)
    ),
    "a session that lives": facts(held=(Held("x", "w-1", 3, NOW - MINUTE, NOW + SECOND),)),
    "a few dead letters": facts(dead_letters=DeadLetters(open=9, recent=9)),
    "a clock that is nearly right": facts(offset=SECOND // 2),
    "a transaction that works": facts(
        server=structs.replace(SOUND, transactions=(Transaction(1, "pg_dump", "active", MINUTE),))
    ),
    "some dead rows": facts(
        server=structs.replace(SOUND, tables=(TableUse("ready", 10, 9_000, True),))
    ),
    "many dead rows beside more live ones": facts(
        server=structs.replace(SOUND, tables=(TableUse("ready", 90_000, 100_000, True),))
    ),
}


@pytest.mark.parametrize("given", QUIET.values(), ids=QUIET.keys())
def test_nothing_is_found_where_nothing_is_wrong(given: Facts) -> None:
    assert findings(given) == []


FOUND: dict[str, tuple[Facts, Severity, str]] = {
    "no_key": (facts(keys=()), Severity.NOTE, "rota keys create"),
    "no_key, only some that are over": (
        facts(keys=(structs.replace(KEY, revoked_at=NOW), structs.replace(KEY, expires_at=NOW))),
        Severity.NOTE,
        "--role admin",
    ),
    "no_worker": (facts(waiting=(OLD,)), Severity.ERROR, "rota worker APP --queue sms"),
    "no_worker for this queue": (
        facts(waiting=(structs.replace(OLD, queue="mail"),), sessions=(WORKER,)),
        Severity.ERROR,
        "--queue mail",
    ),
    "unknown_kind": (
        facts(waiting=(structs.replace(OLD, kind="other"),), sessions=(WORKER,)),
        Severity.WARNING,
        "--kind other",
    ),
    "waits_while_idle": (
        facts(waiting=(OLD,), sessions=(WORKER,)),
        Severity.WARNING,
        "rota explain",
    ),
    "queue_paused": (
        facts(
            waiting=(OLD,),
            settings=Settings(queues={"sms": QueueSettings(name="sms", paused_at=NOW)}),
        ),
        Severity.WARNING,
        "rota queues resume sms",
    ),
    "kind_paused": (
        facts(
            waiting=(OLD,),
            sessions=(WORKER,),
            settings=Settings(kinds={"send": KindSettings(name="send", paused_at=NOW)}),
        ),
        Severity.WARNING,
        "rota kinds resume send",
    ),
    "overrunning": (
        facts(overrun=(Overrun("t-1", "send", "sms", "w", NOW - HOUR, 30 * SECOND),)),
        Severity.ERROR,
        "rota cancel t-1",
    ),
    "dead_holder, expired": (
        facts(held=(Held("x", "w-1", 3, NOW - HOUR, NOW - MINUTE),)),
        Severity.ERROR,
        "--no-reap",
    ),
    "dead_holder, closed": (
        facts(held=(Held("x", "w-1", 3, NOW - HOUR, NOW + MINUTE, NOW - MINUTE),)),
        Severity.ERROR,
        "--no-reap",
    ),
    "dead_holder, forgotten": (
        facts(held=(Held("x", "", 3, NOW - HOUR, 0),)),
        Severity.ERROR,
        "--no-reap",
    ),
    "schedules_late": (
        facts(late=(Late("morning", NOW - MINUTE),)),
        Severity.ERROR,
        "--no-schedule",
    ),
    "dead_letters that grow": (
        facts(dead_letters=DeadLetters(open=10, recent=10)),
        Severity.WARNING,
        "rota dead-letters groups",
    ),
    "dead_letters that pile up": (
        facts(dead_letters=DeadLetters(open=100)),
        Severity.WARNING,
        "rota dead-letters groups",
    ),
    "limit_full": (facts(uses=(FULL,)), Severity.NOTE, "rota limits set --queue sms"),
    "clock_offset": (facts(offset=-3 * SECOND), Severity.WARNING, "set-ntp"),
    "old_server": (
        facts(server=structs.replace(SOUND, version=130_009)), Severity.ERROR, "newer PostgreSQL"
    ),
    "synchronous_commit_off": (
        facts(server=settings_off("synchronous_commit")), Severity.ERROR, "= on"
    ),
    "fsync_off": (facts(server=settings_off("fsync")), Severity.ERROR, "= on"),
    "full_page_writes_off": (
        facts(server=settings_off("full_page_writes")), Severity.ERROR, "= on"
    ),
    "autovacuum_off": (facts(server=settings_off("autovacuum")), Severity.WARNING, "= on"),
    "track_counts_off": (facts(server=settings_off("track_counts")), Severity.WARNING, "= on"),
    "connections": (
        facts(server=structs.replace(SOUND, connections=90)), Severity.WARNING, "pgbouncer"
    ),
    "idle_in_transaction": (
        facts(
            server=structs.replace(
                SOUND, transactions=(Transaction(42, "psql", "idle in transaction", MINUTE),)
            )
        ),
        Severity.WARNING,
        "pg_terminate_backend(42)",
    ),
    "long_transaction": (
        facts(
            server=structs.replace(SOUND, transactions=(Transaction(42, "", "active", HOUR),))
        ),
        Severity.WARNING,
        "pg_terminate_backend(42)",
    ),
    "prepared_transaction": (
        facts(server=structs.replace(SOUND, prepared=(Prepared("gid", HOUR),))),
        Severity.WARNING,
        "rollback prepared",
    ),
    "replication_slot that nobody reads": (
        facts(server=structs.replace(SOUND, slots=(ReplicationSlot("s", False, 5 * 1024**3),))),
        Severity.ERROR,
        "pg_drop_replication_slot",
    ),
    "replication_slot that is new": (
        facts(server=structs.replace(SOUND, slots=(ReplicationSlot("s", False, 1024),))),
        Severity.NOTE,
        "pg_drop_replication_slot",
    ),
    "table_autovacuum_off": (
        facts(server=structs.replace(SOUND, tables=(TableUse("ready", 1, 1, False),))),
        Severity.WARNING,
        "reset (autovacuum_enabled)",
    ),
    "dead_rows": (
        facts(server=structs.replace(SOUND, tables=(TableUse("ready", 100, 50_000, True),))),
        Severity.WARNING,
        "vacuum rota.ready",
    ),
    "journal_mode": (
        facts(file=structs.replace(FILE, journal="delete")), Severity.ERROR, "rota migrate"
    ),
    "log_size": (
        facts(file=structs.replace(FILE, log_bytes=300 * 1024**2)), Severity.WARNING, "lsof"
    ),
    "disk_room gets small": (
        facts(file=structs.replace(FILE, free_bytes=500 * 1024**2)), Severity.WARNING, "room"
    ),
    "disk_room is gone": (
        facts(file=structs.replace(FILE, free_bytes=5 * 1024**2)), Severity.ERROR, "room"
    ),
    "permissions to read": (
        facts(file=structs.replace(FILE, mode=0o644)), Severity.NOTE, "chmod 600"
    ),
    "permissions to write": (
        facts(file=structs.replace(FILE, mode=0o666)), Severity.WARNING, "chmod 600"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "given", "severity", "remedy"),
    [(case, *row) for case, row in FOUND.items()],
    ids=FOUND.keys(),
)
def test_what_is_wrong_is_found_once_and_says_what_to_do(
    case: str, given: Facts, severity: Severity, remedy: str
) -> None:
    (found,) = findings(given)
    assert found.severity is severity
    assert remedy in found.remedy
    assert found.code == re.split("[, ]", case, maxsplit=1)[0]


def test_the_worst_comes_first() -> None:
    found = findings(facts(keys=(), late=(Late("morning", NOW - MINUTE),), offset=5 * SECOND))
    assert [finding.severity for finding in worst_first(found)] == [
        Severity.ERROR, Severity.WARNING, Severity.NOTE
    ]  # fmt: skip


def test_numbers_are_told_as_far_as_they_are_known() -> None:
    (found,) = findings(facts(waiting=(OLD, structs.replace(OLD, kind="b", count=1_000))))
    assert found.what.startswith("1000 tasks or more wait in queue sms")
    assert found.numbers == {"queue": "sms", "waiting": 1_007, "oldest_s": 120.0}
    (alone,) = findings(facts(waiting=(structs.replace(OLD, count=1),)))
    assert alone.what.startswith("1 task waits in queue sms")

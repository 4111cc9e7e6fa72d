"""The schema is brought up to date once, by whoever comes first (R8.6)."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from rota.errors import SchemaOutOfDate
from rota.model import State
from rota.store.base import Store
from rota.store.sqlfiles import blocks, migrations
from tests.conformance.steps import counts
from tests.support.factories import NOW, Make
from tests.support.places import DIALECTS, TABLES, Dialect, Place

STEPS = {
    "pick",
    "taken",
    "holding",
    "add_errors",
    "due_ids",
    "leave_ready",
    "leave_scheduled",
    "leave_dead_letter",
    "overdue_ids",
    "expired_ready_ids",
    "expired_scheduled_ids",
    "mark_replayed",
    "come_to_gate",
    "bring_forward",
    "retry_failed_gated",
    "replay_gated",
    "cancel_scheduled",
    "cancel_ready",
    "ask_to_cancel",
    "add_tallies",
    "add_failed_tallies",
    "add_dropped_tallies",
    "note_skips",
    "expected_firings",
    "take_slots",
    "holding_slots",
    "live_ids",
    "raise_version",
    "running",
    "spend",
    "goes_on",
    "amend_scheduled",
    "amend_ready",
    "amendable",
    "put_off",
    "delete_finished",
    "delete_dead_letters",
    "add_alert",
    "change_alert",
    "drop_alert",
}
"""What PostgreSQL does within one statement and SQLite, whose `with` cannot write, in several."""
SERVER = {
    "amend",
    "delete_over",
    "server_facts",
    "open_transactions",
    "prepared_transactions",
    "replication_slots",
    "table_use",
    "move_alert",
    "send_hint",
    "send_news",
    "read_clock",
    "history_days",
    "make_day",
    "drop_day",
    "cancel",
    "add_up_tallies",
    "anything_overdue",
    "anything_over",
    "apply_requests",
    "look_inside",
    "submit_inside",
    "cancel_inside",
    "complete_inside",
    "held_free",
    "take_limited",
    "take_numbered",
    "take_numbered_limited",
    "fire_extra",
}
"""What only a server needs: its clock, its days of history, its shards, its own functions; and as
one statement what others must not wait for between two."""


def names_of(dialect: Dialect) -> list[str]:
    return [migration.name for migration in migrations(dialect)]


async def test_eight_nodes_migrate_at_once_and_each_step_is_taken_once(place: Place) -> None:
    """R8.6: a deploy starts them all together."""
    stores = [place.store() for _ in range(8)]

    applied = await asyncio.gather(*(store.migrate() for store in stores))
    await asyncio.gather(*(store.close() for store in stores))

    assert sorted(name for names in applied for name in names) == sorted(names_of(place.dialect))
    recorded = await place.rows("select number from migration order by number")
    assert recorded == [(migration.number,) for migration in migrations(place.dialect)]


@pytest.mark.slow
def test_four_processes_migrate_at_once_and_each_step_is_taken_once(place: Place) -> None:
    """R8.6: with nothing in common but the store."""
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        applied = list(pool.map(migrate, [place] * 4))

    assert sorted(name for names in applied for name in names) == sorted(names_of(place.dialect))


def migrate(place: Place) -> list[str]:
    """Migrate as a process of its own."""

    async def run() -> list[str]:
        store = place.store()
        try:
            return await store.migrate()
        finally:
            await store.close()

    return asyncio.run(run())


async def test_a_migrated_store_is_left_as_it_is(store: Store, make: Make) -> None:
    """R8.6: with what lies in it."""
    await store.submit(make.tasks(3), NOW)

    assert await store.migrate() == []

    assert await counts(store) == {State.READY: 3}


async def test_a_store_without_a_schema_says_what_to_run(place: Place) -> None:
    """R8.6."""
    store = place.store()

    with pytest.raises(SchemaOutOfDate, match="rota migrate"):
        await store.open()

    await store.close()


async def test_a_store_that_lacks_the_last_step_does_not_open(place: Place, store: Store) -> None:
    """R8.6: an old schema is told apart from none, and from a current one."""
    last = migrations(place.dialect)[-1].number
    await place.rows(f"delete from migration where number = {last}")
    late = place.store()

    with pytest.raises(SchemaOutOfDate, match="rota migrate"):
        await late.open()

    await late.close()


async def test_a_newer_schema_is_accepted(place: Place, store: Store, make: Make) -> None:
    """R8.6: during a deploy a newer process and an older one work side by side."""
    await place.rows(
        "insert into migration (number, name, applied_at) values (9999, 'from_the_future', 0)"
    )
    older = place.store()

    assert await older.migrate() == []
    await older.open()
    await older.submit(make.tasks(1), NOW)
    await older.close()

    assert await counts(store) == {State.READY: 1}


async def test_each_step_is_recorded_with_its_name_and_time(place: Place, store: Store) -> None:
    """R8.6."""
    before = await store.clock()

    rows = await place.rows("select number, name, applied_at from migration order by number")

    assert [row[:2] for row in rows] == [
        (migration.number, migration.name) for migration in migrations(place.dialect)
    ]
    assert all(0 <= before - applied_at < 600_000_000 for _, _, applied_at in rows)


def test_both_dialects_have_the_same_steps_and_the_same_blocks_in_the_same_order() -> None:
    """Design §4: twin files."""
    steps = [[(step.number, step.name) for step in migrations(dialect)] for dialect in DIALECTS]
    assert steps[0] == steps[1]
    assert [number for number, _ in steps[0]] == list(range(1, len(steps[0]) + 1))

    per_file = [
        {
            name: [head for head, _ in heads if head not in STEPS | SERVER]
            for name, heads in _files(dialect)
        }
        for dialect in DIALECTS
    ]
    assert per_file[0] == per_file[1]
    assert set(blocks("sqlite")) - set(blocks("postgres")) == STEPS
    assert set(blocks("postgres")) - set(blocks("sqlite")) == SERVER


def _files(dialect: Dialect) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Each SQL file of a dialect with its blocks: name and lines."""
    for file in sorted((files("rota.store") / "sql" / dialect).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".sql"):
            parts = re.split(r"^-- name: (\w+)\n", file.read_text(encoding="utf-8"), flags=re.M)
            heads = zip(parts[1::2], parts[2::2], strict=True)
            yield file.name, [(head, text.splitlines()) for head, text in heads]


def _every_block() -> Iterator[Any]:
    for dialect in DIALECTS:
        for file, heads in _files(dialect):
            for name, lines in heads:
                yield pytest.param(lines, id=f"{dialect}-{file}-{name}")


@pytest.mark.parametrize("lines", list(_every_block()))
def test_every_block_begins_with_its_contract(lines: list[str]) -> None:
    """Design §4: a sentence or more, then one statement in lower case."""
    comments = []
    for line in lines:
        if not line.startswith("-- "):
            break
        comments.append(line.removeprefix("-- "))
    contract = " ".join(comments)
    assert re.match(r"[A-Z].*[.]$", contract), "says what it promises"

    statement = "\n".join(lines[len(comments) :]).strip()
    code = re.sub(r"--.*|'[^']*'|\"[^\"]*\"", "", statement)
    assert statement.endswith(";")
    assert code.count(";") == 1
    assert not re.findall(r"\b[A-Z]{2,}\b", code)
    assert max(map(len, lines)) <= 100


COLUMNS = {
    "sqlite": """
        select m.name, c.name
        from sqlite_schema as m, pragma_table_xinfo(m.name) as c
        where m.type = 'table'
        order by m.name, c.cid
    """,
    "postgres": """
        select c.relname::text, a.attname::text
        from pg_class as c
        join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition
        order by c.relname, a.attnum
    """,
}


OWN = {
    "class",  # computed by SQLite where it is needed, written by PostgreSQL wherever a task lies
    "shard",  # lets those who write to one PostgreSQL at once count in different rows
    # What was asked in a transaction that may have stayed open: in SQLite, one writes at a time.
    "cancel_request",
}


async def test_both_dialects_have_the_same_columns_in_the_same_order(
    tmp_path: Path, database: str
) -> None:
    """Design §4: equal before one suite, and for whoever reads the tables."""
    columns = {}
    for place in (Place("sqlite", str(tmp_path / "rota.db")), Place("postgres", database)):
        store = place.store()
        await store.migrate()
        await store.close()
        tables: dict[str, list[str]] = {}
        for table, column in await place.rows(COLUMNS[place.dialect]):
            if not {table, column} & OWN:
                tables.setdefault(table, []).append(column)
        columns[place.dialect] = tables

    assert columns["sqlite"] == columns["postgres"]
    assert {*TABLES, "migration"} <= columns["sqlite"].keys()

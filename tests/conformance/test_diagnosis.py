"""What a store says of itself (issue 6, point 7): both kinds alike."""

import asyncpg
import pytest

from rota.config import HOUR, LEASE, MINUTE, SECOND
from rota.diagnosis import DeadLetters, Held, Late, Overrun, StoreFacts, Waiting
from rota.store.base import Store
from tests.conformance.steps import take
from tests.support.factories import NOW, Make, failed
from tests.support.places import Place
from tests.support.schedules import a_schedule


async def test_an_empty_store_has_nothing_to_tell(store: Store) -> None:
    told = await store.diagnose(NOW)
    assert StoreFacts(server=told.server, file=told.file) == told
    assert (told.server is None) == (store.traits.dialect == "sqlite")
    assert (told.file is None) == (store.traits.dialect == "postgres")


async def test_it_tells_what_waits_by_queue_and_kind(store: Store, make: Make) -> None:
    await store.submit(
        [
            make.task(queue="sms", kind="send", run_at=NOW - MINUTE),
            make.task(queue="sms", kind="send"),
            make.task(queue="sms", kind="other"),
            make.task(queue="mail", kind="send"),
            make.task(queue="mail", kind="later", run_at=NOW + HOUR),
        ],
        NOW,
    )
    assert (await store.diagnose(NOW)).waiting == (
        Waiting("mail", "send", 1, NOW),
        Waiting("sms", "other", 1, NOW),
        Waiting("sms", "send", 2, NOW - MINUTE),
    )


async def test_it_tells_who_holds_what_and_what_runs_too_long(store: Store, make: Make) -> None:
    session = make.session(name="w-3")
    await store.open_session(session)
    slow = make.task(timeout=10 * SECOND)
    await store.submit([slow, make.task()], NOW)
    await take(store, session.id, 2)

    soon = await store.diagnose(NOW + 5 * SECOND)
    assert soon.held == (Held(session.id, "w-3", 2, NOW, NOW + LEASE),)
    assert soon.overrun == ()
    late = await store.diagnose(NOW + 11 * SECOND + LEASE)
    assert late.overrun == (Overrun(slow.id, slow.kind, slow.queue, session.id, NOW, 10 * SECOND),)
    await store.close_session(session.id, NOW + MINUTE)
    (holder,) = (await store.diagnose(NOW + MINUTE)).held
    assert holder.closed_at == NOW + MINUTE


async def test_it_tells_which_schedules_are_late(store: Store, make: Make) -> None:
    for name, next_at, paused_at in (
        ("late", NOW - MINUTE, None),
        ("due", NOW - SECOND, None),
        ("paused", NOW - MINUTE, NOW),
    ):
        await store.create_schedule(
            a_schedule(make, name, next_at=next_at, next_slot=next_at, paused_at=paused_at)
        )
    assert (await store.diagnose(NOW)).late == (Late("late", NOW - MINUTE),)


async def test_it_counts_dead_letters_and_those_of_the_last_hour(store: Store, make: Make) -> None:
    session = make.session()
    await store.open_session(session)
    await store.submit(make.tasks(3), NOW)
    old, *recent = await take(store, session.id, 3)
    await store.finish(session.id, [failed(old)], NOW - 2 * HOUR)
    await store.finish(session.id, [failed(task) for task in recent], NOW)
    assert (await store.diagnose(NOW)).dead_letters == DeadLetters(open=3, recent=2)
    await store.discard([old.id, recent[0].id], "seen", NOW)
    assert (await store.diagnose(NOW)).dead_letters == DeadLetters(open=1, recent=1)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_file_tells_of_its_size_room_and_permissions(place: Place, store: Store) -> None:
    file = (await store.diagnose(NOW)).file
    assert file is not None
    assert (file.path, file.journal) == (place.address, "wal")
    assert file.bytes > 0
    assert file.free_bytes > 0
    assert file.mode & 0o600 == 0o600


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_server_tells_of_its_settings_and_open_transactions(
    place: Place, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.store.postgres.diagnosis.OPEN_LONG", 0)
    connection = await asyncpg.connect(
        place.address, server_settings={"application_name": "forgetful"}
    )
    try:
        await connection.execute("begin")
        await connection.execute("select 1")
        server = (await store.diagnose(NOW)).server
    finally:
        connection.terminate()
    assert server is not None
    assert server.version >= 140_000
    assert set(server.settings) == {
        "autovacuum", "fsync", "full_page_writes", "synchronous_commit", "track_counts"
    }  # fmt: skip
    assert server.settings["fsync"] == "off", "the server of these tests does not wait for disks"
    assert 0 < server.connections <= server.connections_most
    assert ("forgetful", "idle in transaction") in [
        (open_.application, open_.state) for open_ in server.transactions
    ]
    assert {table.name for table in server.tables} >= {"ready", "scheduled", "dead_letter"}

"""Workers' sessions over HTTP (R9.1)."""

import pytest

from rota.clock import ManualClock
from rota.config import SECOND
from rota.engine import Engine
from rota.server.shapes.sessions import Session
from tests.support.asking import Asker
from tests.support.factories import NOW, Make
from tests.support.shapes import fits


async def test_a_session_is_shown_with_what_it_holds_and_when_it_was_heard_of(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    session = make.session()
    await engine.open_session(session)
    await engine.submit(make.tasks(3))
    await engine.claim(session.id, ["default"], 2, [])
    clock.advance(7)
    told = await asker.ask("GET", f"/v1/sessions/{session.id}")
    shown = fits(told.json, Session)
    assert (shown.held, shown.slots, shown.heartbeat_age_s, shown.live) == (2, 10, 7, True)


@pytest.mark.parametrize("lease", [10, 600])
async def test_the_age_of_a_heartbeat_counts_from_it_however_long_the_lease_is(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock, lease: int
) -> None:
    """R9.1: a lease that is short or long tells nothing of when the worker was heard of."""
    session = make.session(lease_until=NOW + lease * SECOND)
    await engine.open_session(session)
    for waited, age in ((3, 3), (4, 7)):
        clock.advance(waited)
        told = await asker.ask("GET", f"/v1/sessions/{session.id}")
        assert told.json["heartbeat_age_s"] == age
    await engine.renew(session.id, lease * SECOND)
    clock.advance(2)
    told = await asker.ask("GET", f"/v1/sessions/{session.id}")
    assert told.json["heartbeat_age_s"] == 2


async def test_sessions_are_listed_newest_first_page_by_page(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """Those that are over only on demand."""
    sessions = [make.session() for _ in range(3)]
    over = make.session(lease_until=NOW - SECOND)
    for session in (*sessions, over):
        await engine.open_session(session)
    first = await asker.ask("GET", "/v1/sessions?limit=2")
    second = await asker.ask("GET", f"/v1/sessions?limit=2&cursor={first.json['next']}")
    ids = [one["id"] for told in (first, second) for one in told.json["items"]]
    assert ids == [session.id for session in reversed(sessions)]
    assert second.json["next"] is None
    every = await asker.ask("GET", "/v1/sessions?live=false")
    assert [one["live"] for one in every.json["items"]] == [False, True, True, True]


@pytest.mark.parametrize("name", ["0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "worker-1"])
async def test_what_is_not_there_is_not_found(asker: Asker, name: str) -> None:
    assert (await asker.ask("GET", f"/v1/sessions/{name}")).status == 404


@pytest.mark.parametrize("path", ["", "/0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"])
@pytest.mark.parametrize("key", ["submit", "read@board"])
async def test_sessions_are_for_who_sees_everything(asker: Asker, path: str, key: str) -> None:
    """§6: bound keys see no sessions."""
    told = await asker.using(key).ask("GET", f"/v1/sessions{path}")
    assert (told.status, told.code) == (403, "forbidden")

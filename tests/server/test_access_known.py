"""What a server remembers of the keys that it knows, and for how long (R8.5, S12)."""

import asyncio

import pytest

from rota import Rota
from rota.access import Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.server.access import ASKING_SECONDS, FRESH_SECONDS
from rota.server.rates import Bounds, Rate
from tests.server.doors import ON_SQLITE, Door

pytestmark = ON_SQLITE


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine)


async def test_what_is_known_is_as_old_as_the_question(
    door: Door, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S12: with a store that takes its time a revocation would else be felt later than in 5 s."""
    looks: list[str] = []
    find = engine.find_key

    async def slow(key_id: str) -> object:
        looks.append(key_id)
        found = await find(key_id)
        clock.advance(2)
        return found

    monkeypatch.setattr(engine, "find_key", slow)
    asker = await door.asker(Role.READ)
    await asker.ask("GET", "/v1/me")
    clock.advance(FRESH_SECONDS - 2)
    await asker.ask("GET", "/v1/me")
    assert len(looks) == 2


async def test_while_one_asks_for_a_key_anew_the_others_do_not(
    door: Door, engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8.5: a thousand calls at a time are still one look; a look that hangs holds up few."""
    asker = await door.asker(Role.READ)
    await asker.ask("GET", "/v1/me")
    clock.advance(FRESH_SECONDS)
    looks: list[str] = []
    find, back = engine.find_key, asyncio.Event()

    async def hanging(key_id: str) -> object:
        looks.append(key_id)
        await back.wait()
        return await find(key_id)

    monkeypatch.setattr(engine, "find_key", hanging)
    first = asyncio.ensure_future(asker.ask("GET", "/v1/me"))
    await asyncio.sleep(0)
    told = [await asker.ask("GET", "/v1/me") for _ in range(9)]

    assert {one.status for one in told} == {200}
    assert len(looks) == 1
    # A look that never comes back must not make a key good for ever.
    clock.advance(ASKING_SECONDS)
    second = asyncio.ensure_future(asker.ask("GET", "/v1/me"))
    await asyncio.sleep(0)
    assert len(looks) == 2
    back.set()
    assert {(await one).status for one in (first, second)} == {200}


async def test_a_key_that_was_good_is_a_stranger_once_it_is_not(
    app: Rota, engine: Engine, clock: ManualClock
) -> None:
    """S12: whoever goes on with a revoked key is held back as whoever guesses."""
    door = Door(app, engine, bounds=Bounds(unknown=Rate(0.1, 3)))
    made = await door.make(Role.READ)
    await door.make(Role.ADMIN)
    asker = door.using(made.text)
    assert (await asker.ask("GET", "/v1/me")).status == 200
    await engine.revoke_key(made.key.id)
    clock.advance(5)

    told = [(await asker.ask("GET", "/v1/me")).status for _ in range(6)]
    assert told == [401] * 4 + [429] * 2  # the first is not counted: it was known


async def test_no_more_keys_are_remembered_than_there_is_room_for(
    door: Door, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F13: who was not looked up for the longest is forgotten, and asked for anew."""
    monkeypatch.setattr("rota.server.access.KNOWN_MOST", 2)
    first, second, third = [await door.asker(Role.READ) for _ in range(3)]
    await first.ask("GET", "/v1/me")
    (digest,) = door.access._known
    await second.ask("GET", "/v1/me")
    clock.advance(FRESH_SECONDS)
    await first.ask("GET", "/v1/me")  # so the second is the oldest
    await third.ask("GET", "/v1/me")

    assert len(door.access._known) == 2
    assert door.access.knows(digest)

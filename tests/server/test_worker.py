"""The worker protocol: sessions, and claims by number that wait for work (R3, R8.4)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rota.access import Role, Scope
from rota.clock import ManualClock
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.server import claiming
from rota.server.caller import Caller
from rota.server.front import Front
from rota.server.route import Route
from rota.server.routes import worker
from rota.server.table import Table
from rota.shares import Limit, TenantSettings
from tests.server.hand import LEASE_S, Hand
from tests.support.asking import Asker, KnownKeys, Told
from tests.support.factories import Make


@pytest.fixture
def hand(asker: Asker, runner: asyncio.Runner) -> Hand:
    """A worker with a session."""
    one = Hand(asker.using("worker"))
    runner.run(one.open())
    return one


@pytest.fixture
def waiting(server: Front, runner: asyncio.Runner) -> Iterator[None]:
    """What listens for news runs while the test does."""
    tasks: list[asyncio.Task[None]] = []

    async def start() -> None:
        waiting, heard = server.place.waiting, asyncio.Event()
        take_in = waiting.heard

        def hear(at: int | None) -> None:
            take_in(at)
            heard.set()

        waiting.heard = hear  # type: ignore[method-assign]
        tasks.append(asyncio.ensure_future(waiting.run()))
        while not heard.is_set():
            await server.place.engine.wake()
            await asyncio.sleep(0.01)

    async def stop() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    runner.run(start())
    yield
    runner.run(stop())


# -- sessions -----------------------------------------------------------------------------------


async def test_a_session_says_what_the_worker_has_to_keep_to(asker: Asker) -> None:
    """http-and-cli.md §5."""
    told = await Hand(asker.using("worker")).open(name="w-3", queues=["sms"], slots=5)

    assert told.status == 201
    assert told.json["protocol"] == 1
    assert (told.json["lease"], told.json["heartbeat_every"], told.json["margin"]) == (30, 10, 3)
    assert told.json["limits"] == {"claim": 1000, "finish": 1000, "wait": 30}
    assert told.headers["location"] == f"/v1/sessions/{told.json['session']}"


async def test_opening_is_repeatable_by_its_request(asker: Asker, engine: Engine) -> None:
    """The answer to the first may have been lost."""
    one, other = Hand(asker.using("worker")), Hand(asker.using("worker"))
    await one.open("a")
    await other.open("a")

    assert one.session == other.session
    assert [session.owner for session in await engine.sessions()] == ["worker"]

    await other.open("b")
    assert one.session != other.session


async def test_a_repeat_of_opening_gives_the_lease_that_it_tells(
    asker: Asker, engine: Engine, clock: ManualClock
) -> None:
    """R3.4: the worker trusts it from when it sent the repeat; the store ends it no sooner."""
    hand = Hand(asker.using("worker"))
    await hand.open("a")
    clock.advance(20)
    told = await hand.open("a")
    clock.advance(LEASE_S - 1)

    assert told.json["lease"] == LEASE_S
    assert await engine.reap() == 0
    assert (await hand.ask("heartbeat", {"seq": 1})).status == 200

    clock.advance(LEASE_S + 1)
    assert (await hand.open("a")).code == "session_gone"


async def test_a_worker_of_another_version_is_told_which_fit(asker: Asker) -> None:
    """http-and-cli.md §5, compatibility."""
    told = await Hand(asker.using("worker")).open(protocol=[7, 8])

    assert (told.status, told.code) == (400, "protocol_unsupported")
    assert "7, 8" in told.json["detail"]


@pytest.mark.parametrize("verb", ["claim", "heartbeat", "progress", "finish", "close", "held"])
async def test_a_session_belongs_to_the_key_that_opened_it(hand: Hand, verb: str) -> None:
    """S13: to another key it looks like none."""
    bodies = {
        "claim": {"request": 1, "queues": ["sms"], "slots": 1, "wait_s": 0},
        "finish": {"items": []},
        "progress": {"items": []},
        "held": None,
    }
    other = Hand(hand.asker.using("worker@board"), hand.session)
    absent = Hand(hand.asker, "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44")
    body = bodies.get(verb, {})

    told = [await one.ask(verb, body) for one in (other, absent)]

    assert [one.status for one in told] == [404, 404]
    assert told[0].json["detail"].replace(hand.session, absent.session) == told[1].json["detail"]


async def test_another_keys_request_id_opens_nothing(hand: Hand) -> None:
    """S13: a session's id is no way into it."""
    thief = Hand(hand.asker.using("worker@board"))

    told = await thief.open(hand.session)

    assert told.status == 404


# -- claims -------------------------------------------------------------------------------------


async def test_a_task_comes_with_all_that_its_handler_needs(
    hand: Hand, engine: Engine, make: Make
) -> None:
    """http-and-cli.md §5."""
    task = make.task(queue="sms", tenant="board", payload='{"student_id":7}', timeout=30_000_000)
    await engine.submit([task])

    (got,) = await hand.got()

    assert got["payload"] == {"student_id": 7}
    assert (got["id"], got["kind"], got["tenant"]) == (task.id, task.kind, "board")
    assert (got["fence"], got["attempt"], got["max_attempts"]) == (1, 1, 5)
    assert (got["timeout"], got["idempotency_key"]) == (30.0, task.id)
    assert got["last_checkpoint"] is got["slot"] is got["headers"] is None


async def test_a_lower_number_takes_nothing(hand: Hand, engine: Engine, make: Make) -> None:
    """Pitfall 3: a claim that was overtaken."""
    await engine.submit([make.task(queue="sms")])
    await hand.claim(5)
    await engine.submit([make.task(queue="sms")])

    told = await hand.claim(4)

    assert (told.status, told.code) == (409, "superseded")
    assert len((await hand.ask("held")).json["tasks"]) == 1


async def test_an_equal_number_returns_what_is_held(hand: Hand, engine: Engine, make: Make) -> None:
    """The first answer may have been lost; nothing more is taken for a repeat."""
    await engine.submit(make.tasks(2, queue="sms"))
    first = await hand.got(1, slots=1)

    again = (await hand.claim(1, slots=1)).json

    assert again["repeated"] is True
    assert again["tasks"] == first
    assert len(await hand.got(2)) == 1


async def test_a_repeat_at_another_server_takes_nothing_twice(
    hand: Hand, engine: Engine, make: Make, server: Front
) -> None:
    """Two servers behind a balancer: what counts is in the store."""
    await engine.submit(make.tasks(3, queue="sms"))
    first = await hand.got(1, slots=2)
    server.place.holdings.forget(hand.session)

    assert (await hand.claim(1, slots=2)).json["tasks"] == first
    server.place.holdings.forget(hand.session)
    assert (await hand.claim(0 + 1)).json["repeated"]
    assert len(await hand.got(2)) == 1


async def test_numbers_hold_under_limits_too(hand: Hand, engine: Engine, make: Make) -> None:
    """R7.4: a cap goes by another way into the store."""
    await engine.put_limit(Limit(id=make.id(), queue="sms", max_running=2), 0)
    await engine.submit(make.tasks(5, queue="sms"))

    first = await hand.got(1)
    again = (await hand.claim(1)).json

    assert len(first) == 2
    assert again["repeated"]
    assert sorted(task["id"] for task in again["tasks"]) == sorted(task["id"] for task in first)
    assert await hand.got(2) == []


async def test_an_answer_that_would_be_too_large_hands_the_rest_back(
    hand: Hand, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8.4: nothing of it is lost, held or counted as an attempt; one task comes whatever its size.

    The claim after it takes as many as fit of the average of all that was taken before.
    """
    monkeypatch.setattr(claiming, "ANSWER_CHARS", 1000)
    payload = '{"text":"%s"}' % ("x" * 400)
    tasks = [make.task(queue="sms", payload=payload) for _ in range(5)]
    await engine.submit([*tasks, make.task(queue="sms", payload='{"t":"%s"}' % ("y" * 2000))])

    told = (await hand.claim(1)).json
    assert (len(told["tasks"]), told["again_at"] is None) == (2, False)
    assert (await hand.claim(1)).json["tasks"] == told["tasks"]
    assert len((await hand.ask("held")).json["tasks"]) == 2

    rest = [await hand.got(number) for number in (2, 3, 4)]
    assert [len(got) for got in rest] == [1, 2, 1]
    assert {task["attempt"] for got in rest for task in got} == {1}
    assert len({task["id"] for got in [told["tasks"], *rest] for task in got}) == 6
    assert await hand.got(5) == []


async def test_what_could_not_be_handed_back_comes_with_the_repeat(
    hand: Hand, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8.4: the store goes away between taking and handing back: nothing is lost."""
    monkeypatch.setattr(claiming, "ANSWER_CHARS", 10)
    await engine.submit(make.tasks(3, queue="sms", payload='{"text":"%s"}' % ("x" * 50)))

    async def away(*_: Any) -> list[bool]:
        raise StoreUnavailable("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "finish", away)
        assert (await hand.claim(1)).status == 503
    assert len((await hand.claim(1)).json["tasks"]) == 3


async def test_a_workers_key_sees_its_own_tenant_alone(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S13: tasks come from the tenant of the key, whatever else waits before them."""
    names = ["a", "board", "z"]
    await engine.submit([make.task(queue="sms", tenant=name) for name in names * 3])
    board = Hand(asker.using("worker@board"))
    await board.open()

    got = await board.got()

    assert [task["tenant"] for task in got] == ["board"] * 3
    assert len(await board.got()) == 0


async def test_a_session_that_is_over_is_gone(
    hand: Hand, engine: Engine, clock: ManualClock
) -> None:
    """Pitfall 5: the worker is told, and opens a new one."""
    clock.advance(LEASE_S + 1)

    assert (await hand.claim()).code == "session_gone"
    assert (await hand.ask("heartbeat", {"seq": 1})).status == 410


@asynccontextmanager
async def begun(hand: Hand, **fields: Any) -> AsyncIterator["asyncio.Task[Told]"]:
    """A claim that waits."""
    claiming = asyncio.ensure_future(hand.claim(**{"wait_s": 20} | fields))
    for _ in range(20):
        await asyncio.sleep(0.005)
    try:
        yield claiming
    finally:
        claiming.cancel()
        await asyncio.gather(claiming, return_exceptions=True)


@pytest.mark.usefixtures("waiting")
async def test_a_claim_waits_for_work(hand: Hand, engine: Engine, make: Make) -> None:
    """R8.4: long poll."""
    async with begun(hand) as claiming:
        assert not claiming.done()
        await engine.submit([make.task(queue="sms")])

        told = await claiming

    assert len(told.json["tasks"]) == 1


async def test_a_claim_waits_no_longer_than_it_says(hand: Hand, clock: ManualClock) -> None:
    """No work is 200 without tasks, never an error."""
    async with begun(hand, wait_s=5) as claiming:
        clock.advance(5.1)
        told = await claiming

    assert (told.status, told.json["tasks"]) == (200, [])


async def test_a_waiting_claim_ends_when_the_server_drains(hand: Hand, server: Front) -> None:
    """Pitfall 18: open connections hold up a shutdown."""
    async with begun(hand) as claiming:
        for told_to_drain in server.place.on_drain:
            told_to_drain()
        told = await claiming

    assert (told.status, told.json["tasks"]) == (200, [])


async def test_a_newer_claim_ends_the_one_that_waits(hand: Hand) -> None:
    """One at a time a session."""
    async with begun(hand) as claiming:
        await hand.claim()
        told = await claiming

    assert told.code == "superseded"


@pytest.mark.usefixtures("waiting")
async def test_waiting_claims_cost_no_query_each(
    asker: Asker, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R2.4: fifty wait, one task comes: two of them look."""
    hands = [Hand(asker.using("worker")) for _ in range(50)]
    for n, one in enumerate(hands):
        await one.open(f"w-{n}")
    waits = [asyncio.ensure_future(one.claim(wait_s=20)) for one in hands]
    for _ in range(100):
        await asyncio.sleep(0.005)
    looks = 0
    claim_numbered = engine.claim_numbered

    async def counted(*args: Any, **named: Any) -> Any:
        nonlocal looks
        looks += 1
        return await claim_numbered(*args, **named)

    monkeypatch.setattr(engine, "claim_numbered", counted)
    await engine.submit([make.task(queue="sms")])
    done_, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in left:
        wait.cancel()
    await asyncio.gather(*left, return_exceptions=True)

    assert sum(len(wait.result().json["tasks"]) for wait in done_) == 1
    assert looks < 10


# -- bounds and hints ---------------------------------------------------------------------------


class QueueKeys(KnownKeys):
    """Keys such as `worker#sms`: a role, and the one queue that it is for."""

    async def admit(
        self, route: Route | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        word = headers.get("authorization", "").removeprefix("Bearer ")
        name, _, queue = word.partition("#")
        if not queue:
            return await super().admit(route, headers, address, method)
        return Caller.of(word, word, (Role(name),), Scope(queues=(queue,)))


async def test_a_key_for_a_queue_takes_from_no_other(
    server: Front, engine: Engine, make: Make
) -> None:
    """S13: what is asked for beyond is left out; if nothing is left it is refused."""
    await engine.submit([make.task(queue=queue) for queue in ("sms", "mail")])
    hand = Hand(Asker(Front(server.place, Table(worker.ROUTES), QueueKeys()), "worker#sms"))
    await hand.open()

    got = await hand.got(queues=["mail", "sms"])
    refused = await hand.claim(queues=["mail"])

    assert [task["queue"] for task in got] == ["sms"]
    assert (refused.status, refused.code) == (403, "forbidden")


async def test_a_paused_tenant_gets_nothing_by_its_own_key_either(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R7.7."""
    await engine.submit([make.task(queue="sms", tenant="board")])
    await engine.put_settings(TenantSettings(name="board", paused_at=1), 0)
    board = Hand(asker.using("worker@board"))
    await board.open()

    assert await board.got() == []


@pytest.mark.usefixtures("waiting")
async def test_hints_stream_to_whoever_listens(
    asker: Asker, engine: Engine, make: Make, server: Front
) -> None:
    """R2.2: the same signs as a worker on the store has."""
    lines = asker.using("worker").stream("/v1/hints")
    first = await anext(lines)
    await engine.submit([make.task(queue="sms")])

    async with asyncio.timeout(60):
        # On SQLite the file's own sign, which stands for all there are, may swallow this one.
        while await anext(lines) not in (b'{"at":0}\n', b'{"at":null}\n'):
            pass
    assert server.place.streams == 1
    await lines.aclose()

    assert first == b'{"at":null}\n'
    assert server.place.streams == 0

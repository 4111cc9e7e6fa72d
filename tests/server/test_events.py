"""Live changes over server-sent events: what is told, to whom, and what is not lost (R9.2)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from rota.engine import Engine
from rota.engine.news import UNKNOWN, Change, News, Topic
from rota.server.caller import Caller
from rota.server.events import BY_KEY, RING, Events
from rota.server.events_frames import Frame, View
from rota.server.events_listener import FRAMES_MOST
from rota.server.front import Front
from rota.server.problems import Problem
from tests.support.asking import Asker, KnownKeys
from tests.support.factories import Make


class Event(Struct, frozen=True):
    """One event as it was sent."""

    name: str
    data: Any = None
    mark: str | None = None
    retry: int | None = None


def read(chunk: bytes) -> list[Event]:
    """The events of a chunk; a comment is an event called `:`."""
    events = []
    for block in chunk.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        if block.startswith(":"):
            events.append(Event(":", mark=fields.get("id")))
        elif fields:
            data = fields.get("data")
            retry = fields.get("retry")
            events.append(
                Event(
                    fields.get("event", ""),
                    None if data is None else msgspec.json.decode(data),
                    fields.get("id"),
                    None if retry is None else int(retry),
                )
            )
    return events


class Reader:
    """Reads a stream event by event."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._read: list[Event] = []

    async def next(self) -> Event:
        while not self._read:
            self._read = read(await anext(self._chunks))
        return self._read.pop(0)

    async def find(self, name: str) -> Event:
        while (event := await self.next()).name != name:
            pass
        return event


@pytest.fixture
def events(server: Front) -> Iterator[Events]:
    """The events of the server, which watches nothing but what its own engine does."""
    events = server.place.events
    events.follows = False
    yield events
    events.drain()


def told(engine: Engine, events: Events) -> None:
    """Let what the engine did go out."""
    engine.news.flush()
    events.publish()


async def test_what_a_batch_changed_is_told_at_once(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """Thin: ids, states, queues and tenants, and nothing else."""
    async with aclosing(asker.stream("/v1/events?topics=tasks")) as chunks:
        reader = Reader(chunks)
        first = await reader.next()
        assert first.mark == f"{events.process}-0"
        assert 2_000 <= (first.retry or 0) < 3_000
        task = make.task(queue="sms", tenant="board")
        await engine.submit([task])
        told(engine, events)
        event = await reader.next()
    assert (event.name, event.mark) == ("tasks", f"{events.process}-1")
    change = {"id": task.id, "state": "ready", "queue": "sms", "tenant": "board"}
    assert (event.data["changed"], event.data["more"]) == ([change], False)


async def test_of_many_changes_a_hundred_are_named(asker: Asker, events: Events) -> None:
    changes = [Change(f"t{n}", "ready", "sms", "") for n in range(120)]
    async with aclosing(asker.stream("/v1/events?topics=tasks")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        events.take({Topic.TASKS: News(tuple(changes))})
        events.publish()
        data = (await reader.next()).data
    assert (len(data["changed"]), data["more"]) == (100, True)


@pytest.mark.parametrize(
    ("deed", "topic", "what"),
    [
        (("PATCH", "/v1/queues/sms", {"max_depth": 3}), "queues", "queue"),
        (("PATCH", "/v1/tenants/board", {"weight": 3}), "queues", "tenant"),
        (("POST", "/v1/kinds/report/pause", {}), "queues", "kind"),
        (("POST", "/v1/limits", {"queue": "sms", "max_running": 3}), "queues", "limit"),
        (
            ("POST", "/v1/schedules", {"kind": "report", "every": "1h", "payload": {"day": ""}}),
            "schedules",
            "created",
        ),
    ],
    ids=["queue", "tenant", "kind", "limit", "schedule"],
)
async def test_each_topic_says_what_changed(
    asker: Asker, server: Front, deed: tuple[str, str, Any], topic: str, what: str
) -> None:
    engine, events = server.place.engine, server.place.events
    events.follows = False
    async with aclosing(asker.stream("/v1/events")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        assert (await asker.ask(*deed)).status < 300
        told(engine, events)
        event = await reader.find(topic)
    assert [change["what"] for change in event.data["changed"]] == [what]


async def test_a_listener_hears_of_its_queue_or_of_its_task_alone(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    ours, other, third = (make.task(queue=queue) for queue in ("sms", "mail", "sms"))
    paths = ("/v1/events?topics=tasks&queue=sms", f"/v1/events?task={ours.id}")
    for path, wanted in zip(paths, ({ours.id, third.id}, {ours.id}), strict=True):
        async with aclosing(asker.stream(path)) as chunks:
            reader = Reader(chunks)
            await reader.next()
            await engine.submit([ours, other, third])
            told(engine, events)
            data = (await reader.next()).data
            assert {change["id"] for change in data["changed"]} == wanted


async def test_a_key_of_a_tenant_hears_nothing_of_another(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """S2: not even that there was anything."""
    async with aclosing(asker.using("read@board").stream("/v1/events")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        await engine.submit([make.task(tenant="canary", queue="canary")])
        await asker.ask("PATCH", "/v1/tenants/canary", {"weight": 3})
        told(engine, events)
        ours = make.task(tenant="board")
        await engine.submit([ours])
        told(engine, events)
        event = await reader.next()
    assert [change["id"] for change in event.data["changed"]] == [ours.id]


async def test_what_is_not_known_to_be_anothers_counts_as_more(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """A cancel names ids alone: a key of a tenant is told to look, and is not told whose."""
    task = make.task(tenant="canary")
    await engine.submit([task])
    told(engine, events)
    async with aclosing(asker.using("read@board").stream("/v1/events")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        await engine.cancel([task.id])
        told(engine, events)
        data = (await reader.next()).data
    assert (data["changed"], data["more"]) == ([], True)


async def test_what_was_missed_is_told_after_coming_back(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """By Last-Event-ID, or by `after` for those that cannot send it."""
    async with aclosing(asker.stream("/v1/events?topics=tasks")) as chunks:
        mark = (await Reader(chunks).next()).mark or ""
    task = make.task()
    await engine.submit([task])
    told(engine, events)
    for path, headers in (
        ("/v1/events?topics=tasks", {"Last-Event-ID": mark}),
        (f"/v1/events?topics=tasks&after={mark}", {}),
    ):
        async with aclosing(asker.stream(path, headers=headers)) as chunks:
            reader = Reader(chunks)
            await reader.next()
            event = await reader.next()
            assert [change["id"] for change in event.data["changed"]] == [task.id]


async def test_a_mark_is_never_ahead_of_what_was_told(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """No silent gap: a link that breaks before what was missed has come loses nothing."""
    async with aclosing(asker.stream("/v1/events?topics=tasks")) as chunks:
        mark = (await Reader(chunks).next()).mark or ""
    await engine.submit([make.task()])
    told(engine, events)
    for _ in range(2):
        async with aclosing(asker.stream(f"/v1/events?topics=tasks&after={mark}")) as chunks:
            first = read(await anext(chunks))
        assert [event.mark for event in first] == [None]
    async with aclosing(asker.stream(f"/v1/events?topics=tasks&after={mark}")) as chunks:
        assert (await Reader(chunks).find("tasks")).mark == events.mark


async def test_a_sign_of_life_moves_the_mark_of_a_quiet_listener(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    """Whoever hears of little need not read everything again after a break."""
    async with aclosing(asker.stream("/v1/events?topics=alerts")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        await engine.submit([make.task()])
        told(engine, events)
        await events.beat()
        assert (await reader.next()).mark == events.mark == f"{events.process}-1"


@pytest.mark.parametrize("mark", ["0badcafe-0", "nonsense", "{own}-5000", "{own}--1", "{own}-0"])
async def test_what_cannot_be_told_any_more_is_a_reset(
    asker: Asker, events: Events, mark: str
) -> None:
    """Also of another server: no silent gap, ever."""
    async with aclosing(asker.stream("/v1/events")):
        for _ in range(RING // len(UNKNOWN) + 1):
            events.take(UNKNOWN)
            events.publish()
    after = {"Last-Event-ID": mark.format(own=events.process)}
    async with aclosing(asker.stream("/v1/events", headers=after)) as chunks:
        reader = Reader(chunks)
        event = await reader.find("reset")
    assert event.mark == events.mark


async def test_a_listener_that_is_too_slow_gets_one_reset(asker: Asker, events: Events) -> None:
    """Back-pressure: 64 frames wait at most."""
    stream = asker.stream("/v1/events?topics=tasks")
    async with aclosing(stream) as chunks:
        await anext(chunks)
        for _ in range(FRAMES_MOST + 3):
            events.take(UNKNOWN)
            events.publish()
        heard = read(await anext(chunks))
    assert [event.name for event in heard] == ["reset", "tasks", "tasks"]


async def test_frames_are_encoded_once_for_all_who_see_the_same(
    asker: Asker, engine: Engine, events: Events, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost follows the changes and the views."""
    encoded: list[View] = []
    plain = Frame.bytes_for

    def counted(frame: Frame, view: View, process: str) -> bytes | None:
        encoded.append(view)
        return plain(frame, view, process)

    monkeypatch.setattr(Frame, "bytes_for", counted)
    streams = [asker.stream("/v1/events?topics=tasks") for _ in range(5)]
    streams.append(asker.stream("/v1/events?topics=tasks&queue=sms"))
    for stream in streams:
        await anext(stream)
    await engine.submit([make.task(queue="sms")])
    told(engine, events)
    chunks = {await anext(stream) for stream in streams}
    assert (len(encoded), len(chunks)) == (2, 1)
    for stream in streams:
        await stream.aclose()


async def test_a_stream_ends_after_as_many_events_as_were_asked_for(
    asker: Asker, engine: Engine, events: Events, make: Make
) -> None:
    chunks = asker.stream("/v1/events?topics=tasks&limit=2")
    await anext(chunks)
    for _ in range(3):
        await engine.submit([make.task()])
        told(engine, events)
    heard = [event.name async for chunk in chunks for event in read(chunk)]
    assert heard == ["tasks", "tasks"]
    assert events.listeners == 0


async def test_a_listener_that_hangs_up_is_forgotten(asker: Asker, events: Events) -> None:
    """Whatever happens, its place is free again; so it is if the stream never began."""
    streams = [asker.stream("/v1/events") for _ in range(BY_KEY)]
    for stream in streams:
        await anext(stream)
    told = await asker.ask("GET", "/v1/events")
    assert (told.status, told.code) == (429, "too_many_streams")
    assert told.headers["retry-after"]
    for stream in streams:
        await stream.aclose()
    assert events.listeners == 0
    async with aclosing(asker.stream("/v1/events")) as stream:
        await anext(stream)


async def test_signs_of_life_are_sent_while_the_key_is_good(
    asker: Asker, events: Events, server: Front, keys: KnownKeys
) -> None:
    """A key that was revoked ends its streams at the next one."""
    async with aclosing(asker.stream("/v1/events")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        await events.beat()
        assert (await reader.next()).name == ":"

        async def revoked(*_: object) -> Caller:
            raise Problem("unauthorised", "the key is not good any more")

        server.place.admit = events.admit = revoked
        await events.beat()
        bye = await reader.next()
        assert (bye.name, bye.data) == ("bye", {"reason": "unauthorised"})
        with pytest.raises(StopAsyncIteration):
            await reader.next()


async def test_a_server_that_stops_says_goodbye(asker: Asker, events: Events) -> None:
    """Readers come back spread over some seconds, and no stream holds up the end."""
    async with aclosing(asker.stream("/v1/events")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        events.drain()
        bye = await reader.next()
        assert (bye.name, bye.data) == ("bye", {"reason": "shutdown"})
        assert 1_000 <= (bye.retry or 0) < 5_000
        with pytest.raises(StopAsyncIteration):
            await reader.next()
    assert (await asker.ask("GET", "/v1/events")).code == "shutting_down"


async def test_figures_are_told_to_who_sees_everything(asker: Asker, events: Events) -> None:
    """R9.4: the seven figures."""
    async with aclosing(asker.stream("/v1/events?topics=stats")) as chunks:
        reader = Reader(chunks)
        await reader.next()
        await events.tell_figures()
        event = await reader.next()
    assert len(event.data["figures"]) == 7


async def test_nothing_is_collected_while_nobody_listens(
    engine: Engine, events: Events, make: Make
) -> None:
    """SQLite; where others may listen elsewhere it is told them."""
    assert engine.news.on == engine.store.traits.announces


@pytest.mark.parametrize(
    ("key", "query", "code"),
    [
        (None, "", "unauthorised"),
        ("submit", "", "forbidden"),
        ("worker", "", "forbidden"),
        ("read@board", "?topics=sessions", "forbidden"),
        ("read@board", "?topics=tasks,stats", "forbidden"),
        ("read", "?topics=task", "validation_failed"),
        ("read", "?topic=tasks", "validation_failed"),
        ("read", "?limit=0", "validation_failed"),
    ],
    ids=["no key", "submit", "worker", "sessions", "stats", "topic", "unknown", "limit"],
)
async def test_who_may_not_listen_is_told_so(
    asker: Asker, events: Events, key: str | None, query: str, code: str
) -> None:
    assert (await asker.using(key).ask("GET", f"/v1/events{query}")).code == code
    assert events.listeners == 0

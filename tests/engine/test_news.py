"""What an engine changes is collected cheaply and told to other processes (R9.2, B154)."""

import asyncio
from typing import Any

import pytest

from rota.engine import Engine
from rota.engine.news import BYTES_MOST, KEPT, UNKNOWN, Change, News, Paper, Topic, Window, written
from rota.engine.news import read as read_news
from tests.support.factories import Make
from tests.support.places import Place


def changes(count: int, name: str = "t") -> list[Change]:
    return [Change(f"{name}{n}", "ready", "sms", "board") for n in range(count)]


def test_a_window_names_a_hundred_changes_of_a_topic_and_looks_at_no_more() -> None:
    window = Window()
    looked_at: list[str] = []

    def many() -> Any:
        for change in changes(10_000):
            looked_at.append(change.id)
            yield change

    window.add(Topic.TASKS, many())
    window.add(Topic.TASKS, many())
    paper = window.take()
    assert (len(paper[Topic.TASKS].changes), paper[Topic.TASKS].more) == (KEPT, True)
    assert len(looked_at) == KEPT + 1
    assert not window


def test_of_one_thing_the_last_change_counts() -> None:
    window = Window()
    window.add(Topic.TASKS, [Change("a", "ready"), Change("b", "ready")])
    window.add(Topic.TASKS, [Change("a", "running")])
    assert window.take() == {
        Topic.TASKS: News((Change("a", "running"), Change("b", "ready")), more=False)
    }


@pytest.mark.parametrize("name", ["t", "ü" * 40], ids=["short", "long"])
def test_news_comes_through_as_text_of_less_than_8000_bytes(name: str) -> None:
    """PostgreSQL's bound; what has no room counts as more."""
    paper: Paper = {topic: News(tuple(changes(KEPT, name))) for topic in Topic}
    text = written(paper, "a")
    assert len(text.encode()) <= BYTES_MOST
    again = read_news(text, "b")
    for topic, news in again.items():
        assert set(news.changes) <= set(paper[topic].changes)
        assert news.more == (len(news.changes) < KEPT)
    assert again.keys() == paper.keys()
    assert read_news(text, "a") == {}


@pytest.mark.parametrize("text", ["", "[]", '{"a":1}', '["x",{"tasks":3}]'])
def test_text_that_cannot_be_read_says_that_something_changed(text: str) -> None:
    """R8.6: a newer version may write otherwise."""
    assert read_news(text) == UNKNOWN


def test_topics_of_a_newer_version_are_left_out() -> None:
    text = '["x",{"moons":[true,[]],"tasks":[false,[["ready","sms",null,["t1"]]]]}]'
    assert read_news(text) == {Topic.TASKS: News((Change("t1", "ready", "sms"),))}


async def test_each_verb_says_what_became_of_what(engine: Engine, make: Make) -> None:
    """From a submit to the dead letters and back."""
    heard: list[Paper] = []
    engine.news.hear(heard.append)
    session = make.session()
    one, two, three = make.tasks(3)

    def now() -> dict[str, dict[str, str]]:
        engine.news.flush()
        told: dict[str, dict[str, str]] = {}
        for paper in heard:
            for topic, news in paper.items():
                told.setdefault(topic, {}).update({c.id: c.what for c in news.changes})
        heard.clear()
        return told

    await engine.open_session(session)
    assert now() == {"sessions": {session.id: "opened"}}
    await engine.submit([one, two, three])
    assert now() == {"tasks": dict.fromkeys((one.id, two.id, three.id), "ready")}
    await engine.cancel([three.id])
    assert now() == {"tasks": {three.id: "cancelled"}}
    await engine.claim(session.id, ["default"], 2, [])
    assert now() == {"tasks": dict.fromkeys((one.id, two.id), "running")}
    await engine.cancel([one.id])
    assert now() == {"tasks": {one.id: "cancel_requested"}}
    await engine.close_session(session.id)
    assert now() == {"sessions": {session.id: "closed"}}


async def test_nothing_is_collected_unless_somebody_hears(engine: Engine, make: Make) -> None:
    """No cost where nobody listens."""
    on = engine.store.traits.announces
    assert engine.news.on == on
    end = engine.news.hear(lambda _: None)
    assert engine.news.on
    end()
    assert engine.news.on == on

    await engine.submit(make.tasks(2))
    assert bool(engine.news._window) == on


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_other_processes_are_told_apart_from_the_change(
    place: Place, engine: Engine, make: Make
) -> None:
    """B154: by a statement of its own, after the commit."""
    told: asyncio.Queue[Paper] = asyncio.Queue()
    task = make.task()
    async with place.connection() as listener:
        await listener.add_listener(
            "rota_changes", lambda *news: told.put_nowait(read_news(news[-1]))
        )
        await engine.submit([task])
        engine.news.flush()
        async with asyncio.timeout(60):
            paper = await told.get()
    assert paper[Topic.TASKS].changes == (Change(task.id, "ready", "default", ""),)


async def test_who_follows_hears_that_something_changed_elsewhere(
    place: Place, engine: Engine, make: Make
) -> None:
    """Both stores; what, where the store carries that."""
    heard: asyncio.Queue[Paper] = asyncio.Queue()
    other = Engine(place.store(), engine.clock, engine._rng)
    await other.open()
    following = asyncio.create_task(engine.follow(heard.put_nowait))
    async with asyncio.timeout(60):
        assert await heard.get() == UNKNOWN
        while True:
            task = make.task()
            await other.submit([task])
            other.news.flush()
            paper = await heard.get()
            if paper:
                break
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await other.close()
    news = paper[Topic.TASKS]
    assert news.more or Change(task.id, "ready", "default", "") in news.changes

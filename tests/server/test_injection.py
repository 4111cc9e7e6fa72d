"""SQL in every text parameter is a text like any other (S9)."""

from typing import Any
from urllib.parse import quote

import pytest

from rota.engine import Engine
from rota.model import State, TaskFilter
from tests.conformance.steps import bring
from tests.support.asking import Asker
from tests.support.factories import NOW, Make

EVIL = (
    "'",
    "' or '1'='1",
    "'; drop table finished; --",
    "x' union select secret from server_secret --",
    '" or ""="',
    "\\",
    "$1 $$ $a$",
    ":queue ::text",
    "%_%",
    "{} {0} %s %(a)s",
    "/* */ --",
    "a;b",
)
TEXTS = (
    "queue",
    "kind",
    "tenant",
    "tag",
    "key",
    "concurrency_key",
    "error_type",
    "error_group",
    "q",
)
STRICT = (
    *("state", "schedule", "session"),
    *("created_from", "created_to", "run_from", "run_to", "finished_from", "finished_to"),
    *("cursor", "order", "view", "limit"),
)


@pytest.fixture
def make() -> Make:
    """Makes tasks; with ids of its own, which the engine does not make."""
    return Make(7)


async def stands(engine: Engine) -> None:
    """Nothing is lost, found or changed that should not be."""
    counts = await engine.count(TaskFilter(), 100)
    assert counts == {State.READY: 2, State.FAILED: 1, State.COMPLETED: 1}


async def stored(engine: Engine, make: Make) -> None:
    """A few tasks that nobody asks for by their right names."""
    for state in (State.FAILED, State.COMPLETED):
        await bring(engine.store, make, state)
    await engine.store.submit(make.tasks(2), NOW)


async def test_no_filter_of_a_query_is_read_as_sql(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S9: what can be any text finds nothing, the rest is refused."""
    await stored(engine, make)
    for evil in EVIL:
        given = quote(evil, safe="")
        for path in ("/v1/tasks", "/v1/tasks/count", "/v1/dead-letters", "/v1/dead-letters/groups"):
            for name in TEXTS:
                told = await asker.ask("GET", f"{path}?{name}={given}")
                assert told.status == 200, (path, name, told.body)
                assert not told.json.get("items"), (path, name)
                assert not told.json.get("count"), (path, name)
            for name in (f"payload.{given}=1", f"kind=a&payload.a=1&{given}=1"):
                assert (await asker.ask("GET", f"{path}?{name}")).status in (400, 422)
            told = await asker.ask("GET", f"{path}?kind=send_result&payload.student_id={given}")
            assert told.status == 200
            assert not told.json.get("items")
            assert not told.json.get("count")
        for name in STRICT:
            assert (await asker.ask("GET", f"/v1/tasks?{name}={given}")).status in (400, 422), name
    await stands(engine)


async def test_no_text_of_a_body_or_path_is_read_as_sql(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S9."""
    await stored(engine, make)
    for evil in EVIL:
        for name in TEXTS:
            for do in ("cancel", "retry", "delete"):
                body: dict[str, Any] = {"do": do, "filter": {name: evil}, "reason": evil}
                told = await asker.ask("POST", "/v1/actions", body)
                assert (told.status, told.json["changed"]) == (200, 0), (name, told.body)
        by_id = await asker.ask("POST", "/v1/actions", {"do": "cancel", "ids": [evil]})
        assert (by_id.status, by_id.json["changed"]) == (200, 0)
        given = quote(evil, safe="")
        for path in ("tasks", "actions", "dead-letters"):
            assert (await asker.ask("GET", f"/v1/{path}/{given}")).status == 404
    await stands(engine)


async def test_what_is_written_comes_back_as_it_was(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S9: tags and reasons may be any text."""
    for evil in EVIL:
        (task,) = make.tasks(1)
        await engine.store.submit([task], NOW)
        told = await asker.ask("PATCH", f"/v1/tasks/{task.id}", {"tags": [evil]})
        assert (told.status, told.json["tags"]) == (200, [evil])
        found = await asker.ask("GET", f"/v1/tasks?tag={quote(evil, safe='')}")
        assert [item["id"] for item in found.json["items"]] == [task.id]
        letter = await bring(engine.store, make, State.FAILED, make.task(queue="mail"))
        address = f"/v1/dead-letters/{letter.id}"
        discarded = await asker.ask("POST", f"{address}/discard", {"reason": evil})
        assert discarded.json["discard_reason"] == evil

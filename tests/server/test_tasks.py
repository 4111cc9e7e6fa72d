"""Tasks over HTTP: listed, counted, read, waited for and told about (R5, R9.1)."""

import asyncio
from typing import Any

import pytest

from rota.clock import ManualClock
from rota.engine import Engine
from rota.model import State
from rota.server.endings import LOOKS_APART
from rota.server.front import Front
from rota.server.shapes import tasks as shapes
from rota.server.shapes.page import Page
from tests.conformance.steps import bring, open_worker, take
from tests.support.asking import Asker
from tests.support.factories import LATER, NOW, Make, completed
from tests.support.shapes import fits

NOBODY = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"


@pytest.fixture
def make() -> Make:
    """Makes tasks; with ids of its own, which the engine does not make."""
    return Make(7)


async def ids(asker: Asker, address: str) -> list[str]:
    """The ids of a page."""
    told = await asker.ask("GET", address)
    assert told.status == 200, told.body
    return [item["id"] for item in told.json["items"]]


async def one_of_each(engine: Engine, make: Make) -> dict[str, str]:
    """A task in every state: their ids by their states."""
    states = [state for state in State if state is not State.READY]
    made = {state.value: (await bring(engine.store, make, state)).id for state in states}
    return made | {"ready": (await bring(engine.store, make, State.READY)).id}


async def test_a_task_is_shown_as_the_shape_says(asker: Asker, engine: Engine, make: Make) -> None:
    """R9.1: in every state, whole and as a summary."""
    for state, task_id in (await one_of_each(engine, make)).items():
        full = await asker.ask("GET", f"/v1/tasks/{task_id}")
        light = await asker.ask("GET", f"/v1/tasks/{task_id}?view=summary")
        assert (full.status, full.json["state"], full.json["id"]) == (200, state, task_id)
        fits(full.json, shapes.Task)
        fits(light.json, shapes.TaskSummary)
        assert full.json["payload"] == {"student_id": 1}
        assert full.json.keys() - light.json.keys() == {
            "payload", "headers", "result", "errors", "checkpoint"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("GET", "/timeline"), ("GET", "/attempts"), ("GET", "/explain"),
        ("PATCH", ""), ("POST", "/cancel"), ("POST", "/retry"), ("DELETE", ""),
    ],
    ids=str,
)  # fmt: skip
async def test_what_is_not_there_is_404_whatever_its_id_looks_like(
    asker: Asker, method: str, path: str
) -> None:
    """http §2: malformed is as absent."""
    body = {"priority": 0} if method == "PATCH" else {} if path == "/cancel" else None
    for task_id in (NOBODY, "x", "%27%3B--", "0" * 65):
        told = await asker.ask(method, f"/v1/tasks/{task_id}{path}", body)
        assert (told.status, told.code) == (404, "not_found"), task_id


async def test_pages_meet_every_task_once(asker: Asker, engine: Engine, make: Make) -> None:
    """B170: by keyset, newest first; null is the only sign of the end."""
    tasks = make.tasks(7)
    await engine.store.submit(tasks, NOW)
    met: list[str] = []
    address = "/v1/tasks?limit=3"
    while True:
        told = await asker.ask("GET", address)
        fits(told.json, Page[shapes.TaskSummary])
        assert told.json["as_of"].startswith("2027-")
        met += [item["id"] for item in told.json["items"]]
        if told.json["next"] is None:
            break
        address = f"/v1/tasks?limit=3&cursor={told.json['next']}"
    assert met == [task.id for task in reversed(tasks)]


async def test_a_list_goes_by_the_orders_that_have_an_index(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """Pages follow each other in every order, and a cursor belongs to its own."""
    later = [make.task(run_at=LATER - n) for n in range(5)]
    await engine.store.submit(later, NOW)
    address = "/v1/tasks?state=scheduled&order=run_at&limit=2"
    met, cursor = [], ""
    while cursor is not None:
        told = await asker.ask("GET", address + cursor)
        met += [item["id"] for item in told.json["items"]]
        cursor = told.json["next"] and f"&cursor={told.json['next']}"
    assert met == [task.id for task in reversed(later)]

    cursor = (await asker.ask("GET", address)).json["next"]
    other = await asker.ask("GET", f"/v1/tasks?state=scheduled&cursor={cursor}")
    assert (other.status, other.code) == (422, "cursor_mismatch")


async def test_the_order_of_a_lane_needs_its_queue_and_its_tenant(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R7: a key that is bound to a tenant names that one by being it."""
    tasks = [make.task(queue="sms", tenant="board", priority=n) for n in (5, 0, 2)]
    await engine.store.submit(tasks, NOW)
    address = "/v1/tasks?state=ready&order=rank&queue=sms"
    whole = await asker.ask("GET", address)
    assert (whole.status, whole.json["errors"][0]["pointer"]) == (422, "/order")
    for who, found in ((asker, address + "&tenant=board"), (asker.using("read@board"), address)):
        assert await ids(who, found) == [tasks[n].id for n in (1, 2, 0)]


@pytest.mark.parametrize(
    "query",
    [
        "tasks?order=run_at",
        "tasks?order=started_at&state=ready",
        "tasks?order=-finished_at&state=completed",
        "tasks?order=-run_at&state=scheduled",
        "dead-letters?order=run_at",
        "dead-letters?order=-finished_at&discarded=true",
        "dead-letters/groups?order=-created",
    ],
)
async def test_an_order_without_an_index_is_refused(asker: Asker, query: str) -> None:
    """No list is sorted by reading all of it; the field is named."""
    told = await asker.ask("GET", f"/v1/{query}")
    assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/order")


async def test_a_cursor_goes_with_its_filters(asker: Asker, engine: Engine, make: Make) -> None:
    """http §3: another limit or view is fine, another filter is not."""
    await engine.store.submit(make.tasks(5), NOW)
    cursor = (await asker.ask("GET", "/v1/tasks?limit=2&queue=default")).json["next"]
    asked = {
        f"/v1/tasks?queue=default&limit=3&view=full&cursor={cursor}": (200, None),
        f"/v1/tasks?queue=sms&cursor={cursor}": (422, "cursor_mismatch"),
        f"/v1/tasks?cursor={cursor}": (422, "cursor_mismatch"),
        f"/v1/dead-letters?queue=default&cursor={cursor}": (422, "cursor_mismatch"),
        f"/v1/tasks?queue=default&cursor={cursor[:-1]}x": (400, "cursor_invalid"),
        "/v1/tasks?cursor=nonsense": (400, "cursor_invalid"),
    }
    for address, wanted in asked.items():
        told = await asker.ask("GET", address)
        assert (told.status, told.code) == wanted, address


FILTERS: list[tuple[str, str]] = [
    ("state=ready", "ready"),
    ("state=ready,failed", "ready failed"),
    ("queue=default&state=completed", "completed"),
    ("queue=sms", ""),
    ("queue=sms,default&state=running", "running"),
    ("kind=send_result&payload.student_id=1&state=cancelled", "cancelled"),
    ("kind=send_result&payload.student_id=%221%22", ""),
    ("kind=send_result&payload.student_id=one", ""),
    ("tenant=&state=scheduled", "scheduled"),
    ("error_type=ConnectionError", "failed"),
    ("error_group=2b9f1c07d3aa", "failed"),
    ("run_from=2027-01-15T08:30:00Z", "scheduled"),
    ("finished_from=2027-01-15T08:00:00Z&finished_to=2027-01-15T08:00:00.000001Z",
     "completed cancelled failed"),
    ("created_to=2027-01-15T08:00:00Z", ""),
    ("q=0", "scheduled ready running completed cancelled failed"),
    ("q=f", ""),
]  # fmt: skip


async def test_lists_and_counts_go_by_the_same_filters(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R9.1, invariant 8."""
    made = await one_of_each(engine, make)
    for query, states in FILTERS:
        wanted = {made[state] for state in states.split()}
        assert set(await ids(asker, f"/v1/tasks?{query}")) == wanted
        told = await asker.ask("GET", f"/v1/tasks/count?{query}")
        fits(told.json, shapes.StateCount)
        assert (told.json["count"], told.json["capped"]) == (len(wanted), False)
        assert told.json["states"] == dict.fromkeys(states.split(), 1)


WRONG: list[tuple[str, str]] = [
    ("colour=red", "/colour"),
    ("state=done", "/state"),
    ("state=ready,", "/state"),
    ("queue=a&queue=b", "/queue"),
    ("queue=" + ",".join("abcdefghij" * 6), "/queue"),
    ("limit=0", "/limit"),
    ("limit=501", "/limit"),
    ("limit=ten", "/limit"),
    ("view=all", "/view"),
    ("order=priority", "/order"),
    ("created_from=yesterday", "/created_from"),
    ("created_from=2027-01-01T00:00:00", "/created_from"),
    ("created_from=2027-01-02T00:00:00Z&created_to=2027-01-02T00:00:00Z", "/created_to"),
    ("schedule=nightly", "/schedule"),
    ("session=mine", "/session"),
    ("payload.student_id=1", "/kind"),
    ("kind=a&payload.a%22b=1", "/payload"),
    ("kind=a&payload.a..b=1", "/payload"),
    ("kind=a&payload.a=[1]", "/payload/a"),
    ("kind=a&payload.a=1&payload.b=1&payload.c=1", "/payload"),
    ("payload=1", "/payload"),
]  # fmt: skip


async def test_a_filter_that_is_none_is_named(asker: Asker) -> None:
    """S9: by an allow-list; 422 names the parameter."""
    for query, pointer in WRONG:
        told = await asker.ask("GET", f"/v1/tasks?{query}")
        assert (told.status, told.code) == (422, "validation_failed"), told.body
        (error,) = told.json["errors"]
        assert (error["in"], error["pointer"]) == ("query", pointer)


async def test_a_rare_task_is_found_page_by_page_at_a_bounded_cost(
    asker: Asker, engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B170: a page may be empty; `next` says that there is more to look at."""
    monkeypatch.setattr("rota.server.task_pages.LOOK", 300)
    rare = make.task(tags=("rare",))
    await engine.store.submit([rare, *make.tasks(700)], NOW)
    met, pages, address = [], 0, "/v1/tasks?tag=rare"
    while True:
        told = await asker.ask("GET", address)
        met += [item["id"] for item in told.json["items"]]
        pages += 1
        if (cursor := told.json["next"]) is None:
            break
        address = f"/v1/tasks?tag=rare&cursor={cursor}"
    assert (met, pages) == ([rare.id], 3)


async def test_the_story_of_a_task(asker: Asker, engine: Engine, make: Make) -> None:
    """R9.1, R7.8: what happened, which attempts failed, and why it is where it is."""
    failed = await bring(engine.store, make, State.FAILED)
    address = f"/v1/tasks/{failed.id}"

    timeline = await asker.ask("GET", f"{address}/timeline")
    attempts = await asker.ask("GET", f"{address}/attempts")
    explained = await asker.ask("GET", f"{address}/explain")

    fits(timeline.json, shapes.Timeline)
    fits(attempts.json, shapes.Attempts)
    fits(explained.json, shapes.Explanation)
    assert next(one["what"] for one in timeline.json["items"]) == "submitted"
    assert [one["type"] for one in attempts.json["items"]] == ["ConnectionError"]
    assert [one["code"] for one in explained.json["reasons"]] == ["finished"]


# -- waiting ------------------------------------------------------------------------------------


async def waiting(asker: Asker, task_id: str, seconds: float = 30) -> "asyncio.Task[Any]":
    """A call that waits for the task's end."""
    call = asyncio.create_task(asker.ask("GET", f"/v1/tasks/{task_id}?wait_s={seconds}"))
    for _ in range(40):
        await asyncio.sleep(0.001)
    assert not call.done()
    return call


async def test_a_call_waits_until_the_task_is_over(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """http §1: as it stands when it ends."""
    task = make.task()
    await engine.store.submit([task], NOW)
    session = await open_worker(engine.store, make)
    (claimed,) = await take(engine.store, session)
    call = await waiting(asker, task.id)

    await engine.store.finish(session, [completed(claimed, '"sent"')], NOW)
    clock.advance(LOOKS_APART)

    told = await asyncio.wait_for(call, 5)
    assert (told.json["state"], told.json["result"]) == ("completed", "sent")


async def test_a_call_waits_no_longer_than_it_was_told_to(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """http §1: then as the task stands."""
    task = make.task()
    await engine.store.submit([task], NOW)
    call = await waiting(asker, task.id, 5)
    clock.advance(5)
    told = await asyncio.wait_for(call, 5)
    assert (told.status, told.json["state"]) == (200, "ready")
    over = await asker.ask("GET", f"/v1/tasks/{task.id}?wait_s=31")
    assert (over.status, over.code) == (422, "validation_failed")


async def test_who_waits_is_let_go_when_the_server_drains(
    asker: Asker, engine: Engine, make: Make, server: Front
) -> None:
    """http §4: open connections hold up the end."""
    task = make.task()
    await engine.store.submit([task], NOW)
    call = await waiting(asker, task.id)
    for drain in server.place.on_drain:
        drain()
    assert (await asyncio.wait_for(call, 5)).status == 200


async def test_all_who_wait_share_one_look(
    asker: Asker,
    engine: Engine,
    make: Make,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R2.4: no question per call, and none when nobody waits."""
    tasks = make.tasks(20)
    await engine.store.submit(tasks, NOW)
    looks: list[int] = []
    states = engine.states

    async def counted(wanted: Any) -> Any:
        looks.append(len(wanted))
        return await states(wanted)

    monkeypatch.setattr(engine, "states", counted)
    calls = [await waiting(asker, task.id) for task in tasks]
    await engine.cancel([task.id for task in tasks])
    clock.advance(LOOKS_APART)
    await asyncio.wait_for(asyncio.gather(*calls), 5)
    assert len(looks) == 2
    clock.advance(LOOKS_APART)
    await asyncio.sleep(0.05)
    clock.advance(60)
    await asyncio.sleep(0.05)
    assert len(looks) == 2


async def test_nobody_waits_for_what_there_is_not(asker: Asker, make: Make) -> None:
    """http §1: 404 at once."""
    told = await asker.ask("GET", f"/v1/tasks/{make.id()}?wait_s=30")
    assert told.status == 404

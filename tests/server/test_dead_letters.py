"""Dead letters over HTTP: found, grouped, edited, replayed, discarded, restored (R4.4)."""

from typing import Any

import pytest

from rota.engine import Engine
from rota.model import NewTask, State
from rota.server.shapes.dead_letters import DeadLetterGroups, Replayed
from rota.server.shapes.page import Page
from rota.server.shapes.tasks import Task, TaskSummary
from tests.conformance.steps import bring
from tests.support.asking import Asker
from tests.support.factories import Make
from tests.support.shapes import fits


@pytest.fixture
def make() -> Make:
    """Makes tasks; with ids of its own, which the engine does not make."""
    return Make(7)


async def dead(engine: Engine, make: Make, **fields: Any) -> NewTask:
    """A dead letter."""
    return await bring(engine.store, make, State.FAILED, make.task(**fields))


async def test_dead_letters_are_listed_page_by_page(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """B170, R4.4: those that were discarded stand apart."""
    tasks = [await dead(engine, make) for _ in range(5)]
    await bring(engine.store, make, State.COMPLETED)
    await engine.discard([tasks[2].id], "left")
    first = await asker.ask("GET", "/v1/dead-letters?limit=3")
    fits(first.json, Page[TaskSummary])
    rest = await asker.ask("GET", f"/v1/dead-letters?limit=3&cursor={first.json['next']}")
    found = [item["id"] for item in first.json["items"] + rest.json["items"]]
    assert found == [tasks[n].id for n in (4, 3, 1, 0)]
    aside = await asker.ask("GET", "/v1/dead-letters?discarded=true&view=full")
    fits(aside.json, Page[Task])
    assert [item["id"] for item in aside.json["items"]] == [tasks[2].id]
    both = f"/v1/dead-letters?discarded=true&cursor={first.json['next']}"
    assert (await asker.ask("GET", both)).code == "cursor_mismatch"


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("error_type=ConnectionError", 2), ("error_type=None", 0), ("queue=sms", 1),
        ("error_group=2b9f1c07d3aa&queue=default", 1), ("kind=send_result&payload.student_id=1", 2),
    ],
    ids=str,
)  # fmt: skip
async def test_dead_letters_and_groups_go_by_the_same_filters(
    asker: Asker, engine: Engine, make: Make, query: str, number: int
) -> None:
    """R4.4."""
    await dead(engine, make)
    await dead(engine, make, queue="sms")
    listed = await asker.ask("GET", f"/v1/dead-letters?{query}")
    groups = await asker.ask("GET", f"/v1/dead-letters/groups?{query}")
    fits(groups.json, DeadLetterGroups)
    assert len(listed.json["items"]) == number
    assert sum(group["count"] for group in groups.json["items"]) == number


async def test_a_state_is_no_filter_of_dead_letters(asker: Asker) -> None:
    """R1.6: 422 says why."""
    for address in ("/v1/dead-letters?state=failed", "/v1/dead-letters/groups?state=ready"):
        told = await asker.ask("GET", address)
        assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/state")


async def test_a_payload_is_edited_and_replayed_once(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R4.4: each knows of the other; a second replay answers like the first."""
    task = await dead(engine, make)
    address = f"/v1/dead-letters/{task.id}"

    edited = await asker.ask("PATCH", address, {"payload": {"student_id": 2}})
    first = await asker.ask("POST", f"{address}/replay")
    second = await asker.ask("POST", f"{address}/replay")

    fits(edited.json, Task)
    fits(first.json, Replayed)
    assert edited.json["payload"] == {"student_id": 2}
    assert first.json["created"]
    assert not second.json["created"]
    copy = first.json["replayed_as"]
    assert second.json["replayed_as"] == copy
    made = (await asker.ask("GET", f"/v1/tasks/{copy}")).json
    assert (made["state"], made["replay_of"], made["payload"]["student_id"]) == (
        "ready",
        task.id,
        2,
    )
    late = await asker.ask("PATCH", address, {"payload": {"student_id": 3}})
    assert (late.status, late.code) == (409, "already_settled")
    discard = await asker.ask("POST", f"{address}/discard", {"reason": "left"})
    assert (discard.status, discard.code) == (409, "already_settled")


async def test_a_payload_that_does_not_fit_its_handler_is_named(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.6: before it fails again."""
    task = await dead(engine, make)
    body = {"payload": {"student_id": "two"}}
    told = await asker.ask("PATCH", f"/v1/dead-letters/{task.id}", body)
    assert (told.status, told.code) == (422, "validation_failed")
    assert "student_id" in told.json["errors"][0]["pointer"]


async def test_a_discard_says_why_and_is_undone(asker: Asker, engine: Engine, make: Make) -> None:
    """R4.4: both can be repeated."""
    task = await dead(engine, make)
    address = f"/v1/dead-letters/{task.id}"
    for reason in ("", "  ", "x" * 256):
        told = await asker.ask("POST", f"{address}/discard", {"reason": reason})
        assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/reason")
    for _ in range(2):
        told = await asker.ask("POST", f"{address}/discard", {"reason": "has left"})
        fits(told.json, Task)
        assert (told.status, told.json["discard_reason"]) == (200, "has left")
    replay = await asker.ask("POST", f"{address}/replay")
    assert (replay.status, replay.code) == (409, "already_settled")
    for _ in range(2):
        told = await asker.ask("POST", f"{address}/restore")
        assert (told.status, told.json["discarded_at"]) == (200, None)


@pytest.mark.parametrize("key", ["operate", "operate@other"])
@pytest.mark.parametrize(
    "call",
    [
        ("GET", "", None), ("PATCH", "", {"payload": {}}), ("POST", "/replay", None),
        ("POST", "/discard", {"reason": "left"}), ("POST", "/restore", None),
    ],
    ids=["get", "edit", "replay", "discard", "restore"],
)  # fmt: skip
async def test_what_is_no_dead_letter_or_another_tenants_is_404(
    asker: Asker, engine: Engine, make: Make, key: str, call: tuple[str, str, Any]
) -> None:
    """S2: foreign and missing look the same."""
    method, path, body = call
    task = await dead(engine, make, tenant="board")
    ready = await bring(engine.store, make, State.READY)
    ids = [ready.id, make.id(), "x"] if key == "operate" else [task.id]
    for task_id in ids:
        told = await asker.using(key).ask(method, f"/v1/dead-letters/{task_id}{path}", body)
        assert (told.status, told.code) == (404, "not_found")
    (read,) = await engine.get([task.id])
    assert read is not None
    assert (read.discarded_at, read.replayed_as) == (None, None)

"""Actions over HTTP: counted first, done at once or begun, followed and stopped (R5.3)."""

from typing import Any

import pytest

from rota.engine import Engine
from rota.model import State, TaskFilter
from rota.server.shapes.actions import Action
from rota.server.shapes.page import Page
from tests.conformance.steps import bring
from tests.support.asking import Asker, KnownKeys
from tests.support.factories import NOW, Make
from tests.support.shapes import fits


@pytest.fixture
def make() -> Make:
    """Makes tasks; with ids of its own, which the engine does not make."""
    return Make(7)


async def counts(engine: Engine) -> dict[str, int]:
    """All tasks by state."""
    return {state.value: n for state, n in (await engine.count(TaskFilter(), 10_000)).items()}


async def test_a_dry_run_says_what_would_be_done(asker: Asker, engine: Engine, make: Make) -> None:
    """R5.3: how many, and some of them; nothing is changed."""
    tasks = make.tasks(25, queue="sms")
    await engine.store.submit([*tasks, *make.tasks(3)], NOW)
    body = {"do": "cancel", "filter": {"queue": "sms"}, "dry_run": True}

    told = await asker.ask("POST", "/v1/actions", body)

    assert told.status == 200
    fits(told.json, Action)
    shown = told.json
    assert (shown["matched"], shown["capped"], shown["dry_run"]) == (25, False, True)
    assert shown["sample"] == [task.id for task in tasks[:-11:-1]]
    assert (shown["id"], shown["done"], shown["changed"]) == (None, 0, 0)
    assert await counts(engine) == {"ready": 28}


async def test_few_are_changed_before_the_answer(
    asker: Asker, engine: Engine, make: Make, keys: KnownKeys
) -> None:
    """R5.3: up to a thousand; and the audit record says how many."""
    await engine.store.submit([*make.tasks(1_000, queue="sms"), *make.tasks(3)], NOW)
    body = {"do": "cancel", "filter": {"queue": ["sms", "push"]}, "reason": "provider is gone"}

    told = await asker.ask("POST", "/v1/actions", body)

    assert told.status == 200
    fits(told.json, Action)
    assert (told.json["state"], told.json["changed"]) == ("completed", 1_000)
    assert told.json["filter"] == {"queue": ["sms", "push"]}
    assert await counts(engine) == {"ready": 3, "cancelled": 1_000}
    call, _, _ = keys.left[-1]
    assert (call.audit["count"], call.audit["reason"]) == (1_000, "provider is gone")
    assert '"queue":["sms","push"]' in call.audit["target"]


async def test_many_are_left_to_the_nodes(asker: Asker, engine: Engine, make: Make) -> None:
    """R5.3: 202 says where to look."""
    await engine.store.submit(make.tasks(1_001), NOW)

    told = await asker.ask("POST", "/v1/actions", {"do": "cancel", "filter": {"all": True}})

    assert told.status == 202
    fits(told.json, Action)
    where = told.headers["location"]
    assert where == f"/v1/actions/{told.json['id']}"
    assert await counts(engine) == {"ready": 1_001}
    later = make.tasks(2)
    await engine.store.submit(later, NOW)
    while (await engine.carry_on()).next_at is not None:
        shown = (await asker.ask("GET", where)).json
        assert (shown["state"], shown["done"]) == ("running", 1_000)
    ended = await asker.ask("GET", where)
    fits(ended.json, Action)
    assert (ended.json["state"], ended.json["changed"]) == ("completed", 1_001)
    assert ended.json["created_by"] == "admin"
    assert ended.json["ended_at"] == "2027-01-15T08:00:00.000000Z"


async def test_an_action_can_be_stopped(asker: Asker, engine: Engine, make: Make) -> None:
    """R5.3: what is done stays done; to stop it again changes nothing."""
    await engine.store.submit(make.tasks(1_200), NOW)
    begun = await asker.ask("POST", "/v1/actions", {"do": "cancel", "filter": {"all": True}})
    await engine.carry_on()
    for _ in range(2):
        told = await asker.ask("POST", f"{begun.headers['location']}/stop")
        assert (told.status, told.json["state"], told.json["changed"]) == (200, "stopped", 1_000)
    await engine.carry_on()
    assert await counts(engine) == {"ready": 200, "cancelled": 1_000}


async def test_an_action_with_a_rate_is_left_to_the_nodes(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R5.3: however few; nobody waits for the answer of a slow one."""
    await engine.store.submit(make.tasks(5), NOW)
    body = {"do": "cancel", "filter": {"all": True}, "rate": "2/s"}
    told = await asker.ask("POST", "/v1/actions", body)
    assert (told.status, told.json["rate"]) == (202, 2.0)
    await engine.carry_on()
    assert await counts(engine) == {"ready": 3, "cancelled": 2}


@pytest.mark.parametrize(("most", "status"), [(2, 409), (3, 200)])
async def test_no_more_are_changed_than_a_person_saw(
    asker: Asker, engine: Engine, make: Make, most: int, status: int
) -> None:
    """http §3: 409 more_than_expected."""
    await engine.store.submit(make.tasks(3), NOW)
    body = {"do": "cancel", "filter": {"state": "ready"}, "expect_at_most": most}
    told = await asker.ask("POST", "/v1/actions", body)
    assert told.status == status
    assert told.code == ("more_than_expected" if status == 409 else None)
    assert await counts(engine) == ({"ready": 3} if status == 409 else {"cancelled": 3})


DEEDS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"do": "cancel", "deadline": 60}, "running", "running"),
    ({"do": "retry"}, "failed", "ready"),
    ({"do": "amend", "set": {"priority": 0}}, "ready", "ready"),
    ({"do": "amend", "set": {"run_at": "2027-01-15T09:00:00Z"}}, "ready", "scheduled"),
    ({"do": "delete"}, "completed", None),
    ({"do": "delete", "on": "dead_letters"}, "failed", None),
    ({"do": "replay", "on": "dead_letters"}, "failed", "failed"),
    ({"do": "discard", "on": "dead_letters", "reason": "left"}, "failed", "failed"),
]


@pytest.mark.parametrize("way", ["filter", "ids"])
@pytest.mark.parametrize("deed", DEEDS, ids=[f"{b['do']}-{s}-{a}" for b, s, a in DEEDS])
async def test_every_deed_can_be_asked_for(
    asker: Asker, engine: Engine, make: Make, deed: tuple[dict[str, Any], str, str | None], way: str
) -> None:
    """R5.3, R4.4: by a filter and by ids."""
    body, before, after = deed
    task = await bring(engine.store, make, State(before))
    chosen: Any = {"queue": "default"} if way == "filter" else [task.id, make.id(), "x"]

    told = await asker.ask("POST", "/v1/actions", body | {way: chosen})

    assert told.status == 200, told.body
    fits(told.json, Action)
    assert told.json["changed"] == 1
    assert sum(told.json["skipped"].values()) == (0 if way == "filter" else 1)
    (read,) = await engine.get([task.id])
    assert (read and read.state.value) == after


async def test_what_was_discarded_is_restored(asker: Asker, engine: Engine, make: Make) -> None:
    """R4.4."""
    task = await bring(engine.store, make, State.FAILED)
    await engine.discard([task.id], "left")
    body = {"do": "restore", "on": "dead_letters", "filter": {"all": True}}
    assert (await asker.ask("POST", "/v1/actions", body)).json["changed"] == 1
    (read,) = await engine.get([task.id])
    assert read is not None
    assert read.discarded_at is None


EVERYTHING: dict[str, Any] = {"filter": {"all": True}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"do": "cancel"}, "/filter"),
    ({"do": "cancel", "filter": {}}, "/filter"),
    ({"do": "cancel", "filter": {"all": False}}, "/filter"),
    ({"do": "cancel", "filter": {"all": True, "queue": "sms"}}, "/filter/all"),
    ({"do": "cancel", "filter": {"queue": "sms"}, "ids": ["a"]}, "/filter"),
    ({"do": "cancel", "filter": {"colour": "red"}}, "/filter/colour"),
    ({"do": "cancel", "filter": {"state": ["done"]}}, "/filter/state"),
    ({"do": "cancel", "filter": {"created_from": "soon"}}, "/filter/created_from"),
    ({"do": "cancel", "ids": []}, "/ids"),
    ({"do": "cancel", "ids": ["a"] * 1_001}, "/ids"),
    ({"do": "burn", **EVERYTHING}, "/do"),
    ({"do": "replay", **EVERYTHING}, "/do"),
    ({"do": "cancel", "on": "dead_letters", **EVERYTHING}, "/do"),
    ({"do": "cancel", "on": "queues", **EVERYTHING}, "/on"),
    ({"do": "amend", **EVERYTHING}, "/set"),
    ({"do": "amend", "set": {"colour": 1}, **EVERYTHING}, "/colour"),
    ({"do": "amend", "set": {"priority": 11}, **EVERYTHING}, "/priority"),
    ({"do": "cancel", "set": {"priority": 1}, **EVERYTHING}, "/set"),
    ({"do": "retry", "deadline": 5, **EVERYTHING}, "/deadline"),
    ({"do": "cancel", "rate": 0, **EVERYTHING}, "/rate"),
    ({"do": "cancel", "expect_at_most": -1, **EVERYTHING}, "/expect_at_most"),
    ({"do": "discard", "on": "dead_letters", **EVERYTHING}, "/reason"),
    ({"do": "replay", "on": "dead_letters", "filter": {"state": "failed"}}, "/filter/state"),
    ({"do": "cancel", "reason": "x" * 256, **EVERYTHING}, "/reason"),
]  # fmt: skip


async def test_what_does_not_fit_is_named_and_changes_nothing(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.6; an empty filter is never everything."""
    await engine.store.submit(make.tasks(1), NOW)
    for body, pointer in WRONG:
        told = await asker.ask("POST", "/v1/actions", body)
        assert (told.status, told.code) == (422, "validation_failed"), told.body
        assert told.json["errors"][0]["pointer"] == pointer
    assert await counts(engine) == {"ready": 1}
    assert (await asker.ask("GET", "/v1/actions")).json["items"] == []


async def test_to_delete_is_for_admins(asker: Asker, engine: Engine, make: Make) -> None:
    """http §1: as with a single one."""
    await bring(engine.store, make, State.COMPLETED)
    body = {"do": "delete", "filter": {"all": True}}
    told = await asker.using("operate").ask("POST", "/v1/actions", body)
    assert (told.status, told.code) == (403, "forbidden")
    assert await counts(engine) == {"completed": 1}


async def test_an_action_reaches_as_far_as_its_key(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S2: at once, by ids, and when nodes carry it on; others do not see it."""
    own, foreign = make.tasks(1_005, tenant="board"), make.tasks(2, tenant="other")
    await engine.store.submit([*own, *foreign], NOW)
    board = asker.using("operate@board")
    by_ids = {"do": "cancel", "ids": [own[0].id, foreign[0].id]}
    told = await board.ask("POST", "/v1/actions", by_ids)
    assert (told.json["changed"], told.json["skipped"]) == (1, {"not_found": 1})

    begun = await board.ask("POST", "/v1/actions", {"do": "cancel", "filter": {"all": True}})
    assert (begun.status, begun.json["tenant"], begun.json["matched"]) == (202, "board", 1_004)
    while (await engine.carry_on()).next_at is not None:
        pass

    assert await counts(engine) == {"ready": 2, "cancelled": 1_005}
    where = begun.headers["location"]
    for key, status in (("read@board", 200), ("read", 200), ("read@other", 404)):
        assert (await asker.using(key).ask("GET", where)).status == status
    stopped = await asker.using("operate@other").ask("POST", f"{where}/stop")
    assert stopped.status == 404
    assert (await asker.using("read@other").ask("GET", "/v1/actions")).json["items"] == []


async def test_actions_are_listed_page_by_page(asker: Asker, engine: Engine, make: Make) -> None:
    """B170."""
    await engine.store.submit(make.tasks(3), NOW)
    begun = []
    for _ in range(3):
        body = {"do": "cancel", "filter": {"all": True}, "rate": 1}
        begun.append((await asker.ask("POST", "/v1/actions", body)).json["id"])
    first = await asker.ask("GET", "/v1/actions?limit=2")
    fits(first.json, Page[Action])
    rest = await asker.ask("GET", f"/v1/actions?limit=2&cursor={first.json['next']}")
    items = first.json["items"] + rest.json["items"]
    assert [item["id"] for item in items] == begun[::-1]
    assert rest.json["next"] is None
    missing = await asker.ask("GET", f"/v1/actions/{make.id()}")
    assert (missing.status, missing.code) == (404, "not_found")


async def test_an_action_that_is_repeated_under_its_key_is_one_action(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.4, R5.3: what came in between is not met; with a key nodes carry it out, however few."""
    await engine.store.submit(make.tasks(3, queue="sms"), NOW)
    body, once = {"do": "cancel", "filter": {"queue": "sms"}}, {"Idempotency-Key": "gone-1"}
    first = await asker.ask("POST", "/v1/actions", body, headers=once)
    fits(first.json, Action)
    assert (first.status, first.json["matched"]) == (202, 3)
    assert first.headers["location"] == f"/v1/actions/{first.json['id']}"
    await engine.carry_on()
    assert await counts(engine) == {"cancelled": 3}

    await engine.store.submit(make.tasks(2, queue="sms"), NOW)
    again = await asker.ask("POST", "/v1/actions", body, headers=once)
    assert (again.status, again.headers["idempotency-replayed"]) == (202, "true")
    assert (again.json["id"], again.json["changed"]) == (first.json["id"], 3)
    other = await asker.ask("POST", "/v1/actions", body | {"reason": "x"}, headers=once)
    assert (other.status, other.code) == (422, "key_reused")
    dry = await asker.ask("POST", "/v1/actions", body | {"dry_run": True}, headers=once)
    assert (dry.status, dry.json["matched"]) == (200, 2)
    assert await counts(engine) == {"cancelled": 3, "ready": 2}

"""Who changed what is on record: one entry a change, sums for what is frequent (S17)."""

import asyncio
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from rota import Rota
from rota.access import AuditFilter, Outcome, Role, Via
from rota.clock import ManualClock
from rota.config import MINUTE
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.http.verbs import CHANGES
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, roles
from tests.server.doors import ON_SQLITE, Door

CANARY = "canary-7f3a"
_ALL = AuditFilter()


class Body(In, frozen=True):
    max_running: int | None = None
    queue: str = "sms"
    payload: Any = None
    text: str = ""
    reason: str | None = None
    filter: dict[str, Any] | UnsetType = UNSET
    fail: str = ""


async def change(call: Call) -> Answer:
    match call.body.fail:
        case "refused":
            raise Problem("conflict", "no")
        case "failed":
            raise RuntimeError("broken")
    return Answer({"id": "made-1"}, status=201)


async def tell(call: Call) -> Answer:
    call.audit.update(target="limit-1", count=412, change={"max_running": [100, 200]})
    return Answer({})


async def take(call: Call) -> Answer:
    return Answer({})


def a_route(path: str, name: str, run: Any, audit: str, **more: Any) -> Route:
    return Route(
        method="POST", path=path, name=name, summary="Change it.", run=run, tag="tests",
        roles=roles(Role.OPERATE, Role.SUBMIT), takes=Body, audit=audit, **more,
    )  # fmt: skip


ROUTES = (
    a_route("/v1/things", "thing_create", change, "thing.create"),
    a_route("/v1/things/{id}/pause", "thing_pause", change, "thing.pause"),
    a_route("/v1/limits", "limit_update", tell, "limit.update"),
    a_route("/v1/tasks/bulk", "tasks_change", take, "task.change"),
    a_route("/v1/tasks", "task_submit", take, "task.submit", summed=True),
)


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine, ROUTES, proxies=["127.0.0.1"])


async def test_a_change_is_one_entry_that_says_who_what_and_from_where(
    door: Door, clock: ManualClock
) -> None:
    """S17: with the names and numbers of the body, and nothing of its texts."""
    made = await door.make(Role.OPERATE, name="ops", tenant="board")
    body = {"max_running": 5, "payload": {"x": CANARY}, "text": CANARY, "reason": "gateway down"}
    told = await door.using(made.text).ask(
        "POST", "/v1/things", body, headers={"x-forwarded-for": "9.9.9.9"}
    )

    (entry,) = await door.audit()

    assert (entry.key_id, entry.key_name, entry.via) == (made.key.id, "ops", Via.KEY)
    assert (entry.action, entry.target, entry.tenant) == ("thing.create", "made-1", "board")
    assert (entry.at, entry.address) == (clock.now(), "9.9.9.9")
    assert entry.request_id == told.headers["rota-request-id"]
    assert (entry.outcome, entry.count, entry.reason) == (Outcome.OK, 1, "gateway down")
    assert entry.change == '{"max_running":5,"queue":"sms"}'
    assert CANARY not in repr(entry)


@pytest.mark.parametrize(
    ("fail", "outcome"),
    [("", Outcome.OK), ("refused", Outcome.REFUSED), ("failed", Outcome.FAILED)],
    ids=["done", "refused", "failed"],
)
async def test_an_entry_says_what_became_of_it(door: Door, fail: str, outcome: Outcome) -> None:
    """S17: also of what was refused."""
    asker = await door.asker(Role.OPERATE)
    await asker.ask("POST", "/v1/things/sms/pause", {"fail": fail})

    (entry,) = await door.audit()
    assert (entry.outcome, entry.target) == (outcome, "sms")


async def test_a_filter_is_what_a_change_is_about(door: Door) -> None:
    """S17; without one there is nothing to tell, and nothing goes wrong because of that."""
    asker = await door.asker(Role.OPERATE)
    for body in ({"filter": {"queue": "sms"}}, {}):
        assert (await asker.ask("POST", "/v1/tasks/bulk", body)).status == 200

    assert [entry.target for entry in await door.audit()] == ['{"queue":"sms"}', None]


async def test_a_route_may_tell_more(door: Door) -> None:
    """S17: what was before, and how many there were."""
    await (await door.asker(Role.OPERATE)).ask("POST", "/v1/limits", {"max_running": 200})

    (entry,) = await door.audit()
    assert (entry.target, entry.count) == ("limit-1", 412)
    assert entry.change == '{"max_running":[100,200]}'


async def test_what_is_frequent_is_summed_by_key_and_minute(door: Door, clock: ManualClock) -> None:
    """S17: a row for each submit would halve their rate."""
    one, other = await door.make(Role.SUBMIT, name="one"), await door.make(Role.SUBMIT, name="two")
    begin = clock.now() // MINUTE * MINUTE
    for key, times in ((one, 3), (other, 1)):
        for _ in range(times):
            await door.using(key.text).ask("POST", "/v1/tasks", {"payload": CANARY})
    clock.advance(60)
    await door.using(one.text).ask("POST", "/v1/tasks", {})

    await door.access.flush()
    over = await door.engine.audit(_ALL, before_id=None, limit=50)
    assert {(entry.key_name, entry.at, entry.count) for entry in over} == {
        ("one", begin, 3),
        ("two", begin, 1),
    }
    assert {entry.action for entry in over} == {"task.submit"}

    every = await door.audit()
    assert sum(entry.count for entry in every) == 5
    assert CANARY not in repr(every)


async def test_what_could_not_be_written_is_written_later(
    door: Door, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S17, R3.7: the change stands, and so does its entry, in its place."""
    asker = await door.asker(Role.OPERATE)

    async def away(_: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "record", away)
        for target in ("a", "b"):
            told = await asker.ask("POST", f"/v1/things/{target}/pause", {})
            assert told.status == 201

    assert [entry.target for entry in await door.audit()] == ["a", "b"]


async def test_the_end_of_a_server_writes_what_is_left(door: Door, clock: ManualClock) -> None:
    """S17: also of the minute that is not over."""

    asker = await door.asker(Role.SUBMIT)
    await asker.ask("POST", "/v1/tasks", {})
    keeping = asyncio.ensure_future(door.access.keep())
    await asyncio.sleep(0)

    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)

    assert len(await door.engine.audit(_ALL, before_id=None, limit=50)) == 1


@ON_SQLITE
async def test_no_change_goes_by_a_way_that_leaves_no_trace(app: Rota, engine: Engine) -> None:
    """S17: however its address is written."""
    door = Door(app, engine)
    asker = await door.asker(*Role)
    for verb in sorted(CHANGES):
        odd = f"/v1/backend/%{ord(verb[0]):02x}{verb[1:]}"
        assert (await asker.ask("POST", odd, {})).code == "not_found"
        await asker.ask("POST", f"/v1/backend/{verb}", {})

    assert {entry.action for entry in await door.audit()} == {f"seam.{verb}" for verb in CHANGES}


async def test_a_changed_rule_is_told_as_it_was_and_as_it_is(app: Rota, engine: Engine) -> None:
    """S17, R9.4"""
    door = Door(app, engine)
    asker = await door.asker(Role.ADMIN)
    for threshold in (20_000, -1):
        await asker.ask("PATCH", "/v1/alerts/rules/queue_depth", {"threshold": threshold})

    entries = [one for one in await door.audit() if one.action == "alert_rule.update"]

    changes = {one.outcome: one.change for one in entries}
    assert changes[Outcome.OK] == '{"threshold":[10000,20000.0]}'
    assert changes[Outcome.REFUSED] == '{"threshold":-1.0}'

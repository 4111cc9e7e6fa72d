"""What the audit record tells of a change: as it was, as it is, and that it began (S17)."""

import asyncio
from typing import Any, cast

import msgspec
import pytest
from msgspec import structs

from rota import Rota
from rota.access import BEGUN_MARK, AuditEntry, AuditFilter, Outcome, Role
from rota.backend import Backend
from rota.clock import ManualClock
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.http.verbs import verb
from rota.server.noted import difference, noted
from rota.server.route import Route
from rota.server.routes import table
from rota.shares import Limit, QueueSettings, Settings, TenantSettings
from tests.server.doors import NEVER_TOO_OFTEN, ON_SQLITE, PAGE, Door
from tests.support.asking import Asker

CANARY = "canary7f3a"
SLACK = f"https://hooks.slack.example/services/{CANARY}"
SCHEDULE = {
    "kind": "report", "name": "daily", "expression": "0 9 * * *", "tz": "Europe/Berlin",
    "payload": {"day": CANARY}, "headers": {"x": CANARY}, "tags": [CANARY],
}  # fmt: skip
RULE = {"name": "deep", "figure": "queue_depth", "queue": "sms", "threshold": 5000}


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine, bounds=NEVER_TOO_OFTEN)


async def last(door: Door) -> AuditEntry:
    """The newest entry."""
    return (await door.audit())[-1]


async def told_of(door: Door) -> Any:
    change = (await last(door)).change
    return None if change is None else msgspec.json.decode(change)


Step = tuple[str, str, Any, Any]

CHANGES: dict[str, list[Step]] = {
    "a queue": [
        ("PATCH", "/v1/queues/sms", {"max_depth": 10}, {"max_depth": [None, 10]}),
        ("PATCH", "/v1/queues/sms", {"max_depth": 20, "fair_by": "time"},
         {"fair_by": ["tasks", "time"], "max_depth": [10, 20]}),
        ("POST", "/v1/queues/sms/pause", {"reason": "gateway"},
         {"paused": [False, True], "pause_reason": [None, "gateway"]}),
        ("POST", "/v1/queues/sms/resume", None,
         {"paused": [True, False], "pause_reason": ["gateway", None]}),
        ("DELETE", "/v1/queues/sms", None,
         {"fair_by": ["time", "tasks"], "max_depth": [20, None]}),
    ],
    "a tenant": [
        ("PATCH", "/v1/tenants/board", {"weight": 3}, {"weight": [1, 3]}),
        ("POST", "/v1/tenants/board/pause", {},
         {"paused": [False, True]}),
        ("DELETE", "/v1/tenants/board", None, {"paused": [True, False], "weight": [3, 1]}),
    ],
    "a kind": [
        ("POST", "/v1/kinds/report/pause", {}, {"paused": [False, True]}),
        ("POST", "/v1/kinds/report/resume", None, {"paused": [True, False]}),
    ],
    "a limit": [
        ("POST", "/v1/limits", {"queue": "sms", "max_running": 100},
         {"queue": "sms", "max_running": 100}),
        ("PATCH", "/v1/limits/{id}", {"max_running": 200, "rate": 5},
         {"max_running": [100, 200], "rate": [None, 5.0], "burst": [None, 5]}),
        ("DELETE", "/v1/limits/{id}", None,
         {"queue": ["sms", None], "max_running": [200, None], "rate": [5.0, None],
          "burst": [5, None]}),
    ],
    "an alert rule": [
        ("POST", "/v1/alerts/rules", RULE, ...),
        ("PATCH", "/v1/alerts/rules/deep", {"threshold": 7000, "enabled": False},
         {"threshold": [5000.0, 7000.0], "enabled": [True, False]}),
        ("POST", "/v1/alerts/rules/deep/silence", {"for": "2h"}, ...),
        ("DELETE", "/v1/alerts/rules/deep", None, ...),
    ],
    "a webhook": [
        ("POST", "/v1/webhooks", {"url": SLACK, "shape": "slack"},
         {"url": "https://hooks.slack.example/…", "shape": "slack", "enabled": True}),
        ("PATCH", "/v1/webhooks/{id}", {"url": f"{SLACK}/2"}, {"url": "changed"}),
        ("PATCH", "/v1/webhooks/{id}", {"url": "https://other.example/x", "enabled": False},
         {"url": ["https://hooks.slack.example/…", "https://other.example/…"],
          "enabled": [True, False]}),
        ("DELETE", "/v1/webhooks/{id}", None, ...),
    ],
    "a schedule": [
        ("POST", "/v1/schedules", SCHEDULE, ...),
        ("PATCH", "/v1/schedules/daily", {"expression": "0 8 * * *"},
         {"expression": ["0 9 * * *", "0 8 * * *"]}),
        ("PATCH", "/v1/schedules/daily", {"payload": {"day": "2"}, "priority": 1},
         {"payload": "changed", "priority": [5, 1]}),
        ("POST", "/v1/schedules/daily/pause", {"reason": "holidays"},
         {"paused": [False, True], "pause_reason": [None, "holidays"]}),
        ("POST", "/v1/schedules/daily/resume", None,
         {"paused": [True, False], "pause_reason": ["holidays", None]}),
        ("DELETE", "/v1/schedules/daily", None, ...),
    ],
}  # fmt: skip


@ON_SQLITE
@pytest.mark.parametrize("steps", CHANGES.values(), ids=CHANGES)
async def test_a_change_is_told_as_it_was_and_as_it_is(door: Door, steps: list[Step]) -> None:
    """S17: of each field that differs, and of no other; contents and secrets are never told."""
    asker = await door.asker(Role.ADMIN)
    made = ""
    for method, path, body, change in steps:
        told = await asker.ask(method, path.replace("{id}", made), body)
        assert told.status < 300, (method, path, told.body)
        made = made or (told.json.get("id", "") if told.body else "")
        if change is not ...:
            assert await told_of(door) == change, (method, path)

    assert CANARY not in repr(await door.audit())


async def test_what_was_there_is_what_the_change_was_made_for(
    door: Door, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S17: not what somebody had read before a third one was faster."""
    asker = await door.asker(Role.ADMIN)
    put, calls = engine.put_settings, 0

    async def slow(new: QueueSettings, version: int) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:  # somebody else is faster
            assert await put(structs.replace(new, max_depth=7), version)
        return await put(new, version)

    monkeypatch.setattr(engine, "put_settings", slow)
    await asker.ask("PATCH", "/v1/queues/sms", {"max_depth": 10})

    assert calls == 2
    assert await told_of(door) == {"max_depth": [7, 10]}


async def test_what_changes_nothing_tells_of_no_change(door: Door) -> None:
    """S17: a repeat is on record as asked for, and has no before and after."""
    asker = await door.asker(Role.OPERATE)
    for _ in range(2):
        assert (await asker.ask("POST", "/v1/queues/sms/pause", {})).status == 200

    assert await told_of(door) is None


@ON_SQLITE
async def test_the_python_client_s_way_tells_the_same(door: Door, engine: Engine) -> None:
    """S17, ADR 21: its verbs are put down with what was there before, too."""
    asker = await door.asker(Role.ADMIN)
    for depth in (10, 20):
        version = (await engine.settings()).queue("sms").version
        new = QueueSettings(name="sms", max_depth=depth)
        body = msgspec.json.decode(verb("put_settings").ask(new, version))
        told = await asker.ask("POST", "/v1/backend/put_settings", body)
        assert told.status == 200, told.body

    assert (await last(door)).action == "seam.put_settings"
    assert await told_of(door) == {"max_depth": [10, 20]}


# -- that it began --------------------------------------------------------------------------------


async def every(engine: Engine, door: Door) -> list[AuditEntry]:
    await door.access.flush(all_=True)
    return await engine.audit(AuditFilter(), before_id=None, limit=500)


async def test_a_server_that_is_killed_leaves_word_of_what_it_had_begun(
    door: Door, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S17, ADR 27: between a change and its entry; that it was asked for stands there already."""
    asker = await door.asker(Role.ADMIN, name="boss")

    async def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(door.access, "leave", killed)
        with pytest.raises(KeyboardInterrupt):
            await asker.ask("PATCH", "/v1/queues/sms", {"max_depth": 10})

    assert (await engine.settings()).queue("sms").max_depth == 10
    (entry,) = await every(engine, door)
    assert (entry.action, entry.target, entry.outcome) == ("queue.update", "sms", Outcome.BEGUN)
    assert (entry.key_name, entry.change) == ("boss", '{"max_depth":10}')
    listed = await asker.ask("GET", "/v1/audit?outcome=begun")
    assert [one["target"] for one in listed.json["items"]] == ["sms"]


async def test_what_has_ended_is_read_once(door: Door, engine: Engine) -> None:
    """S17: under the id that it had from its beginning; pages lose and repeat nothing."""
    asker = await door.asker(Role.ADMIN)
    for name in "abc":
        await asker.ask("POST", f"/v1/queues/{name}/pause", {})
        await asker.ask("POST", "/v1/webhooks", {"url": "nonsense"})

    whole = await every(engine, door)
    assert [one.outcome for one in whole] == [Outcome.REFUSED, Outcome.OK] * 3
    assert not [one for one in whole if one.id.endswith(BEGUN_MARK)]
    met: list[str] = []
    while page := await engine.audit(AuditFilter(), before_id=met[-1] if met else None, limit=1):
        met += [one.id for one in page]
    assert met == [one.id for one in whole]


async def test_a_record_that_cannot_be_written_keeps_nobody_from_a_change(
    door: Door, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADR 27: neither before nor after; what was changed is written later."""
    asker = await door.asker(Role.OPERATE)

    async def away(_: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "record", away)
        assert (await asker.ask("POST", "/v1/queues/sms/pause", {})).status == 200

    (entry,) = await every(engine, door)
    assert (entry.target, entry.outcome) == ("sms", Outcome.OK)


def test_what_is_frequent_begins_without_an_entry() -> None:
    """R10.1: nothing that submitters and workers call costs a second write."""
    assert not [one.path for one in table() if one.announced and _is_frequent(one)]
    assert len([one for one in table() if one.announced]) > 45


def _is_frequent(route: Route) -> bool:
    return bool({Role.SUBMIT, Role.WORKER} & (route.roles or {Role.SUBMIT}))


# -- that nobody fills it -------------------------------------------------------------------------


async def test_refusals_beyond_a_hundred_a_minute_are_one_entry(
    door: Door, clock: ManualClock
) -> None:
    """S8, S17: whoever has no key does not fill the store; each minute begins anew."""
    stranger = door.using(None)

    async def knock(asker: Asker) -> None:
        await asker.ask("POST", "/v1/login", {"key": "rota_x"}, headers=PAGE)

    for _ in range(150):
        await knock(stranger)
    entries = await door.audit()
    assert len(entries) == 101
    assert {one.outcome for one in entries} == {Outcome.REFUSED}
    assert sum(one.count for one in entries) == 150
    assert {one.address for one in entries} == {"127.0.0.1"}

    clock.advance(60)
    await knock(stranger)
    assert len(await door.audit()) == 102


@ON_SQLITE
async def test_a_key_that_is_refused_again_and_again_fills_nothing(door: Door) -> None:
    """S8: nor does one that cancels what is not there; what it does change is on record."""
    asker = await door.asker(Role.SUBMIT, name="noisy", tenant="board")
    task = {"kind": "report", "payload": {"day": "1"}, "tenant": "board"}
    own = (await asker.ask("POST", "/v1/tasks", task)).json["id"]
    await asyncio.gather(*(asker.ask("POST", "/v1/tasks/nothing/cancel") for _ in range(200)))
    assert (await asker.ask("POST", f"/v1/tasks/{own}/cancel")).status == 200

    entries = [one for one in await door.audit() if one.action == "task.cancel"]
    refused = [one for one in entries if one.outcome is Outcome.REFUSED]
    assert (len(refused), sum(one.count for one in refused)) == (101, 200)
    assert [one.target for one in entries if one.outcome is Outcome.OK] == [own]


@ON_SQLITE
async def test_what_a_key_lacks_the_role_for_is_summed(door: Door, clock: ManualClock) -> None:
    """S8, S17: an entry a key, change and minute; what reads, or opens nothing, is no entry."""
    reader = await door.asker(Role.READ, name="curious")
    before = len(await door.audit())
    for _ in range(3):
        assert (await reader.ask("POST", "/v1/queues/sms/pause", {"reason": "x"})).status == 403
    assert (await reader.ask("POST", "/v1/tasks", {"kind": "report"})).status == 403
    assert (await reader.ask("GET", "/v1/keys")).status == 403
    stranger = door.using("rota_" + "a" * 50)
    assert (await stranger.ask("POST", "/v1/tasks", {"kind": "report"})).status == 401

    clock.advance(60)
    await door.access.flush()
    entries = (await door.audit())[before:]
    assert sorted((one.key_name, one.action, one.outcome, one.count) for one in entries) == [
        ("curious", "queue.pause", Outcome.REFUSED, 3),
        ("curious", "task.submit", Outcome.REFUSED, 1),
    ]
    assert {one.address for one in entries} == {"127.0.0.1"}


def test_a_name_is_told_of_what_is_new_and_of_nothing_else() -> None:
    """S17: afterwards it is the target of every entry, and nobody changes it."""
    assert difference(None, {"name": "a", "rate": 2.0, "id": "x"}) == {"name": "a", "rate": 2.0}
    assert difference({"name": "a", "rate": 2.0}, {"name": "a", "rate": 3.0}) == {
        "rate": [2.0, 3.0]
    }
    assert difference({"name": "a", "rate": 2.0}, None) == {"rate": [2.0, None]}


class Moved:
    """A backend whose settings somebody changes after they were read once."""

    def __init__(self) -> None:
        self.reads = 0

    async def settings(self) -> Settings:
        self.reads += 1
        board = TenantSettings(name="board", weight=self.reads, version=self.reads)
        limit = Limit(id="l", queue="sms", max_running=self.reads, version=self.reads)
        return Settings(tenants={"board": board}, limits=(limit,))

    async def put_settings(self, *_: Any) -> bool:
        return True

    async def put_limit(self, *_: Any) -> bool:
        return True


async def test_what_was_read_before_somebody_else_s_change_is_read_again() -> None:
    """S17: before is what the version that was changed had, not what this call saw first."""
    told: dict[str, Any] = {}
    backend = noted(cast(Backend, Moved()), told)
    await backend.settings()
    await backend.put_settings(TenantSettings(name="board", weight=9), 2)
    assert told["change"] == {"weight": [2, 9]}

    backend = noted(cast(Backend, Moved()), told)
    await backend.settings()
    await backend.put_limit(Limit(id="l", queue="sms", max_running=9), 2)
    assert told["change"] == {"max_running": [2, 9]}

"""A store with two tenants: what the school has is marked, and no answer to the board may show it.

`FOREIGN` says for each noun in a path what the school's is and what nobody's is. A noun that is new
belongs in there.
"""

from typing import Any

import msgspec
from msgspec import Struct, structs

from rota.access import Role, Scope
from rota.actions import Action, Do, On
from rota.engine import Engine
from rota.model import State, TaskFilter, Transition
from rota.requests import Submission
from rota.server.scoped import scoped
from rota.shares import Limit, TenantSettings
from tests.server.doors import Door
from tests.support.factories import LATER, NOW, Make
from tests.support.schedules import a_schedule

CANARY = "canary7f3a"
"""In whatever the school has, in every field that takes a text."""
SCHOOL = Scope(tenant="school")


class Pair(Struct, frozen=True):
    """What is the school's, and what is nobody's and looks alike."""

    foreign: str
    absent: str


class World(Struct):
    """What there is of the school's, by the noun in a path."""

    nouns: dict[str, Pair]
    tasks: list[str]


async def two_tenants(door: Door) -> World:
    """Fill a store with what the school has, and a little of the board's."""
    engine, make = door.engine, Make(31)
    key = await door.make(Role.ADMIN, name=CANARY, tenant="school")
    schedule = a_schedule(make, f"{CANARY}-report")
    work = structs.replace(
        schedule.work, tenant="school", payload=_json({"x": CANARY}), headers=_json({"x": CANARY})
    )
    await engine.create_schedule(structs.replace(schedule, work=work, pause_reason=CANARY))
    dead, session = await _dead_letter(engine, make)
    await engine.put_settings(TenantSettings(name="school", pause_reason=CANARY, paused_at=NOW), 0)
    limit = Limit(id=make.id(), tenant="school", max_running=100)
    await engine.put_limit(limit, 0)
    tasks = [_task(make, run_at=run_at) for run_at in (NOW, LATER)]
    batch = Submission(
        id=make.id(), scope="school", operation="submit_batch", key=CANARY,
        task_ids=tuple(task.id for task in tasks), created_at=NOW, keep_until=LATER,
        key_until=LATER,
    )  # fmt: skip
    await scoped(engine, SCHOOL).submit_once(tasks, batch)
    action = Action(
        id=make.id(), do=Do.RETRY, on=On.TASKS, where=TaskFilter(key=CANARY), reason=CANARY,
        created_at=NOW,
    )  # fmt: skip
    await scoped(engine, SCHOOL).begin_action(action)
    await engine.submit([make.task(tenant="board", queue="sms")])
    return World(
        {
            "tasks": Pair(tasks[0].id, make.id()),
            "dead-letters": Pair(dead, make.id()),
            "batches": Pair(batch.id, make.id()),
            "actions": Pair(action.id, make.id()),
            "schedules": Pair(f"{CANARY}-report", "0123456789-report"),
            "limits": Pair(limit.id, make.id()),
            "sessions": Pair(session, make.id()),
            "keys": Pair(key.key.id, "0" * 12),
            "tenants": Pair("school", "nobody"),
            # Alerts and webhooks are nobody's: for whoever is bound there are none.
            "alerts": Pair(make.id(), make.id()),
            "rules": Pair(CANARY, "0123456789"),
            "webhooks": Pair(make.id(), make.id()),
            # The names of queues and kinds are shared by all tenants.
            "queues": Pair("default", "default"),
            "kinds": Pair("report", "report"),
        },
        [dead, *(task.id for task in tasks)],
    )


async def _dead_letter(engine: Engine, make: Make) -> tuple[str, str]:
    task = _task(make, concurrency_key=None, max_concurrency=None)
    await engine.submit([task])
    session = make.session(name=CANARY, host=CANARY, kinds=(CANARY,))
    await engine.open_session(session)
    (held,) = (await engine.claim(session.id, ["default"], 1, ())).tasks
    error = {"at": NOW, "attempt": 1, "type": CANARY, "message": CANARY, "traceback": CANARY}
    failed = Transition(
        held.id, held.fence, State.FAILED, error=_json(error), group=CANARY, error_type=CANARY,
        error_shape=CANARY, reason=CANARY,
    )  # fmt: skip
    assert await engine.store.finish(session.id, [failed], NOW) == [True]
    return task.id, session.id


def _task(make: Make, **fields: Any) -> Any:
    marked: dict[str, Any] = {
        "kind": "report",
        "tenant": "school",
        "payload": _json({"x": CANARY}),
        "headers": _json({"x": CANARY}),
        "tags": (CANARY,),
        "concurrency_key": f"{CANARY}-gate",
        "max_concurrency": 1,
    }
    return make.task(**marked | fields)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()

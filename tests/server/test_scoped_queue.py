"""The queue in which servers run what is theirs is not for tenants (S8, ADR 24)."""

from typing import Any

import pytest

from rota import Rota
from rota.access import Role
from rota.engine import Engine
from tests.server.doors import ON_SQLITE, Door

TASK = {"kind": "report", "payload": {"day": "1"}, "queue": "rota"}
SCHEDULE = TASK | {"name": "mine", "expression": "0 9 * * *"}
WAYS: dict[str, tuple[str, str, Any]] = {
    "a task": ("POST", "/v1/tasks", TASK),
    "a batch": ("POST", "/v1/tasks/batch", [TASK]),
    "a schedule": ("POST", "/v1/schedules", SCHEDULE),
    "a change": ("PATCH", "/v1/tasks/{id}", {"queue": "rota"}),
    "many at once": (
        "POST", "/v1/actions",
        {"do": "amend", "filter": {"queue": "default"}, "set": {"queue": "rota"}},
    ),
}  # fmt: skip


@ON_SQLITE
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_tenant_cannot_hold_up_the_alerts_of_all(
    app: Rota, engine: Engine, way: tuple[str, str, Any]
) -> None:
    door = Door(app, engine)
    asker = await door.asker(Role.SUBMIT, Role.OPERATE, tenant="board")
    mine = await asker.ask("POST", "/v1/tasks", TASK | {"queue": "default"})
    method, path, body = way

    told = await asker.ask(method, path.replace("{id}", mine.json["id"]), body)

    assert told.status in (403, 422), told.body
    assert b"reach" in told.body  # and not for another fault
    assert await engine.queues_with_work() == ["default"]

"""A trace goes on from a request to the tasks that it makes (R9.3)."""

import pytest

from rota.engine import Engine
from tests.support.asking import Asker

PARENT = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
TASK = {"kind": "send_result", "payload": {"student_id": 1}}


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/batch"])
async def test_tasks_carry_the_parent_of_their_request(
    asker: Asker, engine: Engine, path: str
) -> None:
    body = TASK if path == "/v1/tasks" else [TASK]
    told = await asker.ask("POST", path, body, headers={"traceparent": PARENT})
    assert told.status == 201, told.json
    task_id = told.json["id"] if path == "/v1/tasks" else told.json["items"][0]["id"]
    (task,) = await engine.get([task_id])
    assert task is not None
    assert task.headers["traceparent"] == PARENT


async def test_a_parent_that_is_none_is_left_out(asker: Asker, engine: Engine) -> None:
    told = await asker.ask("POST", "/v1/tasks", TASK, headers={"traceparent": "x" * 5000})
    assert told.status == 201
    (task,) = await engine.get([told.json["id"]])
    assert task is not None
    assert "traceparent" not in task.headers

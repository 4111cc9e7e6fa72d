"""A remote worker's session, and short words for what it asks of a server."""

from typing import Any

from rota.engine import Engine
from rota.model import Task
from tests.support.asking import Asker, Told

LEASE_S = 30.0


class Hand:
    """A remote worker's session, and short words for what it asks."""

    def __init__(self, asker: Asker, session: str = "") -> None:
        self.asker = asker
        self.session = session
        self.number = 0

    async def open(self, request_id: str = "w-1", **fields: Any) -> Told:
        """Open a session and remember it."""
        told = await self.asker.ask("POST", "/v1/sessions", {"request_id": request_id, **fields})
        if told.status == 201:
            self.session = told.json["session"]
        return told

    async def ask(self, verb: str, body: Any = None) -> Told:
        """Ask something of the session."""
        method = "GET" if verb == "held" else "POST"
        return await self.asker.ask(method, f"/v1/sessions/{self.session}/{verb}", body)

    async def claim(self, number: int | None = None, **fields: Any) -> Told:
        """Claim under the next number, without waiting."""
        self.number = self.number + 1 if number is None else number
        body = {"request": self.number, "queues": ["sms"], "slots": 10, "wait_s": 0} | fields
        return await self.ask("claim", body)

    async def got(self, number: int | None = None, **fields: Any) -> list[dict[str, Any]]:
        """Claim and return the tasks."""
        told = await self.claim(number, **fields)
        assert told.status == 200, told.json
        tasks: list[dict[str, Any]] = told.json["tasks"]
        return tasks

    async def finish(self, *items: dict[str, Any]) -> list[dict[str, Any]]:
        """Report, and return the verdicts."""
        told = await self.ask("finish", {"items": list(items)})
        assert told.status == 200, told.json
        verdicts: list[dict[str, Any]] = told.json["items"]
        return verdicts


def done(task: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A report that the task completed."""
    return {"id": task["id"], "fence": task["fence"], "outcome": "completed"} | fields


async def state_of(engine: Engine, task_id: str) -> Task:
    """Read a task."""
    (task,) = await engine.get([task_id])
    assert task is not None
    return task

"""Each bound that a server tells at `GET /v1/server`: what is at it is taken, what is above is not.

S8, issue 6. A bound that is new belongs in here, or is named with the test that tries it.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rota import Rota
from rota.clock import new_rng
from rota.engine import Engine
from rota.server.front import Front
from rota.server.place import Place
from rota.server.routes import table
from rota.server.routes.about import LIMITS
from rota.server.table import Table
from tests.server.doors import ON_SQLITE
from tests.server.hand import Hand, done
from tests.support.asking import Asker, KnownKeys, Told
from tests.support.factories import Make

ELSEWHERE = {
    "body_seconds": "test_bodies: a body that trickles",
    "batch_bytes": "test_bodies: over the bound, however it comes",
    "batch_items": "test_batch: at most 10,000 items",
    "line_bytes": "test_batch: lines are bounded",
    "page": "test_tasks: pages",
    "count_most": "test_tasks: lists and counts",
    "backfill_slots": "test_schedule_slots: a range that cannot be made up for",
}
"""Bounds that other tests try, or that are no bounds of what is sent."""


@pytest.fixture
def asker(engine: Engine) -> Asker:
    """Asks a server whose app has a kind that takes anything."""
    app = Rota("sqlite:///unused.db")

    @app.task(queue="sms")
    async def keep(value: object) -> None: ...  # whatever JSON has

    return Asker(Front(Place(app, engine, rng=new_rng(2)), Table(table()), KnownKeys()), "admin")


Sent = tuple[str, str, Any]


def task(value: Any = 1, **fields: Any) -> Sent:
    return "POST", "/v1/tasks", {"kind": "keep", "payload": {"value": value}} | fields


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else 1


def cron(length: int) -> Sent:
    text = "0" + " " * (length - 8) + "9 * * *"
    return "POST", "/v1/schedules/preview", {"expression": text}


def whole(length: int) -> Sent:
    body = msgspec.json.encode(task()[2])
    return "POST", "/v1/tasks", body + b" " * (length - len(body))


TRIED: dict[str, Callable[[int], Sent]] = {
    "body_bytes": whole,
    "payload_bytes": lambda n: task("x" * (n - len('{"value":""}'))),
    "payload_depth": lambda n: task(deep(n - 1)),
    "tags": lambda n: task(tags=[f"t{i}" for i in range(n)]),
    "tag_chars": lambda n: task(tags=["x" * n]),
    "headers": lambda n: task(headers={f"h{i}": "1" for i in range(n)}),
    "headers_bytes": lambda n: task(headers={"h": "x" * (n - len('{"h":""}'))}),
    "key_chars": lambda n: task(key="k" * n),
    "reason_chars": lambda n: ("POST", "/v1/queues/sms/pause", {"reason": "r" * n}),
    "cron_chars": cron,
    "priority_lowest": lambda n: task(priority=n),
    "delay_s": lambda n: task(delay=n),
    "page_most": lambda n: ("GET", f"/v1/tasks?limit={n}", None),
    "wait_s": lambda n: ("GET", f"/v1/tasks/{Make(1).id()}?wait_s={n}", None),
}
"""How each bound is met: what is sent that is as large as a number says."""
OF_WORKERS = {"claim", "result_bytes", "checkpoint_bytes"}


def test_every_bound_that_is_told_is_tried() -> None:
    assert set(LIMITS) == {*ELSEWHERE, *TRIED, *OF_WORKERS}


async def send(asker: Asker, sent: Sent) -> Told:
    method, path, body = sent
    return await asker.ask(method, path, **{"raw" if isinstance(body, bytes) else "body": body})


@ON_SQLITE
@pytest.mark.parametrize("name", TRIED)
async def test_at_a_bound_it_is_taken_and_above_it_is_refused(asker: Asker, name: str) -> None:
    """S8."""
    told = (await asker.ask("GET", "/v1/server")).json["limits"]
    most = int(told[name])

    at = await send(asker, TRIED[name](most))
    above = await send(asker, TRIED[name](most + 1))

    assert at.status in (200, 201, 404), at.body
    assert above.status in (413, 422), above.body
    assert above.code in ("too_large", "validation_failed", "invalid_schedule")


@ON_SQLITE
async def test_what_workers_send_is_bounded(asker: Asker) -> None:
    """S8: the slots of a claim, a checkpoint and a result."""
    hand = Hand(asker.using("worker"))
    await hand.open(kinds=["keep"])
    for _ in range(2):
        assert (await send(asker, task())).status == 201
    assert (await hand.claim(slots=LIMITS["claim"] + 1)).status == 422
    first, second = await hand.got(slots=LIMITS["claim"])

    for size, verdict in ((0, "applied"), (1, "invalid")):
        checkpoint = "x" * (LIMITS["checkpoint_bytes"] - len('""') + size)
        item = {"id": first["id"], "fence": first["fence"], "checkpoint": checkpoint}
        (noted,) = (await hand.ask("progress", {"items": [item]})).json["items"]
        assert noted["verdict"] == verdict
    fits = "x" * (LIMITS["result_bytes"] - len('""'))
    verdicts = await hand.finish(done(first, result=fits), done(second, result=fits + "x"))
    assert [one["verdict"] for one in verdicts] == ["applied", "invalid"]

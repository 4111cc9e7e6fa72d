"""The API is tried against its own document: what it answers is what it says (R8.5).

What makes sense beyond types (a kind, a cron expression) is refused with 422, which is described;
so what is checked is that every answer is one that the document has.
"""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rota import Rota
from rota.clock import new_rng
from rota.server.openapi import document
from rota.server.routes import table
from rota.server.run import Running
from rota.server.settings import ServerSettings
from rota.sync import new_event_loop
from tests.support.serving import wait_for_listener

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
LEFT_OUT = {
    "login_create": "five tries a minute are let through",
    **{route.name: "it goes on until its reader hangs up" for route in table() if route.stream},
}
UNREADY = {"GET /readyz"}
"""What answers 503 because that is the answer."""
EXAMPLES = 6
"""Of each operation; a change of the seed tries others."""

schema = schemathesis.openapi.from_dict(document(table())).exclude(operation_id=sorted(LEFT_OUT))


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: Any) -> bytes:
    """A list as one item in each line; what is text already is sent as it is."""
    if isinstance(value, list):
        return b"".join(msgspec.json.encode(item) + b"\n" for item in value)
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server on a loop of its own, and an admin's key."""
    folder: Path = tmp_path_factory.mktemp("served")
    app = Rota(f"sqlite:///{folder / 'rota.db'}")

    @app.task
    def report(day: str = "") -> str:
        return day

    key = app.keys.create("fuzz", ["admin"]).text
    settings_ = ServerSettings(port=0, any_kind=True, rate=100_000)
    begun = threading.Event()
    running: list[tuple[Running, asyncio.AbstractEventLoop]] = []

    async def main() -> None:
        one = Running(app, settings_, rng=new_rng(7))
        running.append((one, asyncio.get_running_loop()))
        begun.set()
        await one.run()

    def work() -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(60)
    one, loop = running[0]
    wait_for_listener(one.port)
    yield f"http://127.0.0.1:{one.port}", key
    loop.call_soon_threadsafe(one.stop)
    thread.join(60)
    app.close()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_one_that_the_document_has(
    case: Case[Any], served: tuple[str, str]
) -> None:
    address, key = served
    checks = CHECKS[1:] if case.operation.label in UNREADY else CHECKS
    case.call_and_validate(
        base_url=address, headers={"Authorization": f"Bearer {key}"}, checks=checks, timeout=35
    )

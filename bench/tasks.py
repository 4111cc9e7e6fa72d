"""The tasks that are measured: as calls for Rota, and as what Rota makes of them for controls."""

from collections.abc import Iterator

from bench.app import Bench, bench_app, phone
from rota.call import Call
from rota.clock import Ids, wall
from rota.model import NewTask

BATCH = 2_000
"""The rows of one transaction, as `submit_many` cuts them (R1.5)."""


def calls(bench: Bench, count: int, tenants: int = 0) -> Iterator[Call]:
    """Yield calls of the task that does nothing, of each tenant in turn if there are any."""
    kinds = [bench.noop.using(tenant=f"tenant-{n}") for n in range(tenants)] or [bench.noop]
    for number in range(count):
        yield kinds[number % len(kinds)].bind(number, phone=phone(number))


def new_tasks(url: str, count: int) -> list[NewTask]:
    """Return what Rota would store for these calls, for a control that shall only store it."""
    now = wall()
    ids = Ids().many(now, count)
    made = calls(bench_app(url), count)
    return [call.task(task_id, now) for call, task_id in zip(made, ids, strict=True)]


def preload(url: str, count: int, tenants: int = 0) -> None:
    """Fill a store with ready tasks, the usual way."""
    bench = bench_app(url)
    with bench.app as app:
        app.submit_many(calls(bench, count, tenants))

"""`/metrics` in the format of Prometheus: exact, bounded, and without names of tenants (R9.3)."""

from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.node.metrics import VALUES_MOST, Bounded
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from rota.server.front import Front
from rota.server.metrics import STALE
from rota.shares import Limit, QueueSettings
from rota.store.base import Store
from tests.support.asking import Asker
from tests.support.factories import Make

LABELS = {"queue", "kind", "outcome", "result", "state", "figure", "route", "method", "status"}
LABELS |= {"limit", "version", "store", "tzdata", "le"}


@pytest.fixture
def make() -> Make:
    """Makes what tests need."""
    return Make()


class Scraped:
    """What Prometheus makes of an answer."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        """Return one series."""
        found = [s.value for s in self.samples if s.name == name and labels == s.labels]
        assert len(found) <= 1, (name, labels)
        return found[0] if found else None

    def values(self, label: str) -> set[str]:
        """Return every value of a label."""
        return {s.labels[label] for s in self.samples if label in s.labels}


async def scrape(asker: Asker) -> Scraped:
    """Read the metrics as Prometheus does."""
    told = await asker.ask("GET", "/metrics")
    assert told.status == 200
    assert told.headers["content-type"].startswith("text/plain")
    return Scraped(told.body.decode())


async def test_what_can_be_known_is_there_from_the_start(asker: Asker) -> None:
    """R9.3: a rate of a series that begins at 1 would miss the first."""
    found = await scrape(asker)
    line = {"queue": "sms", "kind": "send_result"}
    for name in ("submitted", "refused", "started"):
        assert found.value(f"rota_tasks_{name}_total", **line) == 0
    for outcome in ("completed", "failed", "cancelled", "retried", "snoozed", "released"):
        assert found.value("rota_tasks_finished_total", outcome=outcome, **line) == 0
    assert found.value("rota_task_run_seconds_count", **line) == 0
    assert found.value("rota_claims_total", result="none") == 0
    assert found.value("rota_stale_reports_total", queue="sms") == 0
    assert found.value("rota_http_in_flight") is not None


async def test_metrics_say_what_was_done(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.1, invariant 8."""
    session = make.session(queues=("sms",), lease_until=clock.now() + LEASE)
    await engine.open_session(session)
    await engine.submit(make.tasks(7, queue="sms"))
    tasks = (await engine.claim(session.id, ("sms",), 5, ())).tasks
    ended = [Report(task, Completed(), Backoff(), seconds=0.4) for task in tasks[:3]]
    await engine.finish(session.id, ended)
    await engine.finish(session.id, ended[:1])
    clock.advance(1)

    found = await scrape(asker)

    line = {"queue": "sms", "kind": "send_result"}
    assert found.value("rota_tasks_submitted_total", **line) == 7
    assert found.value("rota_tasks_started_total", **line) == 5
    assert found.value("rota_tasks_finished_total", outcome="completed", **line) == 3
    assert found.value("rota_stale_reports_total", queue="sms") == 1
    assert found.value("rota_task_run_seconds_bucket", le="0.5", **line) == 3
    assert found.value("rota_task_run_seconds_bucket", le="0.2", **line) == 0
    assert found.value("rota_task_run_seconds_sum", **line) == pytest.approx(1.2)
    assert found.value("rota_store_tasks", queue="sms", state="ready") == 2
    assert found.value("rota_store_tasks", queue="sms", state="running") == 2
    figures = (await asker.ask("GET", "/v1/stats/figures")).json["figures"]
    depth = found.value("rota_figure", figure="queue_depth")
    assert depth == 2 == figures[0]["value"]


async def test_calls_are_counted_by_their_routes_and_never_by_their_paths(
    asker: Asker, server: Front
) -> None:
    """S6: whoever tries a thousand addresses makes no thousand series."""
    for n in range(50):
        await asker.ask("GET", f"/v1/nothing-{n}")
        await asker.ask("GET", f"/v1/queues/queue-{n}")
        await asker.ask(f"BREW{n}", "/v1/queues")

    found = await scrape(asker)

    routes = found.values("route")
    assert "unmatched" in routes
    assert routes <= {route.path for route in server.table.routes} | {"unmatched"}
    assert found.values("method") <= {"GET", "other"}
    named = found.value("rota_http_request_duration_seconds_count", route="/v1/queues/{name}")
    assert named == 50


async def test_nobody_s_name_becomes_a_series(asker: Asker, engine: Engine, make: Make) -> None:
    """S6: neither tenants nor ids nor keys are labels."""
    tasks = [make.keyed(f"canary-{n}", tenant=f"canary-{n}", tags=("canary",)) for n in range(5)]
    await engine.submit(tasks)
    limits = [Limit(id="canary", tenant="canary", max_running=1)]
    limits += [Limit(id="id-1", queue="sms", max_running=9)]
    for limit in limits:
        assert await engine.put_limit(limit, 0)

    told = await asker.ask("GET", "/metrics")
    found = Scraped(told.body.decode())

    assert b"canary" not in told.body
    assert all(task.id.encode() not in told.body for task in tasks)
    assert {label for sample in found.samples for label in sample.labels} <= LABELS
    assert found.value("rota_limit_max", limit="sms") == 9
    assert found.values("limit") == {"sms"}


async def test_queues_without_end_make_no_series_without_end(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """S6: two hundred have names of their own, and those of the app are among them."""
    many = [make.task(queue=f"q{n}", kind=f"k{n}") for n in range(VALUES_MOST + 100)]
    await engine.submit(many)

    found = await scrape(asker)

    assert len(found.values("queue")) == VALUES_MOST + 1
    assert {"_other", "sms", "default"} <= found.values("queue")
    assert len(found.values("kind")) == VALUES_MOST + 1
    submitted = [s.value for s in found.samples if s.name == "rota_tasks_submitted_total"]
    assert sum(submitted) == len(many)


async def test_a_paused_queue_is_no_depth_that_alerts(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.4, R7.7: its tasks are shown all the same."""
    await engine.submit(make.tasks(3))
    await engine.put_settings(QueueSettings(name="default", paused_at=clock.now()), 0)
    found = await scrape(asker)
    assert found.value("rota_store_tasks", queue="default", state="ready") == 3
    assert found.value("rota_figure", figure="queue_depth") == 0


class Gone:
    """A store that is away."""

    def __init__(self, store: Store) -> None:
        self.traits = store.traits

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: Any, **__: Any) -> None:
            raise StoreUnavailable("cut off")

        return fail


async def test_what_was_counted_is_told_while_the_store_is_away(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R3.7: this is when people look; what the store said long ago is not shown as the present."""
    await engine.submit(make.tasks(3, queue="sms"))
    assert (await scrape(asker)).value("rota_store_up") == 1
    store, engine.store = engine.store, Gone(engine.store)
    try:
        clock.advance(STALE - 1)
        assert (await scrape(asker)).value("rota_store_tasks", queue="sms", state="ready") == 3
        clock.advance(2)
        found = await scrape(asker)
    finally:
        engine.store = store

    assert found.value("rota_store_up") == 0
    assert found.value("rota_store_tasks", queue="sms", state="ready") is None
    line = {"queue": "sms", "kind": "send_result"}
    assert found.value("rota_tasks_submitted_total", **line) == 3
    assert (await scrape(asker)).value("rota_store_up") == 1


def test_a_label_has_so_many_values_and_no_more() -> None:
    """S6: first come, first served; what had a name keeps it."""
    label = Bounded(most=2, first=["a"])

    def seen(values: Iterable[str]) -> list[str]:
        return [label(value) for value in values]

    assert seen("abcab") == ["a", "b", "_other", "a", "b"]

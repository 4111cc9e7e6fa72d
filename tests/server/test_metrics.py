"""`/metrics` in the format of Prometheus: exact, bounded, and without names of tenants (R9.3)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rota.backend import Report
from rota.clock import ManualClock
from rota.config import LEASE, SECOND
from rota.engine import Engine
from rota.errors import Overloaded, SessionGone, StoreError, StoreFull, StoreUnavailable
from rota.node.metric_shapes import VALUES_MOST, Bounded
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from rota.server.front import Front
from rota.server.metrics import STALE
from rota.shares import Limit, QueueSettings
from rota.store.base import Store
from tests.support.asking import Asker
from tests.support.exposition import Exposed
from tests.support.factories import Make
from tests.support.schedules import a_schedule

REFERENCE = Path(__file__).parents[2] / "docs/reference/metrics.md"
LABELS = {"queue", "kind", "outcome", "result", "state", "figure", "route", "method", "status"}
LABELS |= {"limit", "version", "store", "tzdata", "le", "class", "reason", "source", "verb"}
LABELS |= {"logger", "level", "error"}
CLASSES = ("critical", "high", "normal", "low")


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
    assert found.value("rota_tasks_started_total", **line) == 0
    for name in CLASSES:
        here = {"queue": "sms", "class": name}
        assert found.value("rota_tasks_submitted_total", **here) == 0
        assert found.value("rota_task_wait_seconds_count", **here) == 0
        for reason in ("queue", "tenant"):
            # Critical tasks are never refused.
            refused = None if name == "critical" else 0
            assert found.value("rota_tasks_refused_total", **here, reason=reason) == refused
    for source in ("delay", "schedule", "retry"):
        assert found.value("rota_task_lateness_seconds_count", source=source) == 0
    for error in ("unavailable", "full", "other"):
        assert found.value("rota_store_errors_total", error=error) == 0
    assert found.value("rota_claim_duration_seconds_count") == 0
    assert found.value("rota_schedule_backlog") == 0
    for state in ("ready", "running"):
        assert found.value("rota_store_tasks", queue="sms", state=state) == 0
    assert found.value("rota_store_dead_letters", queue="sms") == 0
    assert found.value("rota_log_records_total", logger="rota.worker", level="error") is not None
    for outcome in ("completed", "failed", "cancelled", "retried", "snoozed", "released"):
        assert found.value("rota_tasks_finished_total", outcome=outcome, **line) == 0
    assert found.value("rota_task_run_seconds_count", **line) == 0
    assert found.value("rota_claims_total", result="none") == 0
    assert found.value("rota_stale_reports_total", queue="sms") == 0
    assert found.value("rota_http_in_flight") is not None


TABLE: dict[str, tuple[str, set[str]]] = {
    "rota_tasks_submitted_total": ("counter", {"queue", "class"}),
    "rota_tasks_refused_total": ("counter", {"queue", "class", "reason"}),
    "rota_tasks_started_total": ("counter", {"queue", "kind"}),
    "rota_tasks_finished_total": ("counter", {"queue", "kind", "outcome"}),
    "rota_tasks_expired_total": ("counter", {"queue"}),
    "rota_stale_reports_total": ("counter", {"queue"}),
    "rota_leases_lost_total": ("counter", {"queue"}),
    "rota_claims_total": ("counter", {"result"}),
    "rota_http_requests_total": ("counter", {"route", "method", "status"}),
    "rota_store_errors_total": ("counter", {"error"}),
    "rota_log_records_total": ("counter", {"logger", "level"}),
    "rota_task_wait_seconds": ("histogram", {"queue", "class"}),
    "rota_task_lateness_seconds": ("histogram", {"source"}),
    "rota_task_run_seconds": ("histogram", {"queue", "kind"}),
    "rota_claim_duration_seconds": ("histogram", set()),
    "rota_http_request_duration_seconds": ("histogram", {"route"}),
    "rota_store_statement_duration_seconds": ("histogram", {"verb"}),
    "rota_http_in_flight": ("gauge", set()),
    "rota_sse_listeners": ("gauge", set()),
    "rota_store_up": ("gauge", set()),
    "rota_store_tasks": ("gauge", {"queue", "state"}),
    "rota_store_oldest_ready_timestamp_seconds": ("gauge", {"queue"}),
    "rota_store_dead_letters": ("gauge", {"queue"}),
    "rota_schedule_backlog": ("gauge", set()),
    "rota_limit_running": ("gauge", {"limit"}),
    "rota_limit_max": ("gauge", {"limit"}),
    "rota_figure": ("gauge", {"figure"}),
    "rota_scheduler_last_tick_timestamp_seconds": ("gauge", set()),
    "rota_clock_offset_seconds": ("gauge", set()),
    "rota_build_info": ("gauge", {"version", "store", "tzdata"}),
}
"""Every series of a server: what kind it is of, and by what it is split."""

BOUNDS = {
    "rota_task_wait_seconds": (0.005, 3600),
    "rota_task_lateness_seconds": (0.005, 3600),
    "rota_task_run_seconds": (0.005, 7200),
    "rota_claim_duration_seconds": (0.001, 10),
    "rota_http_request_duration_seconds": (0.001, 10),
    "rota_store_statement_duration_seconds": (0.0005, 30),
}


async def test_every_series_is_what_the_reference_says(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R9.3: names, types, labels and bounds, by the rules of the format; the page has each."""
    assert await engine.put_limit(Limit(id="id-1", queue="sms", max_running=9), 0)
    await engine.submit(make.tasks(2, queue='q"\\\n'))
    await engine.stage()
    await asker.ask("GET", "/metrics")

    found = Exposed((await asker.ask("GET", "/metrics")).body.decode())

    assert found.faults == []
    assert {name: (kind, found.labels(name)) for name, kind in found.types.items()} == TABLE
    for name, (first, last) in BOUNDS.items():
        bounds = found.bounds(name)
        assert (bounds[0], bounds[-2]) == (first, last)
        assert 13 <= len(bounds) <= 16
    page = REFERENCE.read_text()
    assert [name for name in TABLE if f"`{name}`" not in page] == []


async def test_schedules_that_nobody_fires_are_a_backlog(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.3, R6.4: those that are paused are not; it is read as seldom as the other figures."""
    for n, (ahead, paused) in enumerate(((-5, None), (-1, None), (-1, 1), (3_600, None))):
        at = clock.now() + ahead * SECOND
        schedule = a_schedule(make, f"s-{n}", next_slot=at, next_at=at, paused_at=paused)
        assert await engine.store.create_schedule(schedule)
    assert (await scrape(asker)).value("rota_schedule_backlog") == 2


async def test_what_overload_refuses_is_told_by_class_and_by_whose_depth_it_was(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.7, R9.3."""
    await engine.put_settings(QueueSettings(name="sms", max_depth=2), 0)
    await engine.submit(make.tasks(2, queue="sms", priority=8))
    with pytest.raises(Overloaded):
        await engine.submit([make.task(queue="sms", priority=9)])
    found = await scrape(asker)
    refused = {"queue": "sms", "class": "low"}
    assert found.value("rota_tasks_refused_total", **refused, reason="queue") == 1
    assert found.value("rota_tasks_refused_total", **refused, reason="tenant") == 0


async def test_what_the_store_refuses_is_counted(asker: Asker, engine: Engine) -> None:
    """R3.7: by kind of error; an answer that happens to be an error is none."""
    timings = engine.store.timings
    for error in (StoreUnavailable("x"), StoreFull("x"), StoreError("x"), SessionGone("x")):
        timings.failed(error)
    found = await scrape(asker)
    for kind in ("unavailable", "full", "other"):
        assert found.value("rota_store_errors_total", error=kind) == 1


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
    assert found.value("rota_tasks_submitted_total", **{"queue": "sms", "class": "normal"}) == 7
    assert found.value("rota_tasks_submitted_total", **{"queue": "sms", "class": "low"}) == 0
    assert found.value("rota_task_wait_seconds_count", **{"queue": "sms", "class": "normal"}) == 5
    assert found.value("rota_claim_duration_seconds_count") == 1
    took = found.value("rota_store_statement_duration_seconds_count", verb="finish")
    assert took == 2
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
        self.timings = store.timings

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
    assert found.value("rota_tasks_submitted_total", **{"queue": "sms", "class": "normal"}) == 3
    assert (await scrape(asker)).value("rota_store_up") == 1


def test_a_label_has_so_many_values_and_no_more() -> None:
    """S6: first come, first served; what had a name keeps it."""
    label = Bounded(most=2, first=["a"])

    def seen(values: Iterable[str]) -> list[str]:
        return [label(value) for value in values]

    assert seen("abcab") == ["a", "b", "_other", "a", "b"]

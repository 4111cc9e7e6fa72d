"""Statistics, figures and scaling over HTTP (R9.1, R9.4, R9.6)."""

from typing import Any

import msgspec
import pytest

from rota import Rota
from rota.access import Role
from rota.backend import Report
from rota.clock import ManualClock
from rota.config import HOUR, LEASE, MINUTE
from rota.engine import Engine
from rota.figures import THRESHOLDS, Figure
from rota.model import AttemptError
from rota.policy.histogram import BOUNDS
from rota.policy.lifecycle import Completed, Failed
from rota.policy.retry import Backoff
from rota.server.shapes import statistics as shapes
from rota.shares import QueueSettings
from rota.times import show_instant
from tests.server.doors import ON_SQLITE, Door
from tests.support.asking import Asker
from tests.support.factories import NOW, Make


@pytest.fixture
def make() -> Make:
    """Makes what tests need."""
    return Make()


async def work_off(
    engine: Engine, make: Make, count: int, failed: int = 0, tenant: str = ""
) -> None:
    """Let a worker do tasks of the queue sms, some of them in vain."""
    session = make.session(queues=("sms",), lease_until=engine.clock.now() + LEASE, slots=50)
    await engine.open_session(session)
    await engine.submit(make.tasks(count, queue="sms", tenant=tenant))
    tasks = (await engine.claim(session.id, ("sms",), count, ())).tasks
    error = Failed(AttemptError(at=NOW, attempt=1, type="E", message="no"), permanent=True)
    endings = [error] * failed + [Completed()] * (count - failed)
    pairs = zip(tasks, endings, strict=True)
    await engine.finish(session.id, [Report(t, e, Backoff(), seconds=0.5) for t, e in pairs])
    await engine.flush()


async def test_what_happened_is_shown_step_by_step(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.1: the minute that goes on is among it."""
    await work_off(engine, make, 10, failed=2)
    clock.advance(120)
    await work_off(engine, make, 5)

    told = await asker.ask("GET", "/v1/stats?since=10m&buckets=true")

    shown = msgspec.convert(told.json, shapes.Stats)
    first, second = shown.items
    assert (first.submitted, first.started, first.completed, first.failed) == (10, 10, 8, 2)
    assert (second.submitted, second.completed, second.at) == (
        5,
        5,
        show_instant(clock.now() - clock.now() % MINUTE),
    )
    assert (first.run.count, first.run.mean_s) == (10, 0.5)
    assert shown.bounds == list(BOUNDS)
    assert first.run.buckets is not None
    assert sum(first.run.buckets) == 10
    assert not shown.truncated


async def test_statistics_are_split_and_chosen(asker: Asker, engine: Engine, make: Make) -> None:
    """R9.1."""
    await work_off(engine, make, 3)
    await engine.submit([make.task(queue="mail", kind="report")])
    await engine.flush()

    async def seen(query: str) -> list[tuple[str | None, str | None, int]]:
        told = await asker.ask("GET", f"/v1/stats?{query}")
        return [(one["queue"], one["kind"], one["submitted"]) for one in told.json["items"]]

    assert await seen("step=1h&since=1h") == [(None, None, 4)]
    assert await seen("by=queue") == [("mail", None, 1), ("sms", None, 3)]
    assert await seen("by=queue,kind&kind=report") == [("mail", "report", 1)]
    assert await seen("queue=nothing") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("step=90s", "step"),
        ("step=1s", "step"),
        ("since=30d", "step"),
        ("since=nonsense", "since"),
        ("since=2027-01-15T08:00:00", "since"),
        ("until=2020-01-01T00:00:00Z", "until"),
        ("by=tenant", "by"),
        ("queue=a%27b", "queue"),
        ("depth=1", "depth"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_refused(
    asker: Asker, query: str, field: str
) -> None:
    """R1.6: 422, and the field is named."""
    told = await asker.ask("GET", f"/v1/stats?{query}")
    assert (told.status, told.code) == (422, "validation_failed")
    assert field in told.json["detail"]


async def test_the_seven_figures_are_shown_with_their_thresholds(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.4."""
    await work_off(engine, make, 20, failed=5)
    await engine.submit(make.tasks(3))
    await engine.stage()
    clock.advance(2)

    told = await asker.ask("GET", "/v1/stats/figures")

    shown = msgspec.convert(told.json, shapes.Figures)
    by_name = {Figure(one.figure): one for one in shown.figures}
    assert {name: one.threshold for name, one in by_name.items()} == THRESHOLDS
    errors, depth = by_name[Figure.ERRORS], by_name[Figure.DEPTH]
    assert (errors.value, errors.breached) == (0.25, True)
    assert [(q.queue, q.value, q.breached) for q in depth.queues] == [
        ("default", 3, False),
        ("sms", 0, False),
    ]
    assert by_name[Figure.DEAD_LETTERS].value == 5


async def test_a_paused_queue_is_no_breach(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.4, R7.7."""
    await engine.submit(make.tasks(3))
    await engine.put_settings(QueueSettings(name="default", paused_at=NOW), 0)
    clock.advance(4_000)
    told = await asker.ask("GET", "/v1/stats/figures")
    oldest = told.json["figures"][1]
    assert (oldest["figure"], oldest["value"], oldest["breached"]) == ("oldest_age", 0.0, False)
    assert oldest["queues"] == [
        {"queue": "default", "value": None, "breached": False},
        {"queue": "sms", "value": 0.0, "breached": False},  # the app's, and empty
    ]


async def test_who_got_how_much_is_shown(asker: Asker, engine: Engine, make: Make) -> None:
    """R7.3: by tenant, of what was completed in the last hour; who got most comes first."""
    nothing = msgspec.convert(
        (await asker.ask("GET", "/v1/stats/tenants")).json, shapes.TenantsServed
    )
    assert (nothing.completed, nothing.items) == (0, [])

    for tenant, count in (("", 1), ("board", 3)):
        await work_off(engine, make, count, tenant=tenant)
    told = await asker.ask("GET", "/v1/stats/tenants")

    shown = msgspec.convert(told.json, shapes.TenantsServed)
    assert shown.since == show_instant(engine.clock.now() - HOUR)
    assert shown.completed == 4
    assert [(one.tenant, one.completed, one.share) for one in shown.items] == [
        ("board", 3, 0.75),
        ("", 1, 0.25),
    ]


async def test_tasks_are_counted_by_state(asker: Asker, engine: Engine, make: Make) -> None:
    """R9.1."""
    await work_off(engine, make, 4, failed=1)
    await engine.submit([make.task(), make.task(run_at=NOW + MINUTE, tenant="board")])

    told = await asker.ask("GET", "/v1/stats/states")

    msgspec.convert(told.json, shapes.States)
    assert told.json["states"] == {
        "scheduled": 1, "ready": 1, "running": 0, "completed": 3, "cancelled": 0, "failed": 1,
    }  # fmt: skip
    assert told.json["capped"] == []
    told = await asker.ask("GET", "/v1/stats/states?queue=sms")
    assert told.json["states"]["completed"] == 3
    assert told.json["states"]["ready"] == 0


async def test_an_autoscaler_reads_numbers_by_their_path(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """R9.6: queues.sms.backlog_per_slot."""
    await work_off(engine, make, 20)
    await engine.submit(make.tasks(100, queue="sms"))
    clock.advance(3)

    told = await asker.ask("GET", "/v1/scaling")

    shown = msgspec.convert(told.json, shapes.Scaling)
    sms = shown.queues["sms"]
    assert (sms.ready, sms.running, sms.slots, sms.backlog_per_slot) == (100, 0, 50, 2.0)
    assert sms.oldest_ready_s == 3.0
    assert set(told.json["queues"]["sms"]) == set(shapes.QueueScale.__struct_fields__)


async def test_an_empty_queue_of_the_app_is_told_although_nobody_takes_it(asker: Asker) -> None:
    """R9.6: who scales from none would else ask for a number that is not there."""
    sms = (await asker.ask("GET", "/v1/scaling")).json["queues"]["sms"]
    assert (sms["ready"], sms["slots"], sms["wanted_slots"]) == (0, 0, 0)
    assert (sms["backlog_per_slot"], sms["utilisation"]) == (0.0, 0.0)


async def test_figures_are_read_once_for_all_who_ask_at_the_same_time(
    asker: Asker, engine: Engine, make: Make, clock: ManualClock
) -> None:
    """F13: dashboards in many windows cost the store no more than one."""
    await engine.submit(make.tasks(1))
    first = (await asker.ask("GET", "/v1/scaling")).json
    await engine.submit(make.tasks(1))
    clock.advance(4)
    assert (await asker.ask("GET", "/v1/scaling")).json == first
    clock.advance(2)
    assert (await asker.ask("GET", "/v1/scaling")).json["queues"]["default"]["ready"] == 2


@pytest.mark.parametrize(
    "path", ["/v1/stats", "/v1/stats/figures", "/v1/stats/tenants", "/v1/scaling", "/metrics"]
)
async def test_statistics_of_all_are_not_for_the_key_of_one_tenant(asker: Asker, path: str) -> None:
    """S2: what one tenant's key could see of others is nothing."""
    told = await asker.using("read@board").ask("GET", path)
    assert (told.status, told.code) == (403, "forbidden")
    assert (await asker.using("submit").ask("GET", path)).status == 403


BOUND: dict[str, dict[str, Any]] = {
    "a tenant's": {"tenant": "board"},
    "a queue's": {"queues": ["sms"]},
    "both's": {"tenant": "board", "queues": ["sms"]},
}


@ON_SQLITE
@pytest.mark.parametrize("bound", BOUND.values(), ids=BOUND)
async def test_a_bound_key_learns_of_its_queues_and_of_nothing_else(
    app: Rota, engine: Engine, make: Make, clock: ManualClock, bound: dict[str, Any]
) -> None:
    """S2, R8.5: with real keys; neither the numbers of others nor the names of their queues."""
    door = Door(app, engine)
    asker = await door.asker(Role.READ, **bound)
    await work_off(engine, make, 4, failed=1, tenant="college")
    await engine.submit(make.tasks(3, queue="secret", tenant="college"))
    await engine.flush()
    clock.advance(2)

    told = {
        path: await asker.ask("GET", path)
        for path in (
            "/v1/stats/figures", "/v1/scaling", "/v1/stats?queue=sms", "/v1/stats",
            "/v1/stats?queue=secret", "/v1/stats/tenants",
        )
    }  # fmt: skip

    seen = [path for path, answer in told.items() if answer.status == 200]
    assert {answer.status for path, answer in told.items() if path not in seen} == {403}
    assert not any(word in one.body for one in told.values() for word in (b"secret", b"college"))
    if "tenant" in bound:
        assert seen == []
        return
    assert seen == ["/v1/stats/figures", "/v1/scaling", "/v1/stats?queue=sms"]
    figures = told["/v1/stats/figures"].json["figures"]
    assert {(one["value"], *(q["queue"] for q in one["queues"])) for one in figures} <= {
        (None,),
        (None, "sms"),
    }
    assert any(one["queues"] for one in figures)
    assert list(told["/v1/scaling"].json["queues"]) == ["sms"]
    assert [one["completed"] for one in told["/v1/stats?queue=sms"].json["items"]] == [3]

"""Schedules, settings and payloads, as far as a key reaches (S2, B181)."""

from typing import Any

import pytest
from msgspec import structs

from rota.access import Scope
from rota.engine import Engine
from rota.model import TaskFilter
from rota.schedule import Run, Schedule, ScheduleFilter
from rota.server.problems import Problem
from rota.server.scoped import scoped
from rota.shares import Limit, QueueSettings, TenantSettings
from tests.conformance.steps import open_worker
from tests.server.doors import ON_SQLITE
from tests.server.reaches import ALL, BLIND, BOARD, SMS, failed, two_tasks
from tests.support.factories import NOW, Make
from tests.support.schedules import a_schedule

# -- schedules and gates --------------------------------------------------------------------------


def of(tenant: str, queue: str, name: str, seed: int) -> Schedule:
    schedule = a_schedule(Make(seed), name)
    work = structs.replace(schedule.work, tenant=tenant, queue=queue, payload='{"who":"canary"}')
    return structs.replace(schedule, work=work)


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_schedules_of_others_are_as_if_they_were_not(engine: Engine, scope: Scope) -> None:
    """S2: they are not read, changed, run or removed."""
    own, foreign = of("board", "sms", "own", 21), of("school", "push", "foreign", 22)
    for schedule in (own, foreign):
        assert await engine.create_schedule(schedule)
    reach = scoped(engine, scope)

    got = await reach.get_schedules(["own", "foreign", foreign.id, "nobody"])
    assert [one and one.name for one in got] == ["own", None, None, None]
    found = await reach.find_schedules(ScheduleFilter(), after_name="", limit=1)
    assert [one.name for one in found] == ["own"]
    assert await reach.live([foreign.id, own.id], 9) == [0, 0]
    assert await reach.slots(foreign.id, None, 9) == []
    assert await reach.slot_runs([foreign.id], None, 9) == [[]]
    task = Make(23).task(tenant="board", queue="sms", schedule=foreign.id)
    assert await reach.fire_extra(foreign.id, [Run(NOW, task)], slots=False) == [False]
    assert not await reach.change_schedule(foreign, foreign.version, foreign.cursor)
    assert not await reach.remove_schedule(foreign.id)

    assert await reach.remove_schedule(own.id)
    assert (await engine.get_schedules(["foreign"]))[0] is not None


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_the_runs_of_a_foreign_schedule_are_not_told(engine: Engine, scope: Scope) -> None:
    """S2: neither that there were any, nor when; those of the own one beside it are."""
    schedules = of("board", "sms", "own", 21), of("school", "push", "foreign", 22)
    for seed, one in enumerate(schedules, 31):
        await engine.create_schedule(one)
        work = one.work
        task = Make(seed).task(tenant=work.tenant, queue=work.queue, schedule=one.id, slot=NOW)
        assert await engine.fire_extra(one.id, [Run(NOW, task)], slots=True) == [True]
    own, foreign = (one.id for one in schedules)
    reach = scoped(engine, scope)

    assert [len(runs) for runs in await engine.slot_runs([foreign, own], None, 9)] == [1, 1]
    assert [len(runs) for runs in await reach.slot_runs([foreign, own], None, 9)] == [0, 1]
    assert [len(await reach.slots(id_, None, 9)) for id_ in (foreign, own)] == [0, 1]
    assert await engine.live([foreign, own], 9) == [1, 1]
    assert await reach.live([foreign, own], 9) == [0, 1]


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_no_schedule_works_for_others(engine: Engine, scope: Scope) -> None:
    """B181: neither a new one nor one that is changed; nor a run that is asked for."""
    own, foreign = of("board", "sms", "own", 21), of("school", "push", "foreign", 22)
    await engine.create_schedule(own)
    reach = scoped(engine, scope)
    away = structs.replace(own, work=foreign.work)
    task = Make(23).task(tenant="school", queue="push", schedule=own.id)

    for call in (
        reach.create_schedule(foreign),
        reach.change_schedule(away, own.version, own.cursor),
        reach.fire_extra(own.id, [Run(NOW, task)], slots=False),
    ):
        with pytest.raises(Problem) as raised:
            await call
        assert raised.value.meaning.code == "tenant_mismatch"


async def test_of_a_gate_only_the_own_tasks_are_counted(engine: Engine) -> None:
    """S2: tenants may share a gate, but not what is in it."""
    make = Make()
    gated: dict[str, Any] = {"concurrency_key": "g", "max_concurrency": 5}
    await engine.submit(
        [make.task(tenant="board", **gated), *make.tasks(3, tenant="school", **gated)]
    )
    await engine.stage()

    assert (await engine.gate_use("g", 9)).inside == 4
    assert (await scoped(engine, BOARD).gate_use("g", 9)).inside == 1


@pytest.mark.parametrize("scope", [BOARD, SMS], ids=["a tenant", "two queues"])
async def test_a_run_belongs_to_its_schedule_and_a_gate_to_its_own(
    engine: Engine, scope: Scope
) -> None:
    """B181: a run in the name, or in the gate, of another schedule would keep its runs out."""
    own = of("board", "sms", "own", 21)
    gated = structs.replace(
        own, work=structs.replace(own.work, concurrency_key=f"schedule:{own.id}", max_concurrency=1)
    )
    other = structs.replace(
        of("board", "sms", "other", 24),
        work=gated.work,  # in the gate of own
    )
    reach = scoped(engine, scope)
    assert await reach.create_schedule(gated)
    task = Make(23).task(tenant="board", queue="sms", schedule=other.id)
    for call in (
        reach.create_schedule(other),
        reach.fire_extra(own.id, [Run(NOW, task)], slots=False),
    ):
        with pytest.raises(Problem) as raised:
            await call
        assert raised.value.meaning.code == "tenant_mismatch"


# -- what is shared -------------------------------------------------------------------------------


async def test_settings_and_limits_are_the_own_ones(engine: Engine) -> None:
    """S2: those of other tenants are not shown, and nothing is changed."""
    for settings in (TenantSettings(name="board"), TenantSettings(name="school", weight=7)):
        await engine.put_settings(settings, 0)
    await engine.put_settings(QueueSettings(name="push"), 0)
    limits = [
        Limit(id="own", tenant="board", max_running=1),
        Limit(id="foreign", tenant="school", max_running=1),
        Limit(id="queue", queue="push", max_running=1),
    ]
    for limit in limits:
        await engine.put_limit(limit, 0)
    reach = scoped(engine, BOARD)

    settings_ = await reach.settings()
    assert set(settings_.tenants) == {"board"}
    assert [limit.id for limit in settings_.limits] == ["own"]
    used = await reach.limit_use(["own", "foreign", "queue", "nobody"])
    assert [use.limit.id for use in used] == ["own"]
    assert set((await scoped(engine, SMS).settings()).queues) == set()
    for call in (
        reach.put_settings(TenantSettings(name="board", weight=9), 1),
        reach.drop_settings(TenantSettings(name="board", version=1)),
        reach.put_limit(structs.replace(limits[0], max_running=None, rate=1.0, burst=1), 1),
        reach.drop_limit("own"),
    ):
        with pytest.raises(Problem) as raised:
            await call
        assert raised.value.meaning.status == 403


QUEUES_OF_BOARD = Scope(tenant="board", queues=("sms",))
SEEN: dict[str, tuple[Limit, tuple[bool, bool, bool]]] = {
    "a queue of the key": (Limit(id="a", queue="sms", max_running=1), (False, True, False)),
    "another queue": (Limit(id="b", queue="push", max_running=1), (False, False, False)),
    "the tenant": (Limit(id="c", tenant="board", max_running=1), (True, False, True)),
    "the tenant in its queue": (
        Limit(id="d", tenant="board", queue="sms", max_running=1), (True, True, True),
    ),
    "the tenant elsewhere": (
        Limit(id="e", tenant="board", queue="push", max_running=1), (True, False, False),
    ),
}  # fmt: skip
"""Limits, and whether a key of a tenant, of queues, and of both sees them."""


@ON_SQLITE
@pytest.mark.parametrize(("limit", "seen"), SEEN.values(), ids=SEEN)
async def test_a_limit_is_seen_by_whom_it_counts_nothing_but_the_own(
    engine: Engine, limit: Limit, seen: tuple[bool, bool, bool]
) -> None:
    """S2: what counts others too would tell of them."""
    await engine.put_limit(limit, 0)
    for scope, sees in zip((BOARD, SMS, QUEUES_OF_BOARD), seen, strict=True):
        reach = scoped(engine, scope)
        assert bool((await reach.settings()).limits) is sees, scope
        assert bool(await reach.limit_use([limit.id])) is sees, scope


async def test_figures_are_of_what_is_within_reach(engine: Engine) -> None:
    """S2: depths, queues with work, sessions, tallies."""
    await two_tasks(engine)
    await open_worker(engine.store, Make(3))
    board, sms = scoped(engine, BOARD), scoped(engine, SMS)

    for reach in (board, sms):
        queues, tenants = await reach.depths(["sms", "push"], ["board", "school"], 9)
        assert [depth.waiting for depth in queues] == [1, 0]
        assert [depth.waiting for depth in tenants] == [1, 0]
        assert await reach.queues_with_work() == ["sms"]
        assert await reach.sessions() == []
        assert await reach.tallies(0) == {}
    await engine.cancel(await engine.find_ids(ALL, before_id=None, limit=9))
    assert {key[0] for key in await sms.tallies(0)} == {"sms"}
    assert await board.tallies(0) == {}


# -- without payloads -----------------------------------------------------------------------------


async def test_a_key_without_payloads_sees_what_but_not_with_what(engine: Engine) -> None:
    """http-and-cli §2: no payload, result, checkpoint, header or text of an error, anywhere."""
    own, _ = await failed(engine)
    await engine.create_schedule(of("board", "sms", "own", 21))
    reach = scoped(engine, BLIND)

    (task,) = await reach.get([own])
    assert task is not None
    assert [error.type for error in task.errors] == ["Boom"]
    seen = [
        task,
        await reach.find(ALL, before_id=None, limit=9),
        await reach.groups(ALL, 9),
        await reach.get_schedules(["own"]),
        await reach.find_schedules(ScheduleFilter(), after_name="", limit=9),
    ]
    assert "canary" not in repr(seen)
    assert '"own"' not in repr(seen)
    with pytest.raises(Problem):
        await reach.find(TaskFilter(payload=(("who", '"canary"'),)), before_id=None, limit=9)


async def test_what_was_not_seen_is_not_overwritten(engine: Engine) -> None:
    """A schedule that is read without its payload and changed keeps it, and so do its runs."""
    await engine.create_schedule(of("board", "sms", "own", 21))
    reach = scoped(engine, Scope(tenant="board", payloads=False))
    (seen,) = await reach.get_schedules(["own"])
    assert seen is not None

    paused = structs.replace(seen, pause_reason="later", paused_at=NOW)
    assert await reach.change_schedule(paused, seen.version, seen.cursor)
    task = Make(23).task(tenant="board", queue="sms", schedule=seen.id, payload=seen.work.payload)
    assert await reach.fire_extra(seen.id, [Run(NOW, task)], slots=False) == [True]

    (stored,) = await engine.get_schedules(["own"])
    assert stored is not None
    assert (stored.pause_reason, stored.work.payload) == ("later", '{"who":"canary"}')
    (run,) = await engine.get([task.id])
    assert run is not None
    assert run.payload == {"who": "canary"}

"""Schedules that are declared in code are stored when a worker starts (R6.8), on both stores."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rota import InvalidSchedule, Rota, SlotState
from rota.backend import Backend
from rota.clock import ManualClock, new_rng
from rota.config import HOUR, MINUTE
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.reconcile import Change, at_start
from rota.schedule import Overlap, Schedule
from rota.store import store_for
from tests.support.factories import NOW

HOURLY = "0 * * * *"
"""NOW is 08:00:00 on 15 January 2027."""

Program = Callable[..., Rota]


@pytest.fixture
def program(still: Rota, clock: ManualClock) -> Iterator[Program]:
    """A program on the store that declares a schedule for each of these options."""

    class Same(Rota):
        def connect(self) -> Backend:
            return Engine(store_for(self.url), clock, new_rng(1))

    opened: list[Rota] = []

    def start(*declared: dict[str, Any], name: str = "school") -> Rota:
        app = Same(still.url, name=name)
        kind = app.task(name="report")(_report)
        for options in declared:
            given = {"expression": HOURLY, "payload": {"day": "x"}} | options
            app.schedule(**given)(kind)
        opened.append(app)
        return app

    yield start
    for app in opened:
        app.close()


def _report(day: str) -> None: ...


def did(app: Rota) -> list[str]:
    """What a start of the program did."""
    return [f"{step.change} {step.name}" for step in app.schedules.apply()]


def stored(app: Rota) -> dict[str, Schedule]:
    """What is stored, by name."""
    return {one.name: one for one in app.schedules.list()}


def test_what_is_new_is_created_once(program: Program) -> None:
    """R6.8: a start with the same code changes nothing."""
    app = program({"name": "a"}, {"name": "b", "tz": "Asia/Kolkata"})

    assert did(app) == ["create a", "create b"]
    before = stored(app)
    assert did(program({"name": "b", "tz": "Asia/Kolkata"}, {"name": "a"})) == []

    assert stored(app) == before
    assert before["a"].source == "code:school"
    assert (before["a"].cursor, before["a"].next_slot) == (NOW, NOW + HOUR)


def test_what_is_changed_is_updated_and_what_it_has_done_is_kept(
    program: Program, clock: ManualClock
) -> None:
    """R6.8: pause, counters, and the cursor unless the rule is another one."""
    did(program({"name": "a"}, {"name": "b"}))
    clock.advance(3600)
    app = program({"name": "a", "overlap": "allow"}, {"name": "b", "expression": "30 * * * *"})
    fire(app)
    app.schedules.pause("a", "holidays")
    clock.advance(600)

    steps = app.schedules.apply()

    assert [(step.name, step.fields) for step in steps] == [("a", ("policy",)), ("b", ("rule",))]
    a, b = stored(app)["a"], stored(app)["b"]
    assert (a.policy.overlap, a.pause_reason, a.fired) == (Overlap.ALLOW, "holidays", 1)
    assert (a.cursor, a.next_slot) == (NOW + HOUR, NOW + 2 * HOUR)
    assert (b.cursor, b.next_slot, b.fired) == (clock.now(), NOW + HOUR + 30 * MINUTE, 1)


def test_slots_that_a_new_rule_does_away_with_are_recorded(
    program: Program, clock: ManualClock
) -> None:
    did(program({"name": "a"}))
    clock.advance(2 * 3600)

    app = program({"name": "a", "expression": "30 * * * *"})
    app.schedules.apply()

    (skipped,) = app.schedules.slots("a")
    assert (skipped.state, skipped.count) == (SlotState.MISSED, 2)


def test_what_is_not_declared_any_more_is_deleted(program: Program) -> None:
    did(program({"name": "a"}, {"name": "b"}))

    app = program({"name": "b"})

    assert [str(step) for step in app.schedules.plan()] == [
        "schedule a: deleted, it is not declared any more"
    ]
    assert did(app) == ["delete a"]
    assert list(stored(app)) == ["b"]


def test_what_others_made_is_left_alone(program: Program, caplog: pytest.LogCaptureFixture) -> None:
    """R6.8: by another program, from a file, or at run time."""
    other = program({"name": "theirs"}, name="office")
    other.schedules.apply()
    other.schedules.create("report", "@daily", name="by-hand", payload={"day": "x"})
    before = stored(other)

    app = program({"name": "theirs"}, {"name": "by-hand"}, {"name": "ours"})
    steps = app.schedules.apply()

    assert [str(step) for step in steps if step.change is Change.LEFT] == [
        "schedule theirs: left alone, one of this name was made by code:office; rename one of them",
        "schedule by-hand: left alone, one of this name was made at run time; rename one of them",
    ]
    assert {name: one for name, one in stored(app).items() if name != "ours"} == before


def test_a_plan_changes_nothing(program: Program) -> None:
    app = program({"name": "a"})

    (step,) = app.schedules.plan()

    assert (step.change, step.name) == (Change.CREATE, "a")
    assert str(step) == "schedule a: created, next at 2027-01-15T09:00:00.000000Z"
    assert stored(app) == {}


def test_another_source_may_be_applied_the_same_way(program: Program) -> None:
    """R6.8: as the import of a crontab does."""
    app = program({"name": "a"})
    lines = list(app.declarations)

    app.schedules.apply(lines, source="crontab:/etc/crontab")

    assert stored(app)["a"].source == "crontab:/etc/crontab"
    assert app.schedules.apply(lines, source="crontab:/etc/crontab") == []
    assert [step.change for step in app.schedules.apply()] == [Change.LEFT]
    app.schedules.apply([], source="crontab:/etc/crontab")
    assert stored(app) == {}


def test_one_name_cannot_be_declared_twice(program: Program) -> None:
    app = program({"name": "a"})

    with pytest.raises(InvalidSchedule, match="'a' is declared twice"):
        app.schedules.apply([*app.declarations, *app.declarations], source="crontab:x")


async def test_workers_that_start_at_once_agree(program: Program, clock: ManualClock) -> None:
    """R6.8: each schedule is there once, whoever made it."""
    old = program(*({"name": f"s{n}"} for n in range(10)))
    await old.schedules.aapply()
    new = [{"name": f"s{n}", "tags": ["new"]} for n in range(5, 15)]
    apps = [program(*new) for _ in range(4)]
    rng = new_rng(1)

    await asyncio.gather(
        *(at_start(app.connect, tuple(app.declarations), app.source, rng) for app in apps)
    )

    now = {one.name: one for one in await old.schedules.alist()}
    assert sorted(now) == sorted(f"s{n}" for n in range(5, 15))
    assert {one.work.tags for one in now.values()} == {("new",)}
    assert {now[f"s{n}"].version for n in range(5, 10)} == {2}


async def test_a_program_without_a_name_that_declares_nothing_deletes_nothing(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker for something else on the same store must not do away with all schedules."""
    app, other = program({"name": "a"}, name="app"), program(name="app")
    named = program(name="school")

    for one in (app, other, named):
        await at_start(one.connect, tuple(one.declarations), one.source, new_rng(1))

    assert [one.name for one in await app.schedules.alist()] == ["a"]
    assert "leaves alone what others without a name declared: a;" in caplog.text


async def test_a_store_that_is_away_is_waited_for(
    program: Program, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """R3.7: whatever the store does, the worker goes on and the schedules come in the end."""
    app = program({"name": "a"})
    caplog.set_level(logging.INFO, "rota.schedules")

    class Away(Engine):
        tries = 0

        async def find_schedules(self, *args: Any, **options: Any) -> list[Schedule]:
            Away.tries += 1
            if Away.tries < 3:
                raise StoreUnavailable("away")
            return await super().find_schedules(*args, **options)

    starting = asyncio.create_task(
        at_start(
            lambda: Away(store_for(app.url), clock, new_rng(1)),
            tuple(app.declarations),
            app.source,
            new_rng(1),
        )
    )
    while not starting.done():
        clock.advance(0.5)
        await asyncio.sleep(0)

    await starting
    assert Away.tries >= 3
    assert [one.name for one in await app.schedules.alist()] == ["a"]
    told = [record.message for record in caplog.records if record.name == "rota.schedules"]
    assert [line.partition(", next at ")[0] for line in told] == ["schedule a: created"]


async def test_what_goes_wrong_is_logged_and_ends_nothing(
    program: Program, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = program({"name": "a"})

    class Broken(Engine):
        async def get_schedules(self, names: Any) -> list[Schedule | None]:
            raise ZeroDivisionError

    await at_start(
        lambda: Broken(store_for(app.url), clock, new_rng(1)),
        tuple(app.declarations),
        app.source,
        new_rng(1),
    )

    assert "the schedules that code:school declares are not up to date" in caplog.text


def fire(app: Rota) -> None:
    """Let a node decide what has come."""

    async def work() -> None:
        await (await app._client.opened()).fire()

    app._client.portal.run(work)

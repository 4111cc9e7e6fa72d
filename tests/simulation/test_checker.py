"""The checker of a day sees what is wrong, and the brute force knows the calendar."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rota.clock import instant, micros
from rota.config import HOUR, MINUTE
from rota.schedule import Fold, Gap, Rule
from tests.simulation.checker import faults
from tests.simulation.day import Day, Plan
from tests.simulation.enumeration import Fields, slots
from tests.simulation.world import ALL_HOURS, ALL_MINUTES, FOLD_DAY, GAP_DAY
from tests.support.places import Place

HALF_PAST_TWO = Fields(frozenset((30,)), frozenset((2,)), False)
HOURLY = Fields(frozenset((30,)), ALL_HOURS, True)


@pytest.mark.parametrize(
    ("start", "rule", "fields", "expected"),
    [
        (GAP_DAY, {}, HALF_PAST_TWO, {"01:00": True}),
        (GAP_DAY, {"gap": Gap.SKIP}, HALF_PAST_TWO, {"01:00": False}),
        (GAP_DAY, {}, HOURLY, {"00:30": True, "01:30": True, "02:30": True}),
        (FOLD_DAY, {}, HALF_PAST_TWO, {"00:30": True}),
        (FOLD_DAY, {"fold": Fold.SECOND}, HALF_PAST_TWO, {"01:30": True}),
        (FOLD_DAY, {"fold": Fold.BOTH}, HALF_PAST_TWO, {"00:30": True, "01:30": True}),
        (FOLD_DAY, {}, HOURLY, {"00:30": True, "01:30": True, "02:30": True}),
        (FOLD_DAY, {"tz": "Asia/Tokyo"}, HALF_PAST_TWO, {}),
    ],
)
def test_the_brute_force_knows_what_clocks_do(
    start: int, rule: dict[str, str], fields: Fields, expected: dict[str, bool]
) -> None:
    """R6.3, rule P5: Berlin, from midnight to three o'clock UTC."""
    made = Rule(**{"tz": "Europe/Berlin", **rule})  # type: ignore[arg-type]

    found = slots(made, fields, start - 1, start + 3 * HOUR - 1)

    assert expected == {f"{instant(at):%H:%M}": runs for at, runs in found}


def test_the_brute_force_counts_intervals_and_seconds() -> None:
    start = micros(datetime(2026, 10, 25, 12, tzinfo=UTC))
    seconds = Fields(ALL_MINUTES, ALL_HOURS, True, seconds=(5, 35))

    assert len(slots(Rule(every=90_000_000, anchor=7), None, start, start + HOUR)) == 40
    assert len(slots(Rule(), seconds, start, start + 10 * MINUTE)) == 20
    bounded = Rule(starts_at=start + MINUTE, ends_at=start + 3 * MINUTE)
    assert len(slots(bounded, seconds, start, start + 10 * MINUTE)) == 4


DAMAGE = {
    "a task is lost": (
        "delete from finished where id in (select task_id from slot limit 1)",
        "was never finished",
    ),
    "a slot is lost": (
        "delete from slot where (schedule, slot) = (select schedule, slot from slot limit 1)",
        "became no task and was skipped 0 times",
    ),
    "a slot was made up": (
        "insert into slot select schedule, slot + 1, task_id, fired_at, 0 from slot limit 1",
        "are slots",
    ),
    "a slot ran and was skipped": (
        "insert into skip select schedule, slot, slot, 1, 'skipped:missed', fired_at "
        "from slot limit 1",
        "became a task and was skipped",
    ),
    "a slot has two tasks": (
        "update finished set slot = (select min(slot) from finished as f "
        "where f.schedule = finished.schedule)",
        "two tasks with the same schedule, slot",
    ),
    "a slot was fired early": (
        "update slot set fired_at = slot - 1 "
        "where (schedule, slot) = (select schedule, slot from slot limit 1)",
        "before its time",
    ),
    "runs overlapped": (
        "update finished set finished_at = finished_at + 86400000000",
        "ran at the same time",
    ),
    "an overlap was made up": (
        "update finished set finished_at = created_at",
        "overlap with nothing",
    ),
    "a reason is wrong": (
        "update skip set state = 'skipped:gap' where state <> 'skipped:gap'",
        "is skipped:gap, not",
    ),
    "the cursor ran ahead": (
        "update schedule set cursor = cursor + 3600000000",
        "became no task",
    ),
    "the cursor stayed behind": (
        "update schedule set cursor = cursor - 3600000000",
        "are slots",
    ),
    "a task is left": (
        "insert into scheduled (id, kind, queue, tenant, priority, run_at, rank, created_at, "
        "payload) values ('x', 'work', 'mail', '', 5, 0, 0, 0, '{}')",
        "tasks are in scheduled",
    ),
}


@pytest.mark.slow
async def test_the_checker_sees_each_kind_of_damage(tmp_path: Path) -> None:
    """A check that nothing fails would hold of any store."""
    place = Place("sqlite", str(tmp_path / "rota.db"))
    plan = Plan(seed=4, start=FOLD_DAY + HOUR // 2, span=HOUR, firings=700, calls_a_life=10_000)
    story = await Day(place, plan).run()
    assert await faults(place, story) == []

    for number, (what, (damage, said)) in enumerate(DAMAGE.items()):
        copy = Place("sqlite", str(tmp_path / f"damaged-{number}.db"))
        await place.rows(f"vacuum into '{copy.address}'")
        await copy.rows(damage)
        assert said in "\n".join(await faults(copy, story)), what

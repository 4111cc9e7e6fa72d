"""A few hours on both stores in which nodes die, people meddle and clocks change (R6.4, B095)."""

from pathlib import Path

import pytest

from rota.clock import new_rng
from tests.simulation.checker import faults
from tests.simulation.day import Day, Plan
from tests.simulation.world import FOLD_DAY, GAP_DAY
from tests.support.places import DIALECTS, Place

NO_FLUSH = """
    do $$
    begin
        execute format('alter database %I set synchronous_commit = off', current_database());
    end
    $$
"""
"""Nodes die here, the server does not: nothing has to be on its disk before it answers."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store."""
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "rota.db"))
    return Place("postgres", request.getfixturevalue("postgres_url"))


async def test_every_slot_becomes_one_task_or_says_why_not(place: Place) -> None:
    """Cases B095, B104, B118; R6.3-R6.6: whoever dies, and whatever is changed meanwhile."""
    seed = new_rng().randrange(1_000_000)
    plan = Plan(seed=seed, start=GAP_DAY if seed % 2 else FOLD_DAY)

    if place.dialect == "postgres":
        await place.run(NO_FLUSH)
    story = await Day(place, plan).run()

    assert await faults(place, story) == [], f"seed {seed}"
    assert story.deaths > 5
    assert story.changes > 5

"""`make simulate-day`: a whole day with a million slots, on either kind of store.

Takes about seven minutes of one core on SQLite, on PostgreSQL about ten of both.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rota.clock import SystemClock, new_rng
from rota.config import HOUR
from rota.contrib.embedded import EmbeddedPostgres
from tests.simulation.checker import faults
from tests.simulation.day import Day, Plan
from tests.simulation.world import FOLD_DAY, GAP_DAY
from tests.support.places import DIALECTS, Place

_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
}
"""Nodes die here, servers do not: what a commit costs on a disk is no part of this."""

_CLOCK = SystemClock()


@contextmanager
def _place(store: str) -> Iterator[Place]:
    if store == "sqlite":
        with tempfile.TemporaryDirectory(prefix="rota-day-") as folder:
            yield Place("sqlite", str(Path(folder) / "rota.db"))
        return
    with EmbeddedPostgres(_FAST) as server:
        yield Place("postgres", server.create_database("day"))


def main() -> int:
    """Simulate what is asked for; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="make simulate-day ARGS=…")
    parser.add_argument("--store", choices=DIALECTS, default="sqlite")
    parser.add_argument("--firings", type=int, default=1_000_000, help="slots that come")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--step", type=float, default=10.0, help="seconds, about")
    parser.add_argument("--day", choices=("gap", "fold"), default="fold", help="of the clocks")
    parser.add_argument("--seed", type=int, default=new_rng().randrange(1_000_000))
    asked = parser.parse_args()
    plan = Plan(
        seed=asked.seed,
        start=GAP_DAY if asked.day == "gap" else FOLD_DAY,
        span=round(asked.hours * HOUR),
        firings=asked.firings,
        step=asked.step,
        calls_a_life=200,
        steps_a_nap=400,
    )
    _tell(f"seed {plan.seed} on {asked.store}")
    began = _CLOCK.monotonic()
    with _place(asked.store) as place:
        found = asyncio.run(_live(place, plan))
    _tell(f"{_CLOCK.monotonic() - began:.0f} s in all; {len(found)} faults with seed {plan.seed}")
    for fault in found:
        _tell(f"  {fault}")
    return 1 if found else 0


async def _live(place: Place, plan: Plan) -> list[str]:
    began = _CLOCK.monotonic()
    story = await Day(place, plan, _tell).run()
    made = await place.value("select count(*) from finished")
    skipped = await place.value("select coalesce(sum(count), 0) from skip")
    seconds = _CLOCK.monotonic() - began
    _tell(
        f"{seconds:.0f} s: {len(story.ledger.eras):,} schedules, {made:,} tasks, "
        f"{skipped:,} slots skipped, {story.deaths:,} deaths, {story.changes:,} changes, "
        f"{story.steps:,} steps"
    )
    return await faults(place, story)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

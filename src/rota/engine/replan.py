"""Replanning: next slots are worked out anew with the present time zone data (R6.2)."""

import re

from msgspec import structs

from rota.engine.unfired import readable_calendar
from rota.policy.firing import reckon
from rota.schedule import Schedule
from rota.store.base import Store
from rota.zones import version

STEP = 100


async def replan(store: Store) -> int:
    """Bring at most `STEP` schedules to this node's time zone data; return how many.

    What was worked out with newer data is left alone, so that old and new nodes side by side do
    not undo each other's work. A firing that comes first has done it already.
    """
    data = version()
    changed = 0
    for schedule in await store.outdated_schedules(data, STEP):
        anew = _anew(schedule, data)
        if anew is not None:
            changed += await store.change_schedule(anew, schedule.version, schedule.cursor)
    return changed


def _anew(schedule: Schedule, data: str) -> Schedule | None:
    if _order(schedule.tz_data) > _order(data):
        return None
    calendar = readable_calendar(schedule)
    if isinstance(calendar, str):
        return None
    return structs.replace(reckon(schedule, calendar), tz_data=data)


def _order(data: str) -> list[tuple[int, str]]:
    """Order versions as people do: 2025b after 2025a, 2026.10 after 2026.9.

    >>> _order("2026.10") > _order("2026.9")
    True
    """
    return [(int(number or 0), word) for number, word in re.findall(r"(\d*)(\D*)", data)]

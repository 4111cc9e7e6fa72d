"""Every zone there is, at changes of its clocks from 2000 to 2037 (P6, B044)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import available_timezones

import pytest

from rota import zones
from rota.clock import micros
from rota.policy.calendar import Calendar
from rota.schedule import Fold, Gap, Rule
from tests.policy import minutes

pytestmark = pytest.mark.slow

HOURS = timedelta(hours=5)
STRIDE = 4
"""Of each zone's changes one in so many is looked at; 1 takes half a minute."""

RULES = [
    Rule(expression="*/20 * * * *"),
    Rule(expression="0,30 0-3,23 * * *"),
    Rule(expression="15,30 0-3 * * *", fold=Fold.BOTH),
    Rule(expression="0 0-2 * * *", fold=Fold.SECOND, gap=Gap.SKIP),
    Rule(expression="30 2 * * *"),
]


def clocks() -> Iterator[tuple[str, list[datetime]]]:
    """A zone and its changes; of zones whose clocks always show the same only one."""
    seen = set()
    for name in sorted(available_timezones() & zones.names()):
        zone = zones.zone(name)
        changes = minutes.changes(zone, range(2000, 2038))
        shown = tuple(change.astimezone(zone).isoformat() for change in changes)
        if changes and shown not in seen:
            seen.add(shown)
            yield name, changes


def check(calendar: Calendar, change: datetime) -> None:
    """`before` and `after` say the same and go strictly on, and each slot is where both meet."""
    start, end = micros(change - HOURS), micros(change + HOURS)
    found = list(calendar.between(start, end))
    assert all(one.at < other.at for one, other in pairwise(found))
    assert all(micros(slot.local) == slot.at for slot in found)
    back = []
    for slot in calendar.before(end):
        if slot.at < start:
            break
        back.append(slot)
    assert back[::-1] == found


def check_meeting(calendar: Calendar, instant: int) -> None:
    """prev(next(t)) <= t < next(t), and next(prev(t)) >= t > prev(t)."""
    later = next(calendar.after(instant)).at
    earlier = next(calendar.before(instant)).at
    assert next(calendar.before(later)).at <= instant < later
    assert earlier < instant <= next(calendar.after(earlier)).at


@pytest.mark.timeout(120)
def test_slots_go_strictly_on_and_back_in_every_zone() -> None:
    count = 0
    for number, (name, changes) in enumerate(clocks()):
        calendars = [Calendar(rule, zones.zone(name)) for rule in RULES]
        for change in changes[number % STRIDE :: STRIDE]:
            count += 1
            for calendar in calendars:
                check(calendar, change)
            calendar = calendars[count % len(calendars)]
            for shift in (-61, -1, 0, 1, 59, 60):
                check_meeting(calendar, micros(change + timedelta(minutes=shift)))

    assert count > 5_000 // STRIDE

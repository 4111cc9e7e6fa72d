"""Slots are found from any instant, to the microsecond: cursors are no whole seconds."""

from zoneinfo import ZoneInfo

import pytest

from rota.clock import new_rng
from rota.config import HOUR, SECOND
from rota.policy.calendar import Calendar
from rota.schedule import Fold, Rule

GAP = 1_774_746_000 * SECOND
FOLD = 1_792_890_000 * SECOND
"""When Berlin's clocks change in 2026: at 01:00 UTC on 29 March and on 25 October."""


@pytest.mark.parametrize("change", [GAP, FOLD])
@pytest.mark.parametrize("expression", ["*/10 * * * *", "*/10 1-3 * * *"])
def test_slots_around_a_change_are_the_same_from_every_instant(
    change: int, expression: str
) -> None:
    """R6.3, P6: the search for the change ends, also in the second in which clocks change."""
    rule = Rule(expression=expression, tz="Europe/Berlin", fold=Fold.BOTH)
    calendar = Calendar(rule, ZoneInfo("Europe/Berlin"))
    slots = [slot.at for slot in calendar.between(change - 30 * HOUR, change + 30 * HOUR)]
    chance = new_rng(1)
    for _ in range(300):
        instant = change + chance.choice((-HOUR, 0, HOUR)) + chance.randrange(-SECOND, 2 * SECOND)

        assert next(calendar.after(instant)).at == min(at for at in slots if at > instant)
        assert next(calendar.before(instant)).at == max(at for at in slots if at < instant)

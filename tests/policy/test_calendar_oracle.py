"""The fast way to the slots agrees with a walk over every minute (R6.3, P1-P6)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota import zones
from rota.clock import instant, micros
from rota.errors import InvalidSchedule
from rota.policy.calendar import Calendar
from rota.policy.cron import parse
from rota.schedule import Fold, Gap, Rule
from tests.policy import minutes

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)
EVERY_KIND_OF_MONTH = [datetime(2000, 1, 1) + timedelta(days=day) for day in range(28 * 366)]
SURPRISING = [
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"),
    *("America/Santiago", "Pacific/Apia", "Antarctica/Troll", "Antarctica/Casey", "Asia/Gaza"),
    *("Europe/Dublin", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Cairo", "Asia/Pyongyang"),
    *("America/Caracas", "Pacific/Chatham", "Asia/Tehran", "Pacific/Fakaofo", "UTC"),
]


@st.composite
def windows(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and the hour around which to look: mostly one at which its clocks change."""
    tz = draw(st.sampled_from(SURPRISING) | st.sampled_from(sorted(zones.names())))
    year = draw(st.integers(2000, 2037))
    changes = minutes.changes(zones.zone(tz), range(year, year + 1))
    changes = changes or [datetime(year, 2, 28, tzinfo=UTC)]
    return tz, draw(st.sampled_from(changes))


@settings(max_examples=150, deadline=None)
@given(
    expression=minutes.expressions(),
    window=windows(),
    gap=st.sampled_from(Gap),
    fold=st.sampled_from(Fold),
)
def test_it_finds_the_same_slots_both_ways(
    expression: minutes.Expression, window: tuple[str, datetime], gap: Gap, fold: Fold
) -> None:
    tz, change = window
    both_days = expression.both_days
    rule = Rule(expression=expression.text, tz=tz, both_days=both_days, gap=gap, fold=fold)
    try:
        calendar = Calendar(rule, zones.zone(tz))
    except InvalidSchedule:
        assert not any(map(expression.matches_day, EVERY_KIND_OF_MONTH))
        return
    start, end = change - 6 * HOUR, change + 6 * HOUR

    slow = minutes.slots(expression, zones.zone(tz), (start, end), gap=gap, fold=fold)
    onward = list(calendar.between(micros(start), micros(end)))
    back = []
    for slot in calendar.before(micros(end)):
        if slot.at < micros(start):
            break
        back.append(slot)

    assert [instant(slot.at) for slot in onward if slot.runs] == slow
    assert back[::-1] == onward
    assert calendar.words
    assert parse(expression.text, both_days=both_days).interval is expression.interval

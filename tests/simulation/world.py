"""The schedules of a simulated day: varied rules, zones and policies, by chance from a seed."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count

from msgspec import Struct, structs

from rota.clock import Ids, Rng, micros
from rota.config import DAY, HOUR, MINUTE, SECOND
from rota.declared import Declared
from rota.model import Micros
from rota.reconcile import new_schedule
from rota.schedule import Fold, Gap, Missed, Overlap, Policy, Rule, Schedule, Work
from tests.simulation.enumeration import Fields, slots

QUEUES = ("letters", "reports", "mail")
ZONES = (
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "Asia/Kolkata",
    "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Chatham", "Asia/Tokyo",
)  # fmt: skip
GAP_DAY = micros(datetime(2026, 3, 29, tzinfo=UTC))
"""Europe's clocks go forward at 01:00 UTC."""
FOLD_DAY = micros(datetime(2026, 10, 25, tzinfo=UTC))
"""Europe's clocks go back at 01:00 UTC."""

ALL_HOURS = frozenset(range(24))
ALL_MINUTES = frozenset(range(60))


class Wish(Struct, frozen=True):
    """A rule, and what its expression says in a form that a brute force can read."""

    rule: Rule
    fields: Fields | None = None


def _every(rng: Rng) -> Wish:
    every = rng.choice((30 * SECOND, 45 * SECOND, 61 * SECOND, 90 * SECOND, 7 * MINUTE, HOUR))
    return Wish(Rule(every=every, anchor=rng.randrange(every)))


def _seconds(rng: Rng) -> Wish:
    first = rng.randrange(30)
    fields = Fields(ALL_MINUTES, ALL_HOURS, True, seconds=(first, first + 30))
    return _cron(rng, f"{first},{first + 30} * * * * *", fields, seconds=True)


def _each_minute(rng: Rng) -> Wish:
    return _cron(rng, "* * * * *", Fields(ALL_MINUTES, ALL_HOURS, True))


def _step(rng: Rng) -> Wish:
    step = rng.choice((2, 3, 5, 7, 10))
    return _cron(rng, f"*/{step} * * * *", Fields(frozenset(range(0, 60, step)), ALL_HOURS, True))


def _range(rng: Rng) -> Wish:
    first, step = rng.randrange(10), rng.choice((4, 9, 15))
    fields = Fields(frozenset(range(first, 56, step)), ALL_HOURS, True)
    return _cron(rng, f"{first}-55/{step} * * * *", fields)


def _fixed(rng: Rng) -> Wish:
    """At some minutes of the hours around which clocks change."""
    minute = frozenset(rng.sample(range(60), 2))
    hours = frozenset(rng.sample(range(4), 2))
    text = f"{_list(minute)} {_list(hours)} * * SAT,SUN"
    return _cron(rng, text, Fields(minute, hours, False, weekdays=frozenset((5, 6))))


def _list(values: frozenset[int]) -> str:
    return ",".join(map(str, sorted(values)))


def _cron(rng: Rng, expression: str, fields: Fields, *, seconds: bool = False) -> Wish:
    rule = Rule(
        expression=expression,
        seconds=seconds,
        tz=rng.choice(ZONES),
        gap=rng.choice(tuple(Gap)),
        fold=rng.choice(tuple(Fold)),
    )
    return Wish(rule, fields)


_SHAPES: tuple[tuple[Callable[[Rng], Wish], int], ...] = (
    (_every, 4), (_seconds, 1), (_each_minute, 4), (_step, 3), (_range, 2), (_fixed, 3),
)  # fmt: skip


def wish(rng: Rng, now: Micros) -> Wish:
    """Return a rule, one in ten bounded by a start and an end."""
    (shape,) = rng.choices([shape for shape, _ in _SHAPES], [often for _, often in _SHAPES])
    made = shape(rng)
    if rng.random() > 0.1:
        return made
    starts_at = now + rng.randrange(HOUR)
    bounds = {"starts_at": starts_at, "ends_at": starts_at + HOUR + rng.randrange(6 * HOUR)}
    return Wish(structs.replace(made.rule, **bounds), made.fields)


def policy(rng: Rng) -> Policy:
    """Return a policy; jitter is shorter than the time between any two slots here."""
    return Policy(
        missed=rng.choice(tuple(Missed)),
        overlap=rng.choice((*Overlap, Overlap.SKIP, Overlap.ALLOW)),
        max_catchup=rng.choice((1, 3, 20)),
        max_age=rng.choice((10 * MINUTE, HOUR, DAY)),
        max_pending=rng.choice((1, 4)),
        jitter=rng.choice((0, 0, 15 * SECOND)),
        max_runs=25 if rng.random() < 0.05 else None,
    )


def declared(rng: Rng, name: str, rule: Rule) -> Declared:
    """Return a schedule as somebody would declare it."""
    work = Work(
        kind="work", payload="{}", queue=rng.choice(QUEUES), priority=rng.randrange(11),
        tenant=rng.choice(("", "north", "south")),
    )  # fmt: skip
    return Declared(name=name, rule=rule, policy=policy(rng), work=work)


def schedules(
    rng: Rng, ids: Ids, start: Micros, end: Micros, firings: int
) -> Iterator[tuple[Schedule, Wish]]:
    """Yield schedules that have about so many slots between two instants."""
    expected = 0
    for number in count():
        made = wish(rng, start)
        schedule = new_schedule(declared(rng, f"s{number}", made.rule), "", ids.new(start), start)
        yield schedule, made
        expected += len(slots(made.rule, made.fields, start, end))
        if expected >= firings:
            return

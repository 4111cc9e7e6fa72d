"""The seven figures and the signals for autoscaling, from what was read (R9.4, R9.6)."""

from typing import Any

import pytest

from rota.config import SECOND
from rota.figures import Figure, Figures, Holding, Statistic
from rota.model import Session
from rota.policy.figures import Measured, readings, scales, wanted
from rota.policy.histogram import BUCKETS, bucket
from rota.shares import QueueSettings, Settings
from tests.support.factories import NOW, Make

MINUTES_5 = 300 * SECOND
WORDS = dict[str, Any]


def recent(**counts: Any) -> Statistic:
    """What happened lately."""
    return Statistic(at=NOW - MINUTES_5, step=MINUTES_5, **counts)


def runs(*seconds: float, each: int = 1) -> tuple[int, ...]:
    """A histogram of run times."""
    counts = [0] * BUCKETS
    for one in seconds:
        counts[bucket(one)] += each
    return tuple(counts)


def worker(make: Make, *queues: str, slots: int = 10) -> Session:
    """A live worker."""
    return make.session(queues=queues, slots=slots)


def figures(**read: Any) -> Figures:
    """The figures of what was read."""
    return Figures(NOW, readings(Measured(now=NOW, **read)))


def paused(*queues: str) -> Settings:
    """Settings in which queues are paused."""
    return Settings(queues={name: QueueSettings(name=name, paused_at=NOW) for name in queues})


def test_of_an_empty_store_nothing_is_wrong() -> None:
    """R9.4: where nothing can be measured there is no figure."""
    found = {reading.figure: reading.value for reading in figures().readings}
    assert found == {
        Figure.DEPTH: 0,
        Figure.OLDEST: 0.0,
        Figure.ERRORS: None,
        Figure.DEAD_LETTERS: 0,
        Figure.SATURATION: None,
        Figure.RUN_TIME: None,
        Figure.SILENCE: None,
    }


def test_depth_and_age_are_those_of_all_and_of_each_queue() -> None:
    """R9.4."""
    found = figures(
        waiting={"sms": 3, "mail": 4}, oldest={"sms": NOW - 90 * SECOND, "mail": NOW - SECOND}
    )
    assert [found.value(Figure.DEPTH, queue) for queue in (None, "sms", "mail")] == [7, 3, 4]
    assert [found.value(Figure.OLDEST, queue) for queue in (None, "sms", "mail")] == [90, 90, 1]
    assert found.value(Figure.DEPTH, "unknown") is None


def test_a_paused_queue_is_no_outage() -> None:
    """R9.4, R7.7: what waits there waits because somebody wants it to."""
    found = figures(
        waiting={"sms": 90_000, "mail": 4},
        oldest={"sms": NOW - 900 * SECOND, "mail": NOW - SECOND},
        settings=paused("sms"),
    )
    assert [found.value(Figure.DEPTH, queue) for queue in (None, "sms")] == [4, None]
    assert [found.value(Figure.OLDEST, queue) for queue in (None, "sms")] == [1, None]


@pytest.mark.parametrize(
    ("counts", "rate"),
    [
        ({"completed": 19}, None),
        ({"completed": 20}, 0.0),
        ({"completed": 15, "failed": 5}, 0.25),
        ({"completed": 10, "failed": 5, "retried": 5}, 0.5),
        ({"completed": 20, "cancelled": 100, "snoozed": 100}, 0.0),
    ],
)
def test_errors_are_failed_attempts_among_those_that_ended(counts: WORDS, rate: float) -> None:
    """R9.4: a retry is a failed attempt, a snooze is none; a few say nothing."""
    assert figures(recent={"sms": recent(**counts)}).value(Figure.ERRORS) == rate
    assert figures(recent={"sms": recent(**counts)}).value(Figure.ERRORS, "sms") == rate


def test_dead_letters_are_counted_by_queue_and_together() -> None:
    """R9.4."""
    found = figures(dead_letters={"sms": 90, "mail": 20})
    assert [found.value(Figure.DEAD_LETTERS, queue) for queue in (None, "sms")] == [110, 90]


def test_saturation_is_what_is_held_of_the_slots_that_may_take_a_queue(make: Make) -> None:
    """R9.4: workers take names, patterns, and all but some."""
    first, second = worker(make, "sms"), worker(make, "*", "!sms", slots=30)
    found = figures(
        sessions=[first, second],
        holdings=[Holding(first.id, "sms", 10), Holding(second.id, "mail", 12)],
    )
    values = [found.value(Figure.SATURATION, queue) for queue in (None, "sms", "mail")]
    assert values == [22 / 40, 1.0, 12 / 30]


def test_what_a_worker_holds_ahead_makes_no_other_worker_look_busy(make: Make) -> None:
    """R9.4: a buffer is no slot."""
    full, idle = worker(make, "sms"), worker(make, "sms")
    found = figures(sessions=[full, idle], holdings=[Holding(full.id, "sms", 35)])
    assert found.value(Figure.SATURATION) == 0.5


def test_the_longest_runs_are_those_of_all_queues_together() -> None:
    """R9.4: histograms are added up, not quantiles."""
    found = figures(
        recent={
            "sms": recent(runs=runs(0.004, each=990)),
            "mail": recent(runs=runs(90.0, each=10)),
        }
    )
    whole, mail = found.value(Figure.RUN_TIME), found.value(Figure.RUN_TIME, "mail")
    assert whole is not None
    assert mail is not None
    assert whole <= 0.005
    assert 60 < mail <= 120


def test_the_scheduler_is_as_silent_as_the_duty_that_was_not_done_for_longest() -> None:
    """R9.4."""
    found = figures(ticks={"stage": NOW - SECOND, "fire": NOW - 12 * SECOND})
    assert found.value(Figure.SILENCE) == 12


@pytest.mark.parametrize(
    ("ready", "running", "arriving", "run_time", "slots"),
    [
        (0, 0, 0.0, None, 0),
        (0, 0, 0.0, 0.5, 0),
        (1, 0, 0.0, 0.001, 1),
        (0, 3, 0.0, 0.5, 1),
        (0, 0, 20.0, 0.5, 10),
        (600, 0, 20.0, 0.5, 15),
        (40, 2, 5.0, None, 42),
        (6_000_000, 0, 0.0, 1.0, 100_000),
    ],
)
def test_slots_are_wanted_for_what_comes_and_what_waits(
    ready: int, running: int, arriving: float, run_time: float | None, slots: int
) -> None:
    """R9.6: by Little's law, and what waits within a minute."""
    assert wanted(ready, running, arriving, run_time) == slots


def test_an_autoscaler_is_told_of_every_queue_that_is_known(make: Make) -> None:
    """R9.6: also of one that is empty, so that it can come down; of a paused one nothing more."""
    session = worker(make, "sms", "idle", "*", "!mail", slots=20)
    measured = Measured(
        now=NOW,
        since=NOW - MINUTES_5,
        waiting={"sms": 60},
        oldest={"sms": NOW - 30 * SECOND},
        recent={"sms": recent(submitted=600, completed=300, ran=150.0, runs=runs(0.5, each=300))},
        sessions=[session],
        holdings=[Holding(session.id, "sms", 5)],
        settings=paused("mail"),
    )
    idle, mail, sms = scales(measured)

    assert (idle.queue, idle.ready, idle.slots, idle.wanted_slots) == ("idle", 0, 20, 0)
    assert (mail.queue, mail.paused, mail.wanted_slots, mail.slots) == ("mail", True, 0, 0)
    assert (sms.ready, sms.oldest_ready, sms.running, sms.slots) == (60, 30.0, 5, 20)
    assert (sms.utilisation, sms.backlog_per_slot) == (0.25, 3.0)
    assert (sms.arriving, sms.leaving, sms.wanted_slots) == (2.0, 1.0, 2)

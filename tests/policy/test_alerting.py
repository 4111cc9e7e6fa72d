"""When alerts fire, go on and are over, and who hears of it (R9.4)."""

from typing import Any

import pytest
from msgspec import structs

from rota.alerting import DEFAULT_RULES, EACH, Alert, AlertRule, AlertState, Board, with_defaults
from rota.config import HOUR, MINUTE, SECOND
from rota.figures import THRESHOLDS, Figure, Reading
from rota.policy.alerting import Verdict, judge
from tests.support.factories import NOW

RULE = AlertRule(name="deep", figure=Figure.DEPTH, threshold=100, hold=MINUTE)


def depth(value: float | None, queue: str | None = None) -> Reading:
    return Reading(Figure.DEPTH, value, queue)


def an_alert(**fields: Any) -> Alert:
    given: dict[str, Any] = {"id": "a1", "rule": "deep", "figure": Figure.DEPTH, "queue": None}
    given |= {"value": 120, "threshold": 100, "since": NOW, "version": 1}
    return Alert(**given | fields)


def judged(
    value: float | None, *alerts: Alert, now: int = NOW, rule: AlertRule = RULE
) -> list[Verdict]:
    return judge(Board((rule,), alerts), [depth(value)], now)


FIRED = an_alert(fired_at=NOW, told_at=NOW)


def test_the_seven_rules_are_there_from_the_start_with_the_thresholds_of_the_requirement() -> None:
    """R9.4"""
    rules = with_defaults(())

    assert {rule.figure: rule.threshold for rule in rules} == THRESHOLDS
    assert [rule.name for rule in rules] == sorted(Figure)
    assert not any(rule.version for rule in rules)


def test_a_stored_rule_takes_the_place_of_one_of_the_seven() -> None:
    own = structs.replace(DEFAULT_RULES["queue_depth"], threshold=5, version=3)

    assert with_defaults([own, RULE]) == tuple(
        sorted(
            [RULE, own, *(r for r in DEFAULT_RULES.values() if r.name != "queue_depth")],
            key=lambda rule: rule.name,
        )
    )


@pytest.mark.parametrize(
    ("value", "since", "state", "told"),
    [
        (99.9, None, None, False),  # not too high
        (100, None, AlertState.PENDING, False),  # at the threshold: it begins
        (None, None, None, False),  # nothing can be measured
        (100, NOW - MINUTE + 1, "same", False),  # not for long enough
        (100, NOW - MINUTE, AlertState.FIRING, True),
        (99, NOW - HOUR, "gone", False),  # a dip before it fired: it begins anew
    ],
)
def test_an_alert_fires_when_the_figure_was_too_high_for_long_enough(
    value: float | None, since: int | None, state: Any, told: bool
) -> None:
    """R9.4"""
    pending = () if since is None else (an_alert(since=since),)
    verdicts = judged(value, *pending)

    if state in (None, "same"):
        assert verdicts == []
        return
    (verdict,) = verdicts
    assert verdict.tell is told
    if state == "gone":
        assert verdict.new is None
    else:
        assert verdict.new is not None
        assert verdict.new.state(NOW) is state


def test_a_clock_that_is_set_back_begins_the_hold_anew() -> None:
    """Case B166: an hour back must not mean an hour of silence."""
    (verdict,) = judged(150, an_alert(since=NOW + HOUR))

    assert (verdict.new, verdict.tell) == (None, False)
    fired = an_alert(since=NOW + HOUR, fired_at=NOW + HOUR, told_at=NOW + HOUR)
    assert judged(150, fired) == []


def test_without_a_hold_it_fires_at_once() -> None:
    (verdict,) = judged(150, rule=structs.replace(RULE, hold=0))

    assert verdict.tell
    assert verdict.new is not None
    assert (verdict.new.fired_at, verdict.new.told_at, verdict.new.value) == (NOW, NOW, 150)


@pytest.mark.parametrize(
    ("value", "over"),
    [(100, False), (90, False), (80, False), (79.9, True), (0, True), (None, True)],
)
def test_it_is_over_only_well_below_the_threshold(value: float | None, over: bool) -> None:
    """R9.4: what swings around the threshold makes one alert, not one a minute."""
    verdicts = judged(value, FIRED, now=NOW + HOUR)

    assert [(v.tell, v.new and v.new.cleared_at) for v in verdicts] == (
        [(True, NOW + HOUR)] if over else []
    )


def test_a_silenced_rule_fires_and_tells_nobody_until_the_silence_ends() -> None:
    rule = structs.replace(RULE, silenced_until=NOW + 10 * MINUTE)
    (fired,) = judged(120, an_alert(since=NOW - HOUR), rule=rule)

    assert not fired.tell
    assert fired.new is not None
    assert fired.new.state(NOW) is AlertState.SILENCED
    assert judged(120, fired.new, rule=rule, now=NOW + 10 * MINUTE - 1) == []
    (told,) = judged(120, fired.new, rule=rule, now=NOW + 10 * MINUTE)
    assert told.tell
    assert told.new is not None
    assert told.new.told_at == NOW + 10 * MINUTE


def test_the_end_is_told_of_only_if_the_beginning_was() -> None:
    silent = an_alert(fired_at=NOW, silenced_until=NOW + HOUR)

    assert [v.tell for v in judged(0, silent)] == [False]
    assert [v.tell for v in judged(0, structs.replace(silent, told_at=NOW))] == [True]


@pytest.mark.parametrize(
    "board",
    [
        Board((), (FIRED,)),
        Board((structs.replace(RULE, enabled=False),), (FIRED,)),
        Board((structs.replace(RULE, queue="sms"),), (FIRED,)),
        Board((structs.replace(RULE, figure=Figure.OLDEST),), (FIRED,)),
    ],
    ids=["rule gone", "rule off", "other queue", "other figure"],
)
def test_what_nobody_watches_any_more_is_over(board: Board) -> None:
    (verdict,) = judge(board, [depth(10_000)], NOW + SECOND)

    assert verdict.new == structs.replace(FIRED, cleared_at=NOW + SECOND)


@pytest.mark.parametrize(
    ("queue", "expected"),
    [(None, [None]), ("sms", ["sms"]), (EACH, ["mail", "sms"]), ("no-such", [])],
)
def test_a_rule_watches_all_queues_together_one_or_each(
    queue: str | None, expected: list[str | None]
) -> None:
    rule = structs.replace(RULE, queue=queue, hold=0)
    readings = [depth(500), depth(150, "mail"), depth(350, "sms"), Reading(Figure.OLDEST, 9e9)]

    found = judge(Board((rule,)), readings, NOW)

    assert [verdict.new and verdict.new.queue for verdict in found] == expected


def test_whoever_looks_later_decides_the_same_again() -> None:
    """R8.3: it depends on what is stored and nothing else."""
    board = Board((structs.replace(RULE, queue=EACH),), (an_alert(queue="sms", since=0),))
    readings = [depth(150, "mail"), depth(350, "sms")]

    assert judge(board, readings, NOW) == judge(board, readings, NOW)

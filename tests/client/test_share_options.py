"""Settings and limits as people write them: read, merged, and refused by the name of the field."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rota.config import MINUTE
from rota.errors import InvalidTask, UnknownOption
from rota.share_options import (
    check_limit,
    check_queue,
    check_scope,
    check_tenant_changes,
    limit_with,
    queue_with,
)
from rota.shares import FairBy, Limit, QueueSettings, Weights, WhenFull
from rota.times import rate, show_rate

Check = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def test_of_a_queue_only_what_is_given_changes() -> None:
    old = QueueSettings(name="sms", weights=Weights(critical=40), max_depth=7, paused_at=1)

    given = {"weights": {"low": 2}, "aging": "5m", "fair_by": "time", "when_full": "defer"}
    new = queue_with(old, check_queue(given))

    assert new == QueueSettings(
        name="sms", weights=Weights(critical=40, low=2), aging=5 * MINUTE, fair_by=FairBy.TIME,
        max_depth=7, when_full=WhenFull.DEFER, paused_at=1,
    )  # fmt: skip
    assert queue_with(new, check_queue({"max_depth": None})).max_depth is None
    assert queue_with(old, check_queue({"weights": "4:3:2:1"})).weights == Weights(
        critical=4, high=3, normal=2, low=1
    )


CHANGED = [
    (Limit(id="1"), {"rate": "500/s"}, (None, 500.0, 500)),
    (Limit(id="1"), {"rate": "30/m"}, (None, 0.5, 1)),
    (Limit(id="1"), {"rate": 500, "burst": 50}, (None, 500.0, 50)),
    (Limit(id="1"), {"max_running": 200}, (200, None, None)),
    (Limit(id="1", max_running=200), {"rate": 5}, (200, 5.0, 5)),
    (Limit(id="1", rate=500.0, burst=50), {"rate": 10}, (None, 10.0, 50)),
    (Limit(id="1", rate=500.0, burst=500), {"rate": 10}, (None, 10.0, 10)),
    (Limit(id="1", rate=500.0, burst=50), {"burst": 7}, (None, 500.0, 7)),
    (Limit(id="1", rate=500.0, burst=50), {"burst": None}, (None, 500.0, 500)),
    (Limit(id="1", max_running=2, rate=5.0, burst=5), {"rate": None}, (2, None, None)),
    (Limit(id="1", max_running=2, rate=5.0, burst=5), {"max_running": None}, (None, 5.0, 5)),
]


@pytest.mark.parametrize(("old", "given", "expected"), CHANGED)
def test_of_a_limit_only_what_is_given_changes(
    old: Limit, given: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """A burst that nobody has set is one second's worth, and follows the rate."""
    new = limit_with(old, check_limit(given))

    assert (new.max_running, new.rate, new.burst) == expected


REFUSED: list[tuple[Check, dict[str, Any], str]] = [
    (check_queue, {"weights": {"critcal": 1}}, "weights.critcal: is not a class; did you mean 'cr"),
    (check_queue, {"weights": {"low": 0}}, "weights.low: must be a whole number from 1 to 1,000"),
    (check_queue, {"weights": {"low": 1001}}, "weights.low: must be a whole number from 1 to"),
    (check_queue, {"weights": {"low": 1.5}}, "weights.low: must be a whole number"),
    (check_queue, {"weights": {"low": True}}, "weights.low: must be a whole number"),
    (check_queue, {"weights": "50:30:15"}, "weights: '50:30:15' must be four numbers"),
    (check_queue, {"weights": 5}, "weights: must map classes to whole numbers"),
    (check_queue, {"aging": "soon"}, "aging: 'soon' is no duration"),
    (check_queue, {"aging": -1}, "aging: must lie between 0 and 10 years"),
    (check_queue, {"fair_by": "turns"}, "fair_by: must be one of tasks, time, not 'turns'"),
    (check_queue, {"when_full": None}, "when_full: must be one of refuse, defer, not None"),
    (check_queue, {"max_depth": 0}, "max_depth: must be a whole number from 1 to 1,000,000"),
    (check_queue, {"max_dept": 1}, "max_dept: is not an option of queues; did you mean 'max_dep"),
    (check_queue, {"version": 1}, "version: is not an option of queues; there are weights, ag"),
    (check_tenant_changes, {"weight": 0}, "weight: must be a whole number from 1 to 1,000"),
    (check_tenant_changes, {"weight": None}, "weight: must be a whole number from 1 to 1,000"),
    (check_tenant_changes, {"max_depth": "x"}, "max_depth: must be a whole number"),
    (check_tenant_changes, {"rate": 5}, "rate: is not an option of tenants"),
    (check_limit, {"max_running": 0}, "max_running: must be at least 1; to start none at all, pau"),
    (check_limit, {"max_running": 1_000_001}, "max_running: must be a whole number from 1 to 1,0"),
    (check_limit, {"rate": 0}, "rate: must lie between 1/d and 1000000/s, got 0"),
    (check_limit, {"rate": "500/x"}, "rate: '500/x' is no rate; give a number a second, or text"),
    (check_limit, {"rate": float("nan")}, "rate: nan is no rate"),
    (check_limit, {"rate": True}, "rate: True is no rate"),
    (check_limit, {"burst": 0}, "burst: must be a whole number from 1 to 1,000,000, not 0"),
]


@pytest.mark.parametrize(
    ("check", "given", "said"), REFUSED, ids=lambda it: it[:40] if isinstance(it, str) else None
)
def test_what_is_wrong_is_refused_by_the_name_of_its_field(
    check: Check, given: dict[str, Any], said: str
) -> None:
    """R1.6."""
    with pytest.raises(InvalidTask) as refused:
        check(given)

    assert said in str(refused.value)
    assert isinstance(refused.value, UnknownOption) == ("is not an option" in said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "max_running: or a rate is needed"),
        ({"rate": None}, "max_running: or a rate is needed"),
        ({"burst": 5}, "burst: needs a rate"),
        ({"max_running": 5, "burst": 5}, "burst: needs a rate"),
    ],
)
def test_a_limit_that_would_bound_nothing_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        limit_with(Limit(id="1"), check_limit(given))


@pytest.mark.parametrize(
    ("queue", "tenant", "said"),
    [
        (None, None, "queue: or a tenant, or both, must be given"),
        ("", None, "queue: '' is no name"),
        ("a b", "x", "queue: 'a b' is no name"),
        ("sms", "a b", "tenant: 'a b' is no name"),
    ],
)
def test_a_scope_names_a_queue_a_tenant_or_both(queue: Any, tenant: Any, said: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        check_scope(queue, tenant)

    assert said in str(refused.value)


def test_tasks_without_a_tenant_may_be_limited_too() -> None:
    assert check_scope(None, "") == (None, "")


@pytest.mark.parametrize("text", ["500/s", "2.5/s", "30/m", "7/h", "1/d", "0.123/s", "1000000/s"])
def test_a_rate_is_shown_the_way_it_is_typed(text: str) -> None:
    assert show_rate(rate(text, "rate")) == text
    assert rate(show_rate(rate(text, "rate")), "rate") == rate(text, "rate")

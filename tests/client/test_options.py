"""Options are checked where they are given, and errors name them (R1.1, R1.6)."""

from typing import Any

import pytest

from rota import config
from rota.config import DAY, MINUTE
from rota.errors import InvalidTask, UnknownOption
from rota.options import Options, check_options
from rota.policy.retry import Backoff


def test_every_option_is_kept() -> None:
    options = check_options(
        {
            "queue": "sms",
            "tenant": "board",
            "priority": 0,
            "delay": "15m",
            "timeout": 30,
            "retry": Backoff(max_attempts=2),
            "key": "hold-17",
            "key_window": "2d",
            "expires_in": "1d",
            "tags": ["results", "2026"],
            "headers": {"trace": "1"},
        }
    )

    assert (options.queue, options.tenant, options.priority) == ("sms", "board", 0)
    assert (options.delay, options.timeout) == (15 * MINUTE, 30_000_000)
    assert (options.key, options.key_window, options.expires_in) == ("hold-17", 2 * DAY, DAY)
    assert options.tags == ("results", "2026")
    assert options.headers == '{"trace":"1"}'
    assert Backoff(max_attempts=2) == Backoff.from_json(options.retry or "")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"queue": "no such name!"}, "queue"),
        ({"queue": ""}, "queue"),
        ({"tenant": "a/b"}, "tenant"),
        ({"priority": 11}, "priority"),
        ({"priority": -1}, "priority"),
        ({"priority": 1.0}, "priority"),
        ({"priority": True}, "priority"),
        ({"run_at": "2026-11-30T10:00"}, "run_at"),
        ({"delay": -1}, "delay"),
        ({"run_at": "2026-11-30T10:00Z", "delay": 1}, "run_at"),
        ({"timeout": 0}, "timeout"),
        ({"retry": {"max_attempts": 3}}, "retry"),
        ({"key": ""}, "key"),
        ({"key": "k" * 256}, "key"),
        ({"key": "a\0b"}, "key"),
        ({"key": 17}, "key"),
        ({"key_window": 0}, "key_window"),
        ({"expires_at": "2026-11-30T10:00Z", "expires_in": 1}, "expires_at"),
        ({"tags": "results"}, "tags"),
        ({"tags": ["t"] * (config.TAGS + 1)}, "tags"),
        ({"tags": ["ok", "t" * 65]}, "tags[1]"),
        ({"headers": {"a": 1}}, "headers.a"),
        ({"headers": {"a": "x" * 5_000}}, "headers"),
        ({"headers": {str(n): "x" for n in range(17)}}, "headers"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(given: dict[str, Any], field: str) -> None:
    """R1.6."""
    with pytest.raises(InvalidTask) as caught:
        check_options(given)

    assert field == caught.value.field


def test_an_unknown_option_is_refused_with_the_one_that_was_meant() -> None:
    """R1.6."""
    with pytest.raises(UnknownOption, match="did you mean 'priority'"):
        check_options({"prioritty": 1})


def test_a_later_time_takes_the_place_of_an_earlier_one() -> None:
    base = check_options({"delay": 10})

    at = check_options({"run_at": "2026-11-30T10:00:00Z"}, base)
    back = check_options({"delay": 5}, at)

    assert (at.delay, at.run_at is not None) == (0, True)
    assert (back.delay, back.run_at) == (5_000_000, None)


def test_no_options_are_the_defaults() -> None:
    assert Options() == check_options({})

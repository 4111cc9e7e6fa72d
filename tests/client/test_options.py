"""Options are checked where they are given, and errors name them (R1.1, R1.6)."""

from typing import Any

import pytest

from rota import Call, Rota, config
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
            "concurrency_key": "printer",
            "max_concurrency": 3,
        }
    )

    assert (options.queue, options.tenant, options.priority) == ("sms", "board", 0)
    assert (options.delay, options.timeout) == (15 * MINUTE, 30_000_000)
    assert (options.key, options.key_window, options.expires_in) == ("hold-17", 2 * DAY, DAY)
    assert options.tags == ("results", "2026")
    assert options.headers == '{"trace":"1"}'
    assert (options.concurrency_key, options.max_concurrency) == ("printer", 3)
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
        ({"concurrency_key": ""}, "concurrency_key"),
        ({"concurrency_key": "k" * 256}, "concurrency_key"),
        ({"max_concurrency": 3}, "max_concurrency"),
        ({"concurrency_key": "k", "max_concurrency": 0}, "max_concurrency"),
        ({"concurrency_key": "k", "max_concurrency": 1_000_001}, "max_concurrency"),
        ({"concurrency_key": "k", "max_concurrency": True}, "max_concurrency"),
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


def test_the_gate_of_a_task_is_its_own_or_that_of_its_kind() -> None:
    """R7.4: room for one unless it is said otherwise; the room belongs to the key."""
    app = Rota("sqlite:///unused.db")
    plain = app.task(name="plain")(_print)
    gated = app.task(name="gated", concurrency_key="printer", max_concurrency=3)(_print)

    def gate(call: Call) -> tuple[str | None, int | None]:
        task = call.task("id", 0)
        return task.concurrency_key, task.max_concurrency

    assert gate(plain.bind(1)) == gate(plain.using(queue="a").bind(1)) == (None, None)
    assert gate(plain.using(concurrency_key="k").bind(1)) == ("k", 1)
    assert gate(gated.bind(1)) == gate(gated.using(queue="a").bind(1)) == ("printer", 3)
    assert gate(gated.using(concurrency_key="k").bind(1)) == ("k", 1)
    assert gate(gated.using(concurrency_key="k", max_concurrency=2).bind(1)) == ("k", 2)


def _print(page: int) -> None: ...


def test_no_options_are_the_defaults() -> None:
    assert Options() == check_options({})

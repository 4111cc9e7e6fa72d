"""How a kind is declared, and what is wrong with a declaration (R1.1, R4.3, R8.2)."""

from typing import Any

import pytest

from rota import Backoff, ConfigurationError, Rota
from rota.config import SECOND


@pytest.fixture
def app() -> Rota:
    """An app whose store is never opened."""
    return Rota("sqlite:///unused.db")


async def on_the_loop(n: int) -> None:
    """An async handler."""


def plain(n: int) -> None:
    """A plain one."""


def test_a_kind_has_what_was_declared(app: Rota) -> None:
    kind = app.task(
        name="send",
        timeout="1m",
        soft_timeout=30,
        executor="process",
        cancellable="check",
        retry=Backoff(max_attempts=2),
        fail_on=KeyError,
        keep=False,
    )(plain).kind

    assert (kind.name, kind.timeout, kind.soft_timeout) == ("send", 60 * SECOND, 30 * SECOND)
    assert (kind.executor, kind.cancellable, kind.keep) == ("process", False, False)
    assert kind.verdicts.permanent(KeyError())


@pytest.mark.parametrize(("handler", "executor"), [(on_the_loop, "async"), (plain, "thread")])
def test_without_a_word_an_async_function_runs_on_the_loop_a_plain_one_in_a_thread(
    app: Rota, handler: Any, executor: str
) -> None:
    assert app.task(handler).kind.executor == executor


@pytest.mark.parametrize(
    ("handler", "options", "problem"),
    [
        (plain, {"executor": "async"}, "does not fit"),
        (on_the_loop, {"executor": "thread"}, "does not fit"),
        (on_the_loop, {"executor": "process"}, "does not fit"),
        (plain, {"executor": "fork"}, "one of async, thread, process"),
        (on_the_loop, {"cancellable": True}, "one of await, check"),
        (plain, {"timeout": 10, "soft_timeout": 10}, "shorter than timeout"),
        (plain, {"soft_timeout": 0}, "soft_timeout"),
        (plain, {"timeout": "soon"}, "timeout"),
        (plain, {"fail_on": "KeyError"}, "fail_on takes exception classes"),
        (plain, {"max_concurrency": 2}, "max_concurrency: needs a concurrency_key"),
        (plain, {"concurrency_key": ""}, "concurrency_key"),
        (plain, {"concurrency_key": "k", "max_concurrency": 0}, "max_concurrency"),
        (3, {}, "must be a function"),
        (int, {}, "must be a function"),
    ],
)
def test_what_cannot_be_a_kind_is_refused(
    app: Rota, handler: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        app.task(**options)(handler)
    assert app.registry.names == ()

"""`rota worker --queue`: pools, patterns and exclusions (R7.6)."""

from typing import Any

import pytest

from rota.cli.options import Common
from rota.cli.worker import child_options
from rota.node.settings import WorkerSettings
from tests.cli.conftest import Cli

WORDS = ("sms=50", "mail.*=5", "*", "!bulk")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[WorkerSettings]:
    """What workers would have been started with."""
    seen: list[WorkerSettings] = []

    def run_here(registry: Any, connect: Any, settings: WorkerSettings, **others: Any) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr("rota.node.process.run_here", run_here)
    return seen


def options(*words: str) -> list[str]:
    """The words as options."""
    return [part for word in words for part in ("--queue", word)]


def test_pools_patterns_and_exclusions_become_settings(
    rota: Cli, started: list[WorkerSettings]
) -> None:
    assert rota("worker", "school:app", *options(*WORDS)).code == 0

    assert started == [WorkerSettings(queues=WORDS, app_path="school:app")]


def test_children_have_the_same_pools(rota: Cli, started: list[WorkerSettings]) -> None:
    settings = WorkerSettings(queues=WORDS, concurrency=7, app_path="school:app")

    assert rota("worker", "school:app", *child_options(settings, Common())).code == 0

    assert started == [settings]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sms=0"], "--queue sms=0: after the '=' comes how many of its tasks run at once"),
        (["sms", "sms=5"], "--queue sms: it is given twice"),
        (["!bulk=5"], "--queue !bulk=5: what is not taken has no slots"),
        (["sms", "!bulk"], "--queue !bulk: there is nothing to take it away from"),
        (["s ms"], "--queue s ms: 's ms' is neither a queue's name"),
    ],
    ids=["none", "twice", "slots", "names", "no name"],
)
def test_an_error_names_the_option(
    rota: Cli, started: list[WorkerSettings], words: list[str], problem: str
) -> None:
    answer = rota("worker", "school:app", *options(*words))

    assert answer.code == 2
    assert answer.err.startswith(f"rota: {problem}")
    assert started == []

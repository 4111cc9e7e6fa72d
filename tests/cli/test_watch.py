"""`rota list --watch`: live on a terminal, changes into a pipe, until interrupted."""

from collections.abc import Callable

import msgspec
import pytest

from rota import Rota
from rota.cli import watch
from rota.cli.problems import Exit
from rota.cli.watch import Changes
from tests.cli.conftest import Cli

Between = Callable[..., None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """Sets what happens between two looks; after the last it is interrupted."""

    def happens(*steps: Callable[[], object]) -> None:
        left = iter(steps)

        def wait(seconds: float) -> None:
            step = next(left, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(watch, "wait", wait)

    return happens


def test_a_pipe_gets_what_is_there_and_then_what_changes(
    rota: Cli, store: Rota, between: Between
) -> None:
    first = rota.submit("report", "day=a")
    second = rota.submit("report", "day=b")
    app = store

    between(lambda: None, lambda: app.tasks.cancel(first), lambda: None)
    answer = rota("list", "--watch", "--jsonl")

    assert answer.code == Exit.INTERRUPTED
    seen = [msgspec.json.decode(line) for line in answer.lines]
    assert [(task["id"], task["state"]) for task in seen] == [
        (first, "ready"), (second, "ready"), (first, "cancelled"),
    ]  # fmt: skip
    between()
    assert rota("list", "--watch", "--columns", "id,state").lines == [
        f"{first}\tcancelled",
        f"{second}\tready",
    ]


def test_a_terminal_shows_the_list_live(rota: Cli, store: Rota, between: Between) -> None:
    task_id = rota.submit("report", "day=a")

    between(lambda: store.tasks.cancel(task_id))
    answer = rota.on_terminal("list", "--watch", "--no-color")

    assert answer.code == Exit.INTERRUPTED
    assert answer.out.index("ready") < answer.out.index("cancelled")
    assert answer.out.index("STATE") < answer.out.index("ready")


def test_only_one_page_is_remembered(rota: Cli, store: Rota) -> None:
    rota("submit", "report", "--batch", "-", stdin='{"payload":{"day":"x"}}\n' * 3)
    newest, *rest = store.tasks.list()
    changes = Changes()

    assert changes.among([newest, *rest]) == [*reversed(rest), newest]
    assert changes.among([newest]) == []
    assert changes.among([newest, *rest]) == list(reversed(rest))

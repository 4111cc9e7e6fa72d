"""`rota amend`, `rota delete` and `rota actions`: by ids and by filters, told in numbers (R5.4)."""

import pytest

from rota import Rota
from rota.actions import Action, Do, On
from rota.cli.problems import Exit
from rota.clock import Ids
from rota.model import State, TaskFilter
from tests.cli.conftest import Cli
from tests.support.factories import NOW


def submitted(rota: Cli, *options: str) -> str:
    """The id of a task that was just stored."""
    return str(rota("submit", "send_result", "student_id:=1", "--json", *options).json["id"])


def test_a_task_that_waits_is_changed(rota: Cli, store: Rota) -> None:
    """R5.4."""
    task_id = submitted(rota)
    answer = rota("amend", task_id, "--to-priority", "0", "--to-tag", "vip", "--to-timeout", "1m")
    assert (answer.code, answer.out) == (0, "1 task changed\n")
    task = store.tasks.get(task_id)
    assert (task.priority, task.tags, task.timeout) == (0, ("vip",), 60_000_000)


def test_a_filter_counts_first(rota: Cli, store: Rota) -> None:
    """R5.3."""
    for _ in range(3):
        submitted(rota, "--queue", "sms")
    would = rota("amend", "--queue", "sms", "--to-queue", "mail", "--dry-run")
    assert would.out == "Would change 3 tasks.\n"
    refused = rota("amend", "--queue", "sms", "--to-queue", "mail", "--expect-at-most", "2")
    assert refused.code == Exit.CONFLICT
    done = rota("amend", "--queue", "sms", "--to-queue", "mail", "--yes", "--json")
    assert done.json == {"matched": 3, "done": 3, "not_waiting": 0, "not_found": 0}
    assert store.tasks.count(queue="mail") == {State.READY: 3}


def test_what_is_over_is_deleted_and_nothing_else(rota: Cli, store: Rota) -> None:
    """R5.4."""
    over, waits = submitted(rota), submitted(rota)
    store.tasks.cancel(over)
    both = rota("delete", over, waits)
    assert (both.code, both.out) == (Exit.PARTLY, "1 task deleted, 1 left alone: not over\n")
    assert rota("delete", waits).code == Exit.CONFLICT
    assert rota("delete", over).code == Exit.NOT_FOUND
    assert rota("delete", "--all", "--yes").out == "0 tasks deleted\n"
    assert store.tasks.count() == {State.READY: 1}


@pytest.mark.parametrize(
    "words",
    [
        ("amend", "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"),
        ("amend", "--to-priority", "0"),
        ("amend", "--queue", "sms", "--to-priority", "11"),
        ("amend", "--queue", "sms", "--to-run-at", "soon", "--yes"),
        ("delete",),
        ("amend", "--queue", "sms", "--to-priority", "0"),
    ],
    ids=["nothing", "nobody", "priority", "time", "none", "unasked"],
)
def test_what_is_not_said_clearly_is_refused(rota: Cli, words: tuple[str, ...]) -> None:
    """Exit code 2."""
    submitted(rota, "--queue", "sms")
    assert rota(*words).code == Exit.USAGE


def test_actions_are_followed_and_stopped(rota: Cli, store: Rota) -> None:
    """R5.3."""
    submitted(rota)
    none = rota("actions", "list", "--json")
    assert (none.code, none.out) == (0, "[]\n"), none.err
    begun = Action(
        id=Ids().new(NOW),
        do=Do.CANCEL,
        on=On.TASKS,
        where=TaskFilter(queue="sms"),
        asked={"queue": "sms"},
        matched=1_500,
        created_at=NOW,
    )

    async def begin() -> None:
        await (await store._client.opened()).begin_action(begun)

    store._client.portal.run(begin)
    (listed,) = rota("actions", "list", "--json").json
    assert (listed["id"], listed["state"]) == (begun.id, "running")
    assert "0 of 1,500 looked at" in rota("actions", "show", begun.id).out
    assert rota("actions", "stop", begun.id, "--json").json["state"] == "stopped"
    assert rota("actions", "show", "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44").code == Exit.NOT_FOUND

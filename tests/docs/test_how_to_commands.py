"""The examples of docs/how-to/commands.md do what the page says."""

import sys
from pathlib import Path

import pytest

from rota.config import HOUR
from tests.docs.pages import module_of


def test_commands_are_submitted_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)
    school = module_of("commands.md", tmp_path)
    with school.app as app:
        first, second = map(app.tasks.get, (school.back_up("north"), school.count_lines("b\na\n")))
    sys.modules.pop("school", None)  # what another test calls so is another

    assert {(task.kind, task.queue, task.timeout) for task in (first, second)} == {
        ("command", "chores", HOUR)
    }
    assert first.payload == {"argv": ["tar", "-czf", "north.tgz", "north"], "cwd": "/"}
    assert second.payload == {"shell": "sort -u | wc -l", "stdin": "b\na\n", "fail_on": [2]}

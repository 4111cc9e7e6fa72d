"""What the page on schedules shows is what happens."""

import sys
from pathlib import Path

import pytest

from rota import SlotState, State
from tests.docs.pages import module_of


def test_the_examples_of_the_page_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R6.8: as they stand on the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)

    school = module_of("schedules.md", tmp_path)

    with school.app as app:
        said = capsys.readouterr().out
        assert "schedule report: created, next at " in said
        assert "2026-03-29 03:00:00+02:00 2026-03-29 02:30 does not exist" in said
        assert "\n7 7 0\n" in said
        assert [one.name for one in app.schedules.list()] == ["fetch_marks", "report", "weekly"]
        assert {one.source for one in app.schedules.list()} == {"code:school"}
        assert app.schedules.plan() == []
        assert app.tasks.get(school.accepted.id).tenant == "board"
        assert app.tasks.count() == {State.READY: 1, State.SCHEDULED: 7}
        assert SlotState.FIRED not in {one.state for one in app.schedules.slots("report")}
    sys.modules.pop("school", None)

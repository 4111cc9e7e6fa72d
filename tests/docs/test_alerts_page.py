"""The examples of docs/how-to/alerts.md and call-urls.md do what the pages say."""

import re
import sys
from pathlib import Path

import pytest

from rota.alerting import DEFAULT_RULES
from rota.contrib._signature import sign
from tests.docs.pages import FOLDER, module_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a page's module lies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_rules_endpoints_and_silence_are_made_as_shown(here: Path) -> None:
    school = module_of("alerts.md", here)
    with school.app as app:
        school.watch_sms()
        school.quiet(2)
        assert school.still_wrong() == []
        assert app.alerts.rule("sms-late").queue == "sms"
        assert app.alerts.rule("queue_depth").threshold == 20_000
        assert app.alerts.rule("queue_depth").silenced_until is not None
        assert len(app.webhooks.list()) == 1
        assert "rota.webhook" in app.registry
    sys.modules.pop("school", None)


def test_the_seven_rules_are_those_of_the_table() -> None:
    page = (FOLDER / "alerts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.,]+)[^|]*\| (\w+) \|", page, re.MULTILINE)

    told = {name: (float(start.replace(",", "")), hold) for name, start, hold in rows}
    assert told == {
        name: (rule.threshold, "1m" if rule.hold else "0s") for name, rule in DEFAULT_RULES.items()
    }


def test_calls_are_submitted_and_signatures_checked_as_shown(here: Path) -> None:
    school = module_of("call-urls.md", here)
    with school.app as app:
        first, second = map(app.tasks.get, (school.tell_shop(7), school.look("https://x.example/")))
        assert {(task.kind, task.queue) for task in (first, second)} == {("http", "calls")}
        assert first.payload["secret"] == "shop"
    headers = sign([SECRET], "m1", 1_000, b"body")
    assert school.genuine(SECRET, headers, b"body", 1_300)
    assert not school.genuine(SECRET, headers, b"body", 1_301)
    assert not school.genuine(SECRET, headers, b"bodY", 1_000)
    sys.modules.pop("school", None)

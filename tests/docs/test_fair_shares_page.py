"""What the page on fair shares shows is what happens."""

import sys
from pathlib import Path

import pytest

from rota.config import MINUTE
from rota.shares import QueueSettings, Weights
from tests.docs.pages import module_of


def test_the_examples_of_the_page_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R7.3-R7.8, R1.7: as they stand on the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)

    school = module_of("fair-shares.md", tmp_path)

    with school.app as app:
        said = capsys.readouterr().out.splitlines()
        assert said[:3] == [
            "None board 0 200 None",
            "sms None 0 None 50",
            "sms board 0 20 1",
        ]
        assert said[3] == "sms provider down 0"
        assert said[4] == "queue 'sms' is full, again in 60 s"
        assert school.refused == 1
        assert said[5].startswith("Paused(what='queue', name='sms', since=")
        assert said[6].startswith("NoWorker(queue='sms', kind='send_result', workers=0")
        assert said[7] == "InTurn(ahead=0, capped=False, until=None)"
        assert len(said) == 8
        assert school.seen.weights == Weights(critical=60, high=30, normal=15, low=1)
        assert school.seen.aging == 5 * MINUTE
        assert app.queues.get("sms") == QueueSettings(name="sms")
        assert app.tenants.get("board").weight == 3
        limits = [(use.limit.queue, use.limit.tenant) for use in app.limits.list()]
        assert limits == [("sms", None), ("sms", "board")]
        assert app.limits.get(queue="sms").max_running == 100
    sys.modules.pop("school", None)

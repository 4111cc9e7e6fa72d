"""Statistics and figures in Python: `app.statistics` (R9.1, R9.4, R9.6)."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import Rota
from rota.errors import InvalidTask
from rota.figures import By, Figure
from rota.statistics import chosen
from tests.support.factories import NOW

DAY = timedelta(days=1)


def test_a_program_reads_what_happened_and_how_things_stand(app: Rota) -> None:
    """R9.1, R9.4, R9.6."""

    @app.task(queue="sms")
    def send() -> None: ...

    for _ in range(3):
        send.submit()
    app.close()  # writes down what was counted

    minutes = app.statistics.list("10m", by=["queue", "kind"])
    figures = app.statistics.figures()
    (scale,) = app.statistics.scaling()

    assert sum(one.submitted for one in minutes) == 3
    assert {(one.queue, one.kind) for one in minutes} == {("sms", "send")}
    assert figures.value(Figure.DEPTH) == figures.value(Figure.DEPTH, "sms") == 3
    assert (scale.queue, scale.ready, scale.slots) == ("sms", 3, 0)


SCRIPT = """
from rota import Rota
app = Rota("sqlite:///rota.db")
@app.task
def send(n: int) -> None: ...
for n in range(5):
    send.submit(n)
"""


@pytest.mark.slow
def test_a_script_that_closes_nothing_has_its_submits_counted(tmp_path: Path) -> None:
    """R9.6: what comes in is not only what long-lived processes submit."""
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=True, timeout=60)
    with Rota(f"sqlite:///{tmp_path / 'rota.db'}") as app:
        assert sum(minute.submitted for minute in app.statistics.list("10m")) == 5


@pytest.mark.parametrize(
    "since", ["1d", DAY, 86_400, "2027-01-14T08:00:00Z", datetime(2027, 1, 14, 8, tzinfo=UTC)],
    ids=["text", "timedelta", "seconds", "instant-text", "instant"],
)  # fmt: skip
def test_the_beginning_is_an_instant_or_how_long_ago(since: Any) -> None:
    """R9.1: NOW is 2027-01-15T08:00Z."""
    where = chosen(NOW, since, None, step="1h", queue=None, kind=None, by=())
    assert NOW - where.since == 86_400_000_000
    assert where.until > NOW


def test_a_split_is_said_once() -> None:
    where = chosen(NOW, "1h", None, step="1m", queue="sms", kind=None, by=["kind", "kind"])
    assert (where.by, where.queue) == ((By.KIND,), "sms")
    alone = chosen(NOW, "1h", None, step="1m", queue=None, kind=None, by="queue")
    assert alone.by == (By.QUEUE,)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("step", {"step": "90s"}),
        ("step", {"step": 0}),
        ("since", {"since": "yesterday"}),
        ("since", {"since": "2027-01-14T08:00:00"}),
        ("until", {"until": "2020-01-01T00:00:00Z"}),
        ("by", {"by": ["tenant"]}),
        ("queue", {"queue": "a b"}),
        ("kind", {"kind": "a b"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_what_cannot_be_is_refused_and_named(field: str, wrong: dict[str, Any]) -> None:
    """R1.6."""
    usual = {"since": "1h", "until": None, "step": "1m", "queue": None, "kind": None, "by": ()}
    with pytest.raises(InvalidTask) as refused:
        chosen(NOW, **usual | wrong)
    assert refused.value.field == field

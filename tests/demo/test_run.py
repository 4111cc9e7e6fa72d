"""Whole runs: real workers, one really killed, and nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from rota.config import SECOND
from rota.demo import DemoSettings, run_demo

pytestmark = [pytest.mark.slow, pytest.mark.paced]

STUDENTS = 40_000
"""So many that the demo goes on for some seconds after it killed a worker."""


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_worker_dies_and_every_student_gets_one_message(
    store: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    address = store if store == "sqlite" else request.getfixturevalue("postgres_url")

    code = run_demo(
        DemoSettings(
            store=address, students=5_000, lease=2 * SECOND, json=True, directory=tmp_path / "demo"
        )
    )

    said = capsys.readouterr()
    report = msgspec.json.decode(said.out)
    assert said.err == ""
    assert code == 0
    assert (report["students"], report["lost"], report["twice"]) == (5_000, 0, 0)
    assert report["absorbed"] > 0
    assert report["killed"] == 1
    assert (tmp_path / "demo" / "results.csv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process_and_no_file(number: signal.Signals, tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "rota", "demo", "--students", str(STUDENTS)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert demo.stdout is not None
    with demo, demo.stdout:
        assert any("killed worker" in line for line in demo.stdout)
        children = psutil.Process(demo.pid).children()
        demo.send_signal(number)
        demo.communicate(timeout=60)

    assert len(children) == 1
    assert not psutil.wait_procs(children, timeout=60)[1]
    assert list(tmp_path.iterdir()) == []


def test_workers_end_when_the_demo_is_killed(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "rota", "demo", "--students", str(STUDENTS)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert demo.stdout is not None
    with demo, demo.stdout:
        assert any("reminders," in line for line in demo.stdout)
        children = psutil.Process(demo.pid).children()
        demo.kill()

    assert len(children) == 2
    assert not psutil.wait_procs(children, timeout=60)[1]

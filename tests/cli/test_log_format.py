"""`--log-format`: lines for people or for programs (R9.3)."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from rota import Rota
from rota.cli.logs import OneLine, set_up_logs
from rota.cli.options import Look
from rota.logs import JsonLines
from tests.cli.conftest import ROTA, Cli
from tests.system.harness import wait_until

CANARY = "canary-93d0"


@contextmanager
def fresh_root() -> Iterator[logging.Logger]:
    """The root of all loggers, as a fresh process has it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.getLogger("rota.run").setLevel(logging.NOTSET)
        logging.getLogger("rota").setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No form is set, and none is afterwards, whatever a test sets."""
    monkeypatch.setenv("ROTA_LOG_FORMAT", "")


def test_text_is_the_usual_form_and_says_nothing_of_single_runs() -> None:
    with fresh_root() as root:
        set_up_logs(Look(), usual=logging.INFO)
        assert isinstance(root.handlers[0].formatter, OneLine)
        assert not logging.getLogger("rota.run").isEnabledFor(logging.INFO)


def test_json_is_chosen_by_option_or_variable_for_this_process_and_those_below() -> None:
    with fresh_root() as root:
        set_up_logs(Look(), usual=logging.INFO, form="json")
        assert isinstance(root.handlers[0].formatter, JsonLines)
        assert logging.getLogger("rota.run").isEnabledFor(logging.INFO)
    assert os.environ["ROTA_LOG_FORMAT"] == "json"
    with fresh_root() as root:
        set_up_logs(Look())
        assert isinstance(root.handlers[0].formatter, JsonLines)


def test_a_form_that_there_is_not_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTA_LOG_FORMAT", "xml")
    answer = cli("list")
    assert answer.code == 2
    assert "ROTA_LOG_FORMAT is text or json, not 'xml'" in answer.err


@pytest.mark.slow
def test_a_worker_logs_objects_without_what_its_tasks_carry(school: Path, store: Rota) -> None:
    """R9.3, S11: all that it writes, from its start to its end."""
    done = subprocess.run(
        [*ROTA, "submit", "send_result", "student_id:=7", f"phone={CANARY}",
         "--header", f"x-token={CANARY}"],
        cwd=school, capture_output=True, text=True, check=True,
    )  # fmt: skip
    task_id = done.stdout.split("\t")[0]
    with (school / "log").open("wb") as log:
        worker = subprocess.Popen(
            [*ROTA, "worker", "school:app", "--log-format", "json", "--verbose"],
            cwd=school, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_until(lambda: store.tasks.get(task_id).state == "completed")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.wait()
    text = (school / "log").read_text()
    lines = [msgspec.json.decode(line) for line in text.splitlines()]
    (run,) = [line for line in lines if line.get("event") == "task_run"]
    assert (run["task_id"], run["kind"], run["queue"]) == (task_id, "send_result", "sms")
    assert (run["attempt"], run["fence"], run["outcome"]) == (1, 1, "completed")
    assert run["session"]
    assert CANARY not in text

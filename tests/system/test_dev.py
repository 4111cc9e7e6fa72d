"""`rota dev`: one process that serves and works, and follows the code (issue 6, point 7)."""

import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from rota import Rota, State
from rota.contrib.embedded import free_port
from rota.dev.parent import END
from tests.system.harness import PATIENCE, gone, wait_until

APP = """
import time
from rota import Rota

app = Rota("sqlite:///dev.db")


@app.task
async def say(word: str) -> str:
    return word + " ONE"


@app.task
async def block(seconds: float) -> None:
    time.sleep(seconds)
"""


BLOCKED = 40
"""Seconds for which a handler holds up its loop."""


class Dev:
    """`rota dev` in a folder of its own, at a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder / "log"
        self.code(APP)
        self.keyboard, terminal = pty.openpty()
        environ = {k: v for k, v in os.environ.items() if not k.startswith("ROTA_")}
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rota", "dev", "school:app", "--port", str(self.port)],
                cwd=folder, stdin=terminal, stdout=output, stderr=output, env=environ,
                start_new_session=True,
            )  # fmt: skip
        os.close(terminal)

    @property
    def said(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def code(self, text: str) -> None:
        """Write the app's file."""
        (self.folder / "school.py").write_text(text)

    def links(self, count: int) -> list[str]:
        """Wait until so many links have been printed; return the codes in them."""
        pattern = rf"^http://127\.0\.0\.1:{self.port}/#code=(\w+)$"
        found = wait_until(
            lambda: f if len(f := re.findall(pattern, self.said, re.M)) >= count else []
        )
        assert len(found) == count
        return found

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send one request; (0, None) if nobody answers."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            line.request(method, path, body and json.dumps(body), headers)
            answer = line.getresponse()
            answer.read()
            return answer.status, answer.getheader("set-cookie")
        except OSError:
            return 0, None
        finally:
            line.close()

    def up(self) -> bool:
        """Say whether it answers."""
        return self.ask("GET", "/healthz")[0] == 200

    def close(self) -> None:
        """End it and all below it."""
        if self.process.poll() is None:
            below = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            self.process.wait()
            for child in below:
                if child.is_running():
                    child.kill()
        os.close(self.keyboard)
        print(self.said[-4000:])


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """It, serving."""
    dev = Dev(tmp_path)
    try:
        wait_until(dev.up)
        yield dev
    finally:
        dev.close()


@pytest.fixture
def app(dev: Dev) -> Iterator[Rota]:
    """A bare app at its store."""
    with Rota(f"sqlite:///{dev.folder}/dev.db") as app:
        yield app


def submitted(dev: Dev, kind: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rota", "submit", kind, *arguments, "--app", "school:app", "--json"],
        cwd=dev.folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return str(json.loads(done.stdout)["id"])


def test_it_serves_works_and_ends_within_two_seconds(dev: Dev, app: Rota) -> None:
    task = submitted(dev, "say", "word=hello")
    wait_until(lambda: app.tasks.get(task).state is State.COMPLETED)
    assert app.tasks.get(task).result == "hello ONE"

    blocking = submitted(dev, "block", f"seconds:={BLOCKED}")
    wait_until(lambda: app.tasks.get(blocking).state is State.RUNNING)
    assert dev.up(), "a handler that blocks its loop does not hold up the server"
    assert app.tasks.get(blocking).state is State.RUNNING

    began = time.monotonic()
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(PATIENCE) == 0
    assert END <= 2, "by its own clock; a busy machine takes its time to end two processes"
    assert time.monotonic() - began < BLOCKED / 4, "although the handler goes on"
    assert not dev.up()


def test_its_link_logs_in_once_and_enter_prints_another(dev: Dev) -> None:
    (code,) = dev.links(1)
    origin = f"http://127.0.0.1:{dev.port}"
    headers = {"Content-Type": "application/json", "Origin": origin}
    status, cookie = dev.ask("POST", "/v1/login", {"code": code}, **headers)
    assert status == 200
    assert cookie is not None
    assert dev.ask("GET", "/v1/queues", Cookie=cookie.partition(";")[0])[0] == 200
    assert dev.ask("POST", "/v1/login", {"code": code}, **headers)[0] == 401
    os.write(dev.keyboard, b"\n")
    assert len(set(dev.links(2))) == 2
    # No key is needed to begin, so none is asked for.
    assert "rota keys create" not in dev.said


def test_it_follows_the_code_and_a_mistake_leaves_the_last_good_state(dev: Dev, app: Rota) -> None:
    dev.code(APP + "\nraise ValueError('half written')\n")
    wait_until(lambda: "the code cannot be loaded; what ran before goes on" in dev.said)
    assert "ValueError: half written" in dev.said
    assert f'File "{dev.folder}/school.py", line' in dev.said
    assert dev.up()
    first = submitted_by(app, "before")
    wait_until(lambda: app.tasks.get(first).state is State.COMPLETED)
    assert app.tasks.get(first).result == "before ONE"

    dev.code(APP.replace("ONE", "TWO"))
    dev.links(2)
    wait_until(dev.up)
    second = submitted_by(app, "after")
    wait_until(lambda: app.tasks.get(second).state is State.COMPLETED)
    assert app.tasks.get(second).result == "after TWO"


def submitted_by(app: Rota, word: str) -> str:
    """Hand in a task although the code that would is broken."""
    if "say" not in app.registry:

        @app.task(name="say")
        async def say(word: str) -> str:
            return word

    return app.submit("say", {"word": word}).id


def test_a_busy_port_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "rota", "dev", "school:app", "--port", str(port)],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "choose another" in done.stderr


def test_a_killed_parent_leaves_nothing_behind(dev: Dev) -> None:
    below = psutil.Process(dev.process.pid).children(recursive=True)
    assert below
    dev.process.kill()
    dev.process.wait()
    wait_until(lambda: gone(below))


def test_without_reloading_a_mistake_ends_it(tmp_path: Path) -> None:
    (tmp_path / "school.py").write_text("raise ValueError('half written')\n")
    done = subprocess.run(
        [sys.executable, "-m", "rota", "dev", "school:app", "--port", "0", "--no-reload"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2
    assert "the code cannot be loaded\n" in done.stderr


def test_scripts_learn_the_address_and_the_code_as_json(tmp_path: Path) -> None:
    (tmp_path / "school.py").write_text(APP)
    process = subprocess.Popen(
        [sys.executable, "-m", "rota", "dev", "school:app", "--port", "0", "--json", "--quiet"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", told["url"])
        assert re.fullmatch(r"\w{64}", told["code"])
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

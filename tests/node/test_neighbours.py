"""The death of a worker on this machine is seen at once, and never by mistake."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rota.clock import ManualClock, new_rng
from rota.model import Session
from rota.node.neighbours import LOOK, Mark, Neighbours, is_gone, own_mark, read_mark
from tests.support.factories import Make

PROC = Path("/proc")
ALONE = "import signal; signal.pause()"
MARK = "from rota.node.neighbours import own_mark; print(own_mark(), flush=True)"

pytestmark = pytest.mark.skipif(own_mark() is None, reason="needs Linux's /proc")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits."""
    with subprocess.Popen([sys.executable, "-c", ALONE]) as process:
        yield process
        process.kill()


@pytest.fixture
def here() -> Mark:
    """This process."""
    mark = own_mark()
    assert mark is not None
    return mark


def mark_of(pid: int, here: Mark) -> Mark:
    """The mark that the process would give itself."""
    text = (PROC / str(pid) / "stat").read_text()
    return replace(here, pid=pid, born=text.rpartition(")")[2].split()[19])


def test_a_mark_is_read_back(here: Mark) -> None:
    assert read_mark(str(here)) == here
    assert here.pid == os.getpid()


@pytest.mark.parametrize("text", ["", "a/b/c", "a/b/c/d", "a/b/1/", "a/b/1/2/3"])
def test_what_is_no_mark_says_nothing(text: str) -> None:
    assert read_mark(text) is None


def test_a_process_that_was_killed_is_gone(here: Mark, child: subprocess.Popen[bytes]) -> None:
    """At once, also while its parent has not asked for it."""
    mark = mark_of(child.pid, here)
    before = is_gone(mark)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    body = is_gone(mark)
    child.wait()

    assert (before, body, is_gone(mark)) == (False, True, True)


def test_a_process_that_stands_still_lives(here: Mark, child: subprocess.Popen[bytes]) -> None:
    """A paused worker is left to its lease."""
    mark = mark_of(child.pid, here)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)

    assert not is_gone(mark)


def test_a_number_that_another_process_has_now_is_not_the_same(here: Mark) -> None:
    """Numbers are used again; nothing starts twice at the same time."""
    assert is_gone(replace(here, born=str(int(here.born) - 1)))


def test_a_process_that_proc_hides_lives(here: Mark, tmp_path: Path) -> None:
    """Where others' processes are hidden, not to see one says nothing."""
    assert not is_gone(here, tmp_path)


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert own_mark(tmp_path) is None


@pytest.fixture
def unshared() -> list[str]:
    """How to run a command in a pid namespace of its own."""
    command = [shutil.which("unshare") or "", "--pid", "--fork"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no pid namespace can be made here")
    return command


def test_a_namespace_whose_processes_are_not_those_of_its_proc_has_no_mark(
    unshared: list[str],
) -> None:
    """Its /proc shows processes of the outer namespace under other numbers."""
    said = subprocess.run([*unshared, sys.executable, "-c", MARK], check=True, capture_output=True)

    assert said.stdout.strip() == b"None"


def test_a_process_in_another_namespace_is_none_of_ours(
    here: Mark, unshared: list[str], make: Make
) -> None:
    """It has a number that here is init's, and it may be dead or alive: that is not seen."""
    command = [*unshared, "--mount-proc", sys.executable, "-c", MARK]
    said = subprocess.run(command, check=True, capture_output=True)
    mark = read_mark(said.stdout.decode().strip())

    assert mark is not None
    assert (mark.boot, mark.pid) == (here.boot, 1)
    assert mark.space != here.space


class Sessions:
    """A backend that knows of sessions."""

    def __init__(self, *sessions: Session) -> None:
        self.clock = ManualClock()
        self.known = list(sessions)
        self.closed: list[str] = []
        self.reaped = 0
        self.reads = 0

    async def sessions(self, *, live: bool) -> list[Session]:
        """Return those that live."""
        self.reads += 1
        return [session for session in self.known if session.id not in self.closed]

    async def close_session(self, session_id: str) -> None:
        """End one."""
        self.closed.append(session_id)

    async def reap(self) -> int:
        """Take note."""
        self.reaped += 1
        return 0


def neighbours(backend: Sessions) -> Neighbours:
    """The duty against a backend."""
    return Neighbours(backend, new_rng(1))  # type: ignore[arg-type]


async def test_the_dead_are_buried_and_only_those(
    here: Mark, make: Make, child: subprocess.Popen[bytes]
) -> None:
    host = socket.gethostname()
    dead = replace(here, born="1")
    others: list[Any] = [
        (host, str(here)),
        (host, str(mark_of(child.pid, here))),
        (host, ""),
        (host, str(replace(dead, boot="another machine, or before a restart"))),
        (host, str(replace(dead, space="a container"))),
        ("a copy of this machine", str(dead)),
    ]
    sessions = [make.session(host=name, process=mark) for name, mark in others]
    lost = make.session(host=host, process=str(dead))
    backend = Sessions(*sessions, lost)

    wait = await neighbours(backend).look()

    assert wait == LOOK
    assert backend.closed == [lost.id]
    assert backend.reaped == 1


async def test_a_death_between_two_readings_is_seen(
    here: Mark, make: Make, child: subprocess.Popen[bytes]
) -> None:
    """The store is asked who the neighbours are once a second, the processes are looked at more."""
    session = make.session(host=socket.gethostname(), process=str(mark_of(child.pid, here)))
    backend = Sessions(session)
    it = neighbours(backend)
    for _ in range(3):
        await it.look()
    assert backend.reads == 1
    child.kill()
    child.wait()

    await it.look()

    assert backend.closed == [session.id]
    assert backend.reads == 2  # whether it has not stopped in good order meanwhile


async def test_a_worker_that_stopped_in_good_order_has_not_died(
    here: Mark, make: Make, child: subprocess.Popen[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """R3.6: it closed its session after the last reading, and ended; that is no warning."""
    session = make.session(host=socket.gethostname(), process=str(mark_of(child.pid, here)))
    backend = Sessions(session)
    it = neighbours(backend)
    await it.look()
    await backend.close_session(session.id)
    child.kill()
    child.wait()
    await it.look()
    await it.look()
    assert backend.closed == [session.id]
    assert (backend.reaped, backend.reads) == (0, 2)
    assert "has died" not in caplog.text


async def test_many_sessions_are_not_read_all_the_time(make: Make) -> None:
    """R2.4: a hundred a second at the most, about."""
    backend = Sessions(*(make.session(host="elsewhere") for _ in range(1_000)))
    it = neighbours(backend)

    for _ in range(100):
        await it.look()
        backend.clock.advance(LOOK)

    assert 100 * LOOK * 100 / 1_000 * 0.7 < backend.reads < 100 * LOOK * 100 / 1_000 * 1.5

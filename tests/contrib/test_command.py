"""The kind `command`: programs in groups of their own that leave nothing behind (R8.2, R4.3)."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from rota import Context, Rota
from rota.config import SECOND
from rota.contrib import command
from rota.contrib._guard import Guard
from rota.contrib._process_group import KEPT_BYTES, Excerpt
from rota.contrib.command import CommandFailed, add_command, run_command
from rota.errors import ConfigurationError, Fail, InvalidTask
from rota.node import stops
from rota.node.stops import Stops
from rota.policy.lifecycle import Completed
from tests.node.fakes import claimed, endings
from tests.node.running import Running

PYTHON = sys.executable
SLOT = 1_800_000_000 * SECOND
STUBBORN = "trap '' TERM; (trap '' TERM; echo $$; exec sleep 600) & echo $! > pids; "
"""A shell that will not end when it is asked to, with a child that will not either."""


@pytest.fixture
def guard() -> Iterator[Guard]:
    """The guard that a worker would hand in."""
    opened = Guard()
    yield opened
    opened.close()


@pytest.fixture
def run(guard: Guard, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command alone, without a worker."""

    def call(*argv: str, slot: int | None = None, **given: Any) -> Any:
        ctx = Context(claimed(kind="command", attempt=3, slot=slot, schedule=slot and "nightly"))
        given = {"cwd": str(tmp_path), **given} | ({"argv": list(argv)} if argv else {})
        return run_command(ctx, guard=guard, **given)

    return call


# -- what comes of it -----------------------------------------------------------------------------


async def test_exit_code_0_completes_with_what_was_written(run: Any) -> None:
    result = await run(PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr)")

    assert result.pop("seconds") > 0
    assert result == {"exit_code": 0, "stdout": "out\n", "stderr": "err\n"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "exit code 3"),
        ("echo broken >&2; echo half; exit 1", "\nstderr: broken\nstdout: half"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("kill -TERM $$", "ended by SIGTERM"),
    ],
)
async def test_any_other_end_is_a_failure_that_says_how_it_came(
    run: Any, script: str, said: str
) -> None:
    with pytest.raises(CommandFailed) as failed:
        await run(shell=script)

    assert said in str(failed.value)


async def test_exit_codes_can_be_permanent_failures(run: Any) -> None:
    with pytest.raises(Fail, match="exit code 65"):
        await run(shell="exit 65", fail_on=[64, 65])
    with pytest.raises(CommandFailed):
        await run(shell="exit 66", fail_on=[64, 65])


async def test_bad_bytes_and_nul_become_text_that_can_be_stored(run: Any) -> None:
    """Case B157."""
    result = await run("printf", r"a\000b\377c")

    assert result["stdout"] == "a\ufffdb\ufffdc"


async def test_only_the_first_and_the_last_of_much_output_is_kept(run: Any) -> None:
    """R1.6: however much is written, memory and result stay small."""
    script = "import sys; sys.stdout.write('first' + 'x' * 5_000_000 + 'last')"
    result = await run(PYTHON, "-c", script)

    out = result["stdout"]
    assert out.startswith("firstx")
    assert out.endswith("xlast")
    assert f"… {5_000_009 - KEPT_BYTES:,} bytes left out …" in out
    assert len(out) < KEPT_BYTES + 50


async def test_what_just_fits_is_kept_whole() -> None:
    excerpt = Excerpt(10)
    for piece in (b"abc", b"\xc3", b"\xa4def", b"gh"):
        excerpt.data_received(piece)

    assert excerpt.text == "abcädefgh"
    excerpt.data_received(b"!")
    assert excerpt.text == "abcä\n… 1 bytes left out …\nefgh!"


async def test_a_program_that_is_not_there_is_tried_again(run: Any) -> None:
    """Another worker may have it, or a deployment brings it."""
    with pytest.raises(CommandFailed, match="'/no/such' cannot be started: there is no such"):
        await run("/no/such")
    with pytest.raises(CommandFailed, match="working directory '/no/such' is not there"):
        await run("true", cwd="/no/such")


# -- what it is given -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "either argv or shell"),
        ({"argv": ["true"], "shell": "true"}, "either argv or shell"),
        ({"argv": []}, "argv must name a program"),
        ({"argv": ["true"], "user": "nobody-else"}, "is for user 'nobody-else'"),
        ({"argv": ["true"], "env": {"A=B": "c"}}, "'A=B' cannot be the name"),
        ({"argv": ["true", "x" * 300_000]}, "cannot be started: .*too long"),
        ({"argv": ["true", "\0"]}, "null byte"),
    ],
)
async def test_what_can_never_run_fails_for_good(
    run: Any, given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Fail, match=problem):
        await run(**given)


async def test_the_workers_own_user_may_be_named(run: Any) -> None:
    assert (await run("true", user=command._own_name()))["exit_code"] == 0


async def test_nothing_goes_through_a_shell_unless_that_is_asked_for(run: Any) -> None:
    assert (await run("echo", "$HOME; exit 1"))["stdout"] == "$HOME; exit 1\n"
    assert (await run(shell="echo $((1 + 1))"))["stdout"] == "2\n"
    assert (await run(shell="-c", env={"SHELL": "echo"}))["stdout"] == "-c -c\n"


async def test_the_environment_is_small_and_tells_the_run(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.5: the worker's own may hold passwords."""
    monkeypatch.setenv("ROTA_URL", "postgresql://rota:secret@db/rota")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("LC_TIME", "de_DE.UTF-8")
    monkeypatch.setenv("PGPASSWORD", "secret")

    given = {"GREETING": "hello", "ROTA_ATTEMPT": "forged"}
    lines = (await run("env", env=given, slot=SLOT))["stdout"].splitlines()
    found = dict(line.split("=", 1) for line in lines)

    assert (
        found.items()
        >= {
            "GREETING": "hello",
            "LC_TIME": "de_DE.UTF-8",
            "SHELL": "/bin/sh",
            "ROTA_TASK_ID": "task-1",
            "ROTA_ATTEMPT": "3",
            "ROTA_SLOT": "2027-01-15T08:00:00+00:00",
        }.items()
    )
    assert not found.keys() & {"ROTA_URL", "PGPASSWORD"}
    assert "ROTA_SLOT" not in (await run("env"))["stdout"]


async def test_it_reads_what_it_is_given_and_else_nothing(run: Any) -> None:
    text = "line\n" * 40_000

    assert (await run("wc", "-c", stdin=text))["stdout"].strip() == "200000"
    assert (await run("cat"))["stdout"] == ""
    assert (await run("true", stdin=text))["exit_code"] == 0


async def test_it_starts_at_home_unless_told_where(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await run("pwd"))["stdout"] == f"{tmp_path}\n"
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    assert (await run("pwd", cwd=None))["stdout"] == f"{tmp_path.parent}\n"
    monkeypatch.setenv("HOME", "/no/such")
    assert (await run("pwd", cwd=None))["stdout"] == "/\n"


# -- how it ends ----------------------------------------------------------------------------------


async def test_what_it_leaves_running_is_ended_with_it(run: Any, tmp_path: Path) -> None:
    """Its output is still held open by then; nobody waits for that."""
    await run(shell="sleep 600 & echo $! > pids")

    await until(lambda: gone(pids(tmp_path)))


@pytest.mark.parametrize("why", ["timeout", "cancel", "deadline", "release", "lost"])
async def test_whatever_ends_the_run_ends_every_process_of_it(
    why: str, guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4.3, R5.2, R3.4: also those that will not be told, and what they started."""
    monkeypatch.setattr(command, "GRACE", 0.05)
    monkeypatch.setattr(command, "CANCEL_GRACE", 0.05)
    monkeypatch.setattr(stops, "CLEAN_UP", 0.2)
    it = Running()
    it.handles(with_guard(guard), "command")
    task = ready(tmp_path, STUBBORN + "wait", timeout=60 * SECOND)
    await it.start(task)
    both = await written(tmp_path)
    (running,) = it.slots._running.values()

    match why:
        case "timeout":
            Stops._hard(it.slots._stops, running)
        case "cancel":
            it.slots._stops.ask(running, None)
        case "deadline":
            it.slots._stops.ask(running, it.clock.now())
        case "release":
            it.slots.release_running()
        case "lost":
            it.slots.abandon()
    await it.slots.idle()
    await until(lambda: nothing_under_way() and gone(both))

    expected = {"timeout": ["TimedOut"], "release": ["Released"], "lost": []}
    assert endings(it.reports) == expected.get(why, ["Cancelled"])


async def test_it_is_asked_to_end_before_it_is_made_to(run: Any, tmp_path: Path) -> None:
    script = "trap 'echo bye > said; exit 0' TERM; echo $$ > pids; while :; do sleep 0.01; done"
    running = asyncio.create_task(run(shell=script))
    await written(tmp_path)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (tmp_path / "said").read_text() == "bye\n"


async def test_at_the_soft_limit_it_may_still_end_well(guard: Guard, tmp_path: Path) -> None:
    """R4.3: SIGTERM comes first, SIGKILL with the hard limit."""
    it = Running()
    it.handles(with_guard(guard), "command", soft_timeout=60 * SECOND)
    script = "trap 'echo tidy; exit 0' TERM; echo $$ > pids; while :; do sleep 0.01; done"
    await it.start(ready(tmp_path, script, timeout=120 * SECOND))
    await written(tmp_path)
    (running,) = it.slots._running.values()
    it.slots._stops._soft(running)
    await it.slots.idle()
    await until(nothing_under_way)

    (report,) = it.reports
    assert isinstance(report.ending, Completed)
    assert '"stdout":"tidy\\n"' in str(report.ending.result)


async def test_a_command_that_is_cancelled_while_it_starts_is_not_left_behind(
    guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def slowly(*words: Any, **options: Any) -> Any:
        process = await start(*words, **options)
        started.set()
        await asyncio.sleep(0)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    ctx = Context(claimed(kind="command"))
    script = "echo $$ > pids; exec sleep 600"
    work = run_command(ctx, shell=script, cwd=str(tmp_path), guard=guard)
    running = asyncio.create_task(work)
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(nothing_under_way)

    assert not [name for name in children() if name == "sleep"]


def test_the_guard_kills_what_outlives_a_worker(tmp_path: Path) -> None:
    """A worker that is killed ends nothing itself; what has ended is left alone."""
    first, second = (
        psutil.Popen(["sleep", "600"], start_new_session=True) for _ in range(2)
    )  # fmt: skip
    guard = Guard()
    for process in (first, second):
        guard.watch(process.pid)
    guard.forget(second.pid)
    guard.close()  # what the end of the worker's process does to the pipe

    assert first.wait(60) == -signal.SIGKILL
    assert second.poll() is None
    second.kill()
    second.wait(60)


# -- being known and being allowed ----------------------------------------------------------------


def test_an_app_can_submit_commands_once_it_knows_the_kind() -> None:
    app = Rota("sqlite:///unused.db")

    kind = add_command(app, timeout="1h", queue="chores")

    call = kind.bind(argv=["true"])
    assert (call.kind.name, call.kind.queue, call.kind.timeout) == (
        "command",
        "chores",
        3600 * SECOND,
    )
    assert add_command(app).kind is kind.kind
    with pytest.raises(InvalidTask, match="is not an argument"):
        app.call("command", {"comand": "true"})


def test_a_task_of_that_name_is_not_taken_for_it() -> None:
    app = Rota("sqlite:///unused.db")
    app.task(name="command")(lambda: None)

    with pytest.raises(ConfigurationError, match="has a task 'command' of its own"):
        add_command(app)


def with_guard(guard: Guard) -> Any:
    """The handler with a guard in the place of the resource, which only a worker opens."""

    async def run(ctx: Context, shell: str, cwd: str) -> Any:
        return await run_command(ctx, shell=shell, cwd=cwd, guard=guard)

    return run


def ready(folder: Path, script: str, **fields: Any) -> Any:
    """A task that runs a script in a folder."""
    payload = msgspec.json.encode({"shell": script, "cwd": str(folder)}).decode()
    return claimed(kind="command", payload=payload, **fields)


async def written(folder: Path) -> list[int]:
    """Wait until the script has written who it is and return that."""
    await until(lambda: bool(pids(folder)))
    for _ in range(20):  # it may have been quicker than whoever started it
        await asyncio.sleep(0)
    return pids(folder)


def pids(folder: Path) -> list[int]:
    """The processes that a script wrote down."""
    file = folder / "pids"
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def gone(processes: list[int]) -> bool:
    """Whether none of these processes runs any more; a zombie does not."""
    return not any(_runs(pid) for pid in processes)


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def nothing_under_way() -> bool:
    """Whether only the test itself still runs on its event loop: every program was reaped."""
    return len(asyncio.all_tasks()) == 1


def children() -> list[str]:
    """The names of the programs that this process has started and that still run."""
    found = psutil.Process().children(recursive=True)
    return [c.name() for c in found if c.is_running() and c.status() != psutil.STATUS_ZOMBIE]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that other processes bring about."""
    while not condition():  # noqa: ASYNC110 - nothing tells of other processes
        await asyncio.sleep(0.005)

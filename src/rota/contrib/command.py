"""The built-in kind `command`: a task that runs a program, so that a crontab can move over (R8.2).

Whoever can submit tasks could run any program with it. So a worker runs such tasks only if it is
told to (`rota worker --allow-commands`), whatever the app says; submitting them needs no leave.
"""

import asyncio
import os
import pwd
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any, Final, Unpack

from rota.app import Rota
from rota.context import Context, SoftTimeout
from rota.contrib._guard import Guard, guard
from rota.contrib._process_group import ProcessGroup
from rota.errors import ConfigurationError, Fail, RotaError
from rota.kinds import KindOptions, make_kind
from rota.payload import clean
from rota.task import TaskKind

NAME: Final = "command"
GRACE = 0.5
"""A command that is ended from outside has so many seconds after SIGTERM, then SIGKILL comes."""
CANCEL_GRACE = 10.0
"""So many if it is asked to stop: nothing else waits for it then."""
ERROR_CHARS = 6_000
"""So much of each output stream is part of the error text."""

SHELL = "/bin/sh"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT = ("PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "TMPDIR")


class CommandFailed(RotaError):
    """A command could not be started, or ended with another exit code than 0."""


def add_command(app: Rota, **options: Unpack[KindOptions]) -> TaskKind[..., dict[str, Any]]:
    """Make the kind known to an app, so that it can submit commands; safe to call twice.

    `options` are those of `@app.task` and set its defaults, for instance `timeout="1h"`. Only a
    worker that allows it runs what is submitted.
    """
    kind = app.registry.get(NAME)
    if kind is None:
        options["name"] = NAME
        kind = make_kind(run_command, **options)
        kind.opt_in = True
    elif kind.handler is not run_command:
        raise ConfigurationError(
            f"the app has a task {NAME!r} of its own; give it another name=, or do without commands"
        )
    return app.add(kind)


async def run_command(
    ctx: Context,
    *,
    argv: list[str] | None = None,
    shell: str | None = None,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    stdin: str | None = None,
    user: str | None = None,
    fail_on: list[int] | None = None,
    guard: Guard = guard,
) -> dict[str, Any]:
    """Run a program in a process group of its own and return what came of it.

    Give `argv`, or by explicit choice `shell`. It gets a small clean environment, its home as
    working directory, and nothing to read unless told otherwise. `user` must be the worker's own.
    Exit codes in `fail_on` are permanent failures, others but 0 are tried again.
    """
    words, surroundings = _words(argv, shell, env or {}), _environment(ctx, env or {})
    _check_user(user)
    folder = _folder(cwd)
    _check_program(words[0], folder, surroundings["PATH"])
    began = asyncio.get_running_loop().time()
    try:
        group = await ProcessGroup.start(
            words, env=surroundings, cwd=folder, stdin=stdin, guard=guard
        )
    except (OSError, ValueError) as error:
        # Too long for the system, or with a NUL, which it does not take.
        raise Fail(f"the command cannot be started: {error}") from None
    code = await _end_of(group, ctx)
    seconds = round(asyncio.get_running_loop().time() - began, 3)
    if code == 0:
        return {
            "exit_code": 0,
            "stdout": group.out.text,
            "stderr": group.err.text,
            "seconds": seconds,
        }
    problem = f"{_how(code)} after {seconds:g} s{_said(group)}"
    raise Fail(problem) if code in (fail_on or ()) else CommandFailed(problem)


async def _end_of(group: ProcessGroup, ctx: Context) -> int:
    """Return the exit code; whoever ends this run ends the group, grandchildren included."""
    try:
        try:
            return await group.ended()
        except SoftTimeout:
            group.terminate()  # what it does with the time until the hard limit is its affair
            return await group.ended()
    except asyncio.CancelledError:
        group.terminate()
        if not await group.ends_within(CANCEL_GRACE if ctx.cancel_requested else GRACE):
            group.kill()
            await group.ends_within(GRACE / 2)
        ctx.log.warning("the command was ended%s", _said(group))
        raise
    finally:
        # Also if this run is cancelled once more, or taken off the event loop.
        group.kill()


# -- before the start -----------------------------------------------------------------------------


def _words(argv: list[str] | None, shell: str | None, env: Mapping[str, str]) -> Sequence[str]:
    if (argv is None) == (shell is None):
        raise Fail("a command has either argv or shell, and not both")
    if shell is not None:
        return [env.get("SHELL", SHELL), "-c", shell]
    if not argv or not argv[0]:
        raise Fail("argv must name a program")
    return argv


def _environment(ctx: Context, given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment: little of the worker's, which may hold passwords, and what is given.

    ROTA_… says which run this is, for instance as a key for whatever the command writes to.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")
    }
    own = {
        "ROTA_TASK_ID": ctx.task_id,
        "ROTA_ATTEMPT": str(ctx.attempt),
        "ROTA_FENCE": str(ctx.fence),
        "ROTA_RUN_AT": ctx.run_at.isoformat(),
    }
    if ctx.slot is not None:
        own["ROTA_SLOT"] = ctx.slot.isoformat()
    wrong = [name for name in given if not _NAME.fullmatch(name)]
    if wrong:
        raise Fail(f"{wrong[0]!r} cannot be the name of an environment variable")
    return {"PATH": os.defpath, "SHELL": SHELL, **kept, **given, **own}


def _folder(cwd: str | None) -> str:
    folder = Path(cwd or os.environ.get("HOME", "/"))
    if folder.is_dir():
        return str(folder)
    if cwd is None:
        return "/"
    raise CommandFailed(f"the working directory {cwd!r} is not there")


def _check_program(name: str, folder: str, path: str) -> None:
    # Another worker may have it, or a deployment brings it: this is no failure for good.
    if which(Path(folder, name) if "/" in name else name, path=path) is None:
        raise CommandFailed(f"{name!r} cannot be started: there is no such program")


def _check_user(user: str | None) -> None:
    own = _own_name()
    if user not in (None, own):
        raise Fail(
            f"the command is for user {user!r} and this worker runs as {own!r}; give it a queue "
            f"that a worker of {user!r} takes, or leave the user out"
        )


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container need not know the users that it runs as
        return str(os.geteuid())


# -- after the end --------------------------------------------------------------------------------


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _said(group: ProcessGroup) -> str:
    """Return what the command wrote, its errors first, to be put behind what became of it."""
    streams = (("stderr", group.err.text), ("stdout", group.out.text))
    said = [f"\n{name}: {clean(text.strip(), ERROR_CHARS)}" for name, text in streams if text]
    return "".join(said) or "; it wrote nothing"

"""A process of the pool, from inside: it runs one handler after the other until its line ends."""

import asyncio
import importlib
import logging
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from rota.clock import SystemClock
from rota.errors import InvalidTask
from rota.model import Claimed, Micros
from rota.node import endings
from rota.node.child_run import ChildLine, ChildRun, LineHandler
from rota.node.hooking import call_hooks
from rota.node.resources import Resources
from rota.node.wire import Ended, Flushed, Ready, Setup, Start, Tell
from rota.policy.lifecycle import Cancelled, Completed, Ending, Failed, Snoozed
from rota.registry import Kind, Registry

T = TypeVar("T")


class ChildProcess:
    """Runs handlers on the main thread; another one listens to the worker.

    No event loop runs around a handler, so that it may have one of its own.
    """

    def __init__(self, line: ChildLine, kinds: Callable[[str], Kind]) -> None:
        self._line = line
        self._kinds = kinds
        self._clock = SystemClock()
        self._work: queue.SimpleQueue[ChildRun | None] = queue.SimpleQueue()
        self._run: ChildRun | None = None
        self._resources = Resources(_here)

    def work(self) -> None:
        """Run what the worker sends until the line ends."""
        threading.Thread(target=self._listen, name="rota-line", daemon=True).start()
        with asyncio.Runner() as runner:
            self._runner = runner
            while (run := self._work.get()) is not None:
                self._clock.observe(run.now, self._clock.monotonic())
                said = _said(self._ending(run), completed_here=run.completed_here)
                self._run = None
                self._line.send(said)
            runner.run(self._resources.close())

    def _listen(self) -> None:
        while (message := self._line.receive()) is not None:
            match message:
                case Start():
                    self._run = ChildRun(message, self._line)
                    self._work.put(self._run)
                case Tell(what):
                    if self._run is not None:
                        self._run.told(what)
                case Flushed():
                    self._line.answered(message)
        if self._run is not None:
            os._exit(1)  # the worker is gone, and with it the right to go on
        self._work.put(None)

    def _ending(self, run: ChildRun) -> Ending:
        try:
            kind = self._kinds(run.claimed.kind)
        except BaseException as error:
            return endings.of_exception(error, *self._about(run))
        try:
            result = self._call(run, kind)
            ending: Ending = endings.of_result(result)
        except endings.Unreadable as unreadable:
            ending = endings.unreadable(unreadable.cause, *self._about(run))
            self._call_hooks(kind.hooks.on_failure, run.context, unreadable.cause)
        except BaseException as error:
            ending = endings.of_exception(error, *self._about(run), kind.verdicts)
            if isinstance(ending, Failed):
                self._call_hooks(kind.hooks.on_failure, run.context, error)
        else:
            self._call_hooks(kind.hooks.after, run.context, result)
        return ending

    def _call(self, run: ChildRun, kind: Kind) -> Any:
        resources = {}
        if kind.arguments.resources:
            resources = self._runner.run(self._resources.all_of(kind.arguments.resources))
        try:
            args, kwargs = kind.arguments.load(run.claimed.payload, run.context, resources)
        except InvalidTask as error:
            raise endings.Unreadable(error) from None
        self._call_hooks(kind.hooks.before, run.context)
        return kind.handler(*args, **kwargs)

    def _call_hooks(self, hooks: list[Callable[..., Any]], *told: Any) -> None:
        if hooks:
            self._runner.run(call_hooks(hooks, _here, *told))

    def _about(self, run: ChildRun) -> tuple[Claimed, str, Micros]:
        return run.claimed, run.session_id, self._clock.now()


async def _here(work: Callable[[], T]) -> T:
    return work()


def _said(ending: Ending, *, completed_here: bool) -> Ended:
    match ending:
        case Completed(result):
            return Ended(completed=True, result=result, completed_here=completed_here)
        case Failed(error, permanent, after, least):
            return Ended(
                error=error,
                permanent=permanent,
                after=after,
                least=least,
                completed_here=completed_here,
            )
        case Snoozed(until):
            return Ended(until=until, completed_here=completed_here)
        case Cancelled(reason):
            return Ended(reason=reason, completed_here=completed_here)
    raise AssertionError(f"a handler cannot end as {ending!r}")


def _kinds_of(setup: Setup) -> Callable[[str], Kind]:
    """Import the handlers and return how to find each."""
    if setup.app:
        registry = _found(setup.app).registry
        if not isinstance(registry, Registry):
            raise TypeError(f"{setup.app} is no Rota(…)")
        return registry.__getitem__
    kinds = {name: _found(place).kind for name, place in setup.places.items()}
    return kinds.__getitem__


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main() -> None:
    """Take the set-up from the worker, then work."""
    # A service manager signals every process; the worker decides when this one ends. Handled
    # rather than ignored, so that programs which a handler starts do not inherit it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    line_socket = socket.socket(fileno=int(sys.argv[1]))
    line_socket.set_inheritable(False)
    line = ChildLine(line_socket)
    setup = line.receive()
    if not isinstance(setup, Setup):
        return
    sys.path[:] = setup.path
    # Before the app is imported: what sets up logs of its own keeps them.
    logging.basicConfig(level=setup.log_level, handlers=[LineHandler(line)])
    try:
        kinds = _kinds_of(setup)
    except BaseException:
        line.send(Ready(f"a process could not import the handlers:\n{traceback.format_exc()}"))
        return
    line.send(Ready())
    ChildProcess(line, kinds).work()


if __name__ == "__main__":
    main()

"""The pool of processes for plain functions that keep the interpreter busy (R8.2)."""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence

from rota.clock import Clock
from rota.errors import ConfigurationError
from rota.node.child import Child
from rota.node.run import Run
from rota.node.wire import Setup
from rota.policy.lifecycle import Ending
from rota.registry import Kind

log = logging.getLogger("rota.worker")

LAST_SECONDS = 5.0
"""A process that is retired gets so long to close its resources."""


class Pool:
    """Runs handlers in at most `size` processes, started when needed, replaced when they die.

    A process is replaced after `lifetime` tasks, so that what a handler leaks does not add up. One
    that is killed ends its own task and no other.
    """

    def __init__(self, size: int, lifetime: int, setup: Setup, clock: Clock) -> None:
        self.size = size
        self._lifetime = lifetime
        self._setup = setup
        self._clock = clock
        self._idle: list[Child] = []
        self._orphans: list[asyncio.Task[Child]] = []
        self._children: set[Child] = set()
        self._retiring: set[asyncio.Task[None]] = set()

    async def run(self, run: Run, begins: Callable[[], None]) -> Ending:
        """Run a handler in a process; `begins` is called when there is one for it."""
        child = await self._child()
        begins()
        try:
            return await child.run(run, self._clock.now())
        finally:
            if child.alive and child.done < self._lifetime:
                self._idle.append(child)
            elif child.alive:
                self._retire(child)

    async def _child(self) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        starting = self._orphans.pop() if self._orphans else asyncio.create_task(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._orphans.append(starting)  # for the next that needs one
            raise

    async def _start(self) -> Child:
        child = await Child.start(self._setup)
        self._children.add(child)
        child.when_gone(lambda: self._children.discard(child))
        return child

    def _retire(self, child: Child) -> None:
        task = asyncio.create_task(child.retire(LAST_SECONDS))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def close(self) -> None:
        """End every process; an idle one closes its resources first."""
        await asyncio.gather(*self._orphans, return_exceptions=True)
        idle = {*self._idle, *(o.result() for o in self._orphans if not o.exception())}
        for child in list(self._children):
            if child not in idle and child.alive:
                child.kill()
            elif child.alive:
                self._retire(child)
        while self._children:
            await asyncio.gather(*(child.gone() for child in self._children))
        if self._retiring:
            await asyncio.wait(self._retiring)


def setup_of(kinds: Sequence[Kind], app_path: str) -> Setup:
    """Return how a process finds the handlers of these kinds.

    `ConfigurationError` if it could not: a process has to import them, so they must be found under
    their own names, or through the app.
    """
    places = {} if app_path else {kind.name: _place_of(kind) for kind in kinds}
    return Setup(list(sys.path), app_path, places, logging.getLogger().getEffectiveLevel())


def _place_of(kind: Kind) -> str:
    module, name = kind.handler.__module__, kind.handler.__qualname__
    found: object = None if module == "__main__" else sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if getattr(found, "kind", None) is not kind:
        raise ConfigurationError(
            f"task {kind.name}: a process must be able to import it, but {module}:{name} is not "
            "it. Decorate a function at the top of a module that can be imported, or set the "
            "worker's app_path to the app's own place, such as 'school:app'"
        )
    return f"{module}:{name}"

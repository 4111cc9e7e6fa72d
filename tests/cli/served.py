"""A server of the school's app in a thread of this process, and keys for it."""

import asyncio
import threading
from collections.abc import Sequence

from rota import Rota
from rota.access import Role
from rota.clock import new_rng
from rota.server.run import Running
from rota.server.settings import ServerSettings
from tests.support.serving import wait_for_listener


class Served:
    """A server on loopback; whoever wants a key asks for one."""

    def __init__(self, url: str) -> None:
        self.store = Rota(url)
        self.store.migrate()
        self._loop = asyncio.new_event_loop()
        self._running = Running(self.store, ServerSettings(port=0, duties=False), rng=new_rng(1))
        self.url = f"http://127.0.0.1:{self._running.port}"
        self._thread = threading.Thread(target=self._run, name="served", daemon=True)
        self._thread.start()
        wait_for_listener(self._running.port)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._running.run())

    def key(self, roles: Sequence[str] = (Role.ADMIN,), **scope: str) -> str:
        """Make a key and return its text."""
        made = self.store.keys.create("tests", roles=tuple(roles), **scope)  # type: ignore[arg-type]
        return str(made.text)

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._running.stop)
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.store.close()

"""Clients that submit one task after the other, as many web requests would, and keep count."""

import threading
import time
from itertools import count
from types import TracebackType
from typing import Self

from rota import Accepted, RotaError
from tests.system.harness import Site


class Load:
    """Submits numbered `note` tasks from some threads while the `with` block lasts."""

    def __init__(self, site: Site, threads: int = 4, pause: float = 0.005) -> None:
        self._site = site
        self._pause = pause
        self._numbers = count()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        self.accepted: dict[int, Accepted] = {}
        self.errors: list[RotaError] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            n = next(self._numbers)
            try:
                self.accepted[n] = self._site.app.submit("note", {"n": n})
            except RotaError as error:
                self.errors.append(error)
            time.sleep(self._pause)

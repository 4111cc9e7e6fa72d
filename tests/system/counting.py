"""Counts again and again what the store says is held, while workers race for it."""

import threading
from types import TracebackType
from typing import Self

from tests.system.harness import Site

LOOK_EVERY = 0.01


class Counting:
    """Notes the most tasks that were held at once, by queue, while the `with` block lasts."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.most: dict[str, int] = {}
        self.looks = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        sql = "select queue, count(*) from ready where session is not null group by queue"
        while not self._over.wait(LOOK_EVERY):
            for queue, held in self._site.rows(sql):
                self.most[queue] = max(self.most.get(queue, 0), held)
            self.looks += 1

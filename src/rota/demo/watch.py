"""Follows the provider's records while they are written."""

from collections import Counter
from pathlib import Path

from rota.demo.provider import open_provider
from rota.demo.tasks import CHUNK, RESULT

NEWS = """
select kind, worker, task, count(*), max(rowid) from message
where rowid > ?
group by kind, worker, task
"""


FRESH = 6
"""A chunk that has grown within so many looks is under way."""


class Watch:
    """Counts what the provider has sent; each look reads only what came since the last one."""

    def __init__(self, provider: Path) -> None:
        self._connection = open_provider(provider)
        self._row = 0
        self._looks = 0
        self._chunks: Counter[tuple[int, str]] = Counter()
        self._grown: dict[tuple[int, str], int] = {}
        self.sent: Counter[str] = Counter()

    def look(self) -> bool:
        """Take in what is new; say whether anything is."""
        self._looks += 1
        news = list(self._connection.execute(NEWS, (self._row,)))
        for kind, worker, task, count, last in news:
            self.sent[kind] += count
            self._row = max(self._row, last)
            if kind == RESULT:
                self._chunks[worker, task] += count
                self._grown[worker, task] = self._looks
        return bool(news)

    def half_done(self) -> Counter[int]:
        """Return for each worker how many chunks it has sent a part of, at most half, just now."""
        since = self._looks - FRESH
        return Counter(
            worker
            for (worker, task), look in self._grown.items()
            if look > since and self._chunks[worker, task] <= CHUNK // 2
        )

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

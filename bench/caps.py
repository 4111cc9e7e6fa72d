"""Caps and rates under racing workers: held by handlers that count themselves, and by the store."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.app import bench_app
from bench.events import events, most_at_once
from bench.options import Options
from bench.process import WorkerProcess
from bench.report import Result
from bench.stores import Ground
from bench.windows import SECOND, WINDOWS, windows_over

SECONDS = 60.0
FILLING = 10.0
"""Workers race while their work is stored, so there is work for so many seconds more."""
LOOK = 0.02
PAUSE = 0.1
"""Handlers of the run under a cap take so long: ten of them a second in each slot."""


class Race(Struct, frozen=True, kw_only=True):
    """Workers that race, and for how long."""

    workers: int
    slots: int
    seconds: float


class Capped(Struct, frozen=True):
    """The most tasks at once that handlers and the store saw, and what was used of the cap."""

    by_handlers: int
    by_store: int
    use: float


class Rated(Struct, frozen=True):
    """How many windows held too many starts, and what was used of the rate."""

    over: int
    use: float
    starts: int
    seconds: float


def run(options: Options, ground: Ground) -> Result:
    """Race 8 workers of 100 slots under a cap of 200, under a cap of 1, and under 500/s."""
    seconds = options.seconds or SECONDS
    race = Race(workers=8 if seconds >= 10 else 2, slots=100, seconds=seconds)
    many = capped(ground, race, 200)
    one = capped(ground, replace(race, seconds=seconds / 4), 1)
    rate = rated(ground, race, rate=500, burst=50)
    return Result(
        scenario="caps",
        store=options.store,
        tasks=rate.starts,
        seconds=rate.seconds,
        rate=rate.starts / rate.seconds,
        control_rate=500.0,
        ratio=rate.use,
        what=f"{race.workers} workers of {race.slots} slots under a limit of 500/s, burst 50",
        control="the limit itself",
        more={
            "cap_max_seen": max(many.by_handlers, many.by_store),
            "cap_used": many.use,
            "cap_of_one_max_seen": max(one.by_handlers, one.by_store),
            "rate_windows_over": rate.over,
        },
    )


def capped(ground: Ground, race: Race, cap: int) -> Capped:
    """Let workers race for a queue under a cap (R7.4)."""
    with ground.fresh() as url, tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        marks = Path(folder) / "marks"
        with bench_app(url).app as app:
            app.limits.set(queue="default", max_running=cap)
        # More than can be done: with work to the end, what is not used was not let through.
        with _racing(url, marks, race), Checker(ground, url) as checker:
            _fill(url, round(cap * (race.seconds + FILLING) / PAUSE), PAUSE)
            checker.wait(cap)
            time.sleep(race.seconds)
        return Capped(most_at_once(events(marks)), max(checker.seen), checker.mean / cap)


def rated(ground: Ground, race: Race, *, rate: float, burst: int) -> Rated:
    """Let workers race for a queue under a rate of starts (R7.5)."""
    with ground.fresh() as url, tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        with bench_app(url).app as app:
            app.limits.set(queue="default", rate=rate, burst=burst)
        with _racing(url, Path(folder) / "marks", race):
            _fill(url, round(rate * (race.seconds + FILLING)) + burst, 0.0)
            time.sleep(race.seconds)
        sql = f"select started_at from {ground.table('finished')}"
        starts = sorted(int(at) for (at,) in ground.rows(url, sql))
    # From the first start to the last there was work; the burst was there before.
    seconds = (starts[-1] - starts[0]) / SECOND
    over = windows_over(starts, rate, burst, WINDOWS)
    return Rated(over, (len(starts) - burst) / (rate * seconds), len(starts), seconds)


def _fill(url: str, count: int, seconds: float) -> None:
    bench = bench_app(url)
    with bench.app as app:
        app.submit_many(bench.hold.bind(n, seconds=seconds) for n in range(count))


@contextmanager
def _racing(url: str, marks: Path, race: Race) -> Iterator[None]:
    with ExitStack() as workers:
        started = [
            WorkerProcess(url, marks=marks, concurrency=race.slots) for _ in range(race.workers)
        ]
        for worker in started:
            workers.enter_context(worker)
        yield


class Checker:
    """Counts in the store, again and again, what is held: the truth that a limit is about."""

    def __init__(self, ground: Ground, url: str) -> None:
        self._ground = ground
        self._url = url
        self._sql = f"select count(*) from {ground.table('ready')} where session is not null"
        self._over = threading.Event()
        self._full = threading.Event()
        self._cap = 0
        self._thread = threading.Thread(target=self._look)
        self.seen: list[int] = [0]
        self._while_full: list[int] = []

    def wait(self, cap: int) -> None:
        """Wait until the cap is reached for the first time; what is used counts from then."""
        self._cap = cap
        if not self._full.wait(60.0):
            raise RuntimeError(f"the cap of {cap} was not reached: {max(self.seen)} at most")

    @property
    def mean(self) -> float:
        """How many were held on average, once the cap had been reached."""
        return sum(self._while_full) / max(len(self._while_full), 1)

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            held = int(self._ground.rows(self._url, self._sql)[0][0])
            self.seen.append(held)
            if self._cap and held >= self._cap:
                self._full.set()
            if self._full.is_set():
                self._while_full.append(held)

    def __enter__(self) -> "Checker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

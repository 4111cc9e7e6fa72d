"""A thousand links that break after the work and before the answer, the outcome unknown (F5)."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from rota import Rota
from rota.model import State
from tests.support.places import Place
from tests.support.proxy import Proxy
from tests.system.handlers import make_app
from tests.system.harness import Site, wait_until

pytestmark = pytest.mark.slow

CUTS = 250
"""Of each of the four."""
CALLERS = 10
WORKERS = 4
TASKS = 1_500
NUMBERS = "select (payload->>'n')::int from ready"


@pytest.fixture
def site(postgres_url: str, tmp_path: Path) -> Iterator[Site]:
    """A site that is reached directly."""
    site = Site(Place("postgres", postgres_url), tmp_path)
    yield site
    site.close()


@pytest.fixture
def proxy(site: Site) -> Iterator[Proxy]:
    """Another way to the same database, which can be cut."""
    with Proxy(site.url) as proxy:
        yield proxy


@pytest.mark.parametrize("keyed", [False, True])
def test_no_submit_is_lost_or_doubled(site: Site, proxy: Proxy, keyed: bool) -> None:
    """R1.2, R1.4: several callers, each of whose submits has its answer cut once or more."""
    last = "COMMIT;" if keyed else "insert into rota.ready"
    proxy.cut_answers(lambda sql: last in sql, every=2)
    numbers, ids = count(), dict[int, str]()
    with ExitStack() as stack:
        apps = [stack.enter_context(make_app(proxy.url, site.record.path)) for _ in range(CALLERS)]

        def submit(app: Rota) -> None:
            while proxy.cuts < CUTS:
                n = next(numbers)
                task = {"n": n}
                accepted = (
                    app.submit("note", task, key=f"k{n}") if keyed else app.submit("note", task)
                )
                assert accepted.created
                ids[n] = accepted.id

        with ThreadPoolExecutor(CALLERS) as callers:
            list(callers.map(submit, apps))

    assert len(ids) >= CUTS // 2
    assert sorted(id_ for (id_,) in site.rows("select id::text from ready")) == sorted(ids.values())
    assert sorted(n for (n,) in site.rows(NUMBERS)) == sorted(ids)


def test_batches_whose_answers_were_lost_are_stored_once(site: Site, proxy: Proxy) -> None:
    """F5: the batches of `submit_many` come by COPY, and are repeated whole."""
    app = make_app(proxy.url, site.record.path)
    proxy.cut_answers(lambda sql: sql == "COMMIT;", every=2)
    with app:
        for n in range(20):
            app.submit_many(app.call("note", {"n": n * 50 + i}) for i in range(50))

    assert proxy.cuts >= 10
    assert sorted(n for (n,) in site.rows(NUMBERS)) == list(range(1000))


class EverySecond:
    """Dooms every second request of each verb; a cut claim is no cut report."""

    BEGINS: ClassVar = {"claim": "kind <> all(", "finish": "insert into rota.finished"}

    def __init__(self) -> None:
        self.seen = Counter[str]()

    def __call__(self, sql: str) -> bool:
        verb = next((verb for verb, text in self.BEGINS.items() if text in sql), None)
        if verb is None:
            return False
        self.seen[verb] += 1
        return self.seen[verb] % 2 == 0

    @property
    def enough(self) -> bool:
        """Say whether both were doomed as often as is wanted."""
        return all(self.seen[verb] >= 2 * CUTS for verb in self.BEGINS)


def test_no_task_is_lost_or_run_twice(site: Site, proxy: Proxy) -> None:
    """F5, R3.4: several workers whose claims and reports have their answers cut."""
    doomed = EverySecond()
    proxy.cut_answers(doomed)
    site.submit("note", range(TASKS), seconds=0.01)
    workers = [site.start_worker(url=proxy.url, lease=30, concurrency=1) for _ in range(WORKERS)]
    wait_until(lambda: doomed.enough or site.count(State.COMPLETED) == TASKS)
    enough, cuts = doomed.enough, proxy.cuts
    proxy.heal()
    site.completed(TASKS)

    assert enough, doomed.seen
    assert cuts >= 2 * CUTS * 0.95  # two that were doomed in one instant of one link are one
    assert site.record.times("start") == dict.fromkeys(range(TASKS), 1)
    assert site.rows("select distinct fence, attempt, lost from finished") == [(1, 1, 0)]
    assert site.app.tasks.count() == {State.COMPLETED: TASKS}
    assert not any("refused" in worker.log for worker in workers)


def test_a_worker_that_hears_nothing_stops_before_its_lease_ends(site: Site, proxy: Proxy) -> None:
    """R3.4: in a dead network, without any error, the task does not run twice at once."""
    site.submit("note", range(3), first=30)
    # It stops a tenth of its lease before the end: time enough for a machine that is busy.
    first = site.start_worker(url=proxy.url, lease=8, concurrency=5)
    site.started(range(3))
    proxy.fall_silent()
    second = site.start_worker()
    site.completed(3)
    ended = {event.n: event.at for event in site.record.events("cancelled")}
    again = {e.n: e.at for e in site.record.events("start") if e.pid == second.pid}

    assert set(ended) == set(again) == {0, 1, 2}
    assert all(ended[n] < again[n] for n in range(3))
    assert first.alive

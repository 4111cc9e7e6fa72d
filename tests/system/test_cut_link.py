"""Links to PostgreSQL that break after the work and before the answer: nobody knows the outcome."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.model import State
from tests.support.places import Place
from tests.support.proxy import Proxy
from tests.system.handlers import make_app
from tests.system.harness import Site

pytestmark = pytest.mark.slow

TRIES = 100
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
def test_a_submit_whose_answer_was_lost_stores_its_task_once(
    site: Site, proxy: Proxy, keyed: bool
) -> None:
    """F5, R1.2: links cut after the commit; nothing is lost, nothing is doubled."""
    app = make_app(proxy.url, site.record.path)
    last = "COMMIT;" if keyed else "insert into rota.ready"
    proxy.cut_answers(lambda sql: last in sql, every=2)

    def submit(n: int) -> str:
        task = {"n": n}
        accepted = app.submit("note", task, key=f"k{n}") if keyed else app.submit("note", task)
        assert accepted.created
        return accepted.id

    with app, ThreadPoolExecutor(4) as callers:
        ids = list(callers.map(submit, range(TRIES)))

    assert proxy.cuts >= TRIES // 8
    assert sorted(id_ for (id_,) in site.rows("select id::text from ready")) == sorted(ids)
    assert sorted(n for (n,) in site.rows(NUMBERS)) == list(range(TRIES))


def test_batches_whose_answers_were_lost_are_stored_once(site: Site, proxy: Proxy) -> None:
    """F5: the batches of `submit_many` come by COPY, and are repeated whole."""
    app = make_app(proxy.url, site.record.path)
    proxy.cut_answers(lambda sql: sql == "COMMIT;", every=2)
    with app:
        for n in range(20):
            app.submit_many(app.call("note", {"n": n * 50 + i}) for i in range(50))

    assert proxy.cuts >= 10
    assert sorted(n for (n,) in site.rows(NUMBERS)) == list(range(1000))


@pytest.mark.parametrize("verb", ["claim", "finish"])
def test_a_worker_whose_answers_were_lost_runs_each_task_once(
    site: Site, proxy: Proxy, verb: str
) -> None:
    """F5: what a lost claim took is found and run; a lost report is repeated under its fence."""
    begins = {"claim": "for update skip locked", "finish": "insert into rota.finished"}
    proxy.cut_answers(lambda sql: begins[verb] in sql, every=2)
    worker = site.start_worker(url=proxy.url, lease=30, concurrency=1)
    site.submit("note", range(TRIES), seconds=0.03)
    site.completed(TRIES, timeout=30)

    assert proxy.cuts >= TRIES // 8
    assert site.record.times("start") == dict.fromkeys(range(TRIES), 1)
    assert site.rows("select distinct fence, attempt, lost from finished") == [(1, 1, 0)]
    assert site.app.tasks.count() == {State.COMPLETED: TRIES}
    assert "refused" not in worker.log


def test_a_worker_that_hears_nothing_stops_before_its_lease_ends(site: Site, proxy: Proxy) -> None:
    """R3.4: in a dead network, without any error, the task does not run twice at once."""
    site.submit("note", range(3), first=30)
    first = site.start_worker(url=proxy.url, lease=2, concurrency=5)
    site.started(range(3))
    proxy.fall_silent()
    second = site.start_worker(lease=2)
    site.completed(3)
    ended = {event.n: event.at for event in site.record.events("cancelled")}
    again = {e.n: e.at for e in site.record.events("start") if e.pid == second.pid}

    assert set(ended) == set(again) == {0, 1, 2}
    assert all(ended[n] < again[n] for n in range(3))
    assert first.alive

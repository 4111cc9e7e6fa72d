"""PostgreSQL that crashes, cuts its connections or stays away: every process outlives it (R3.7)."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota import StoreUnavailable
from rota.contrib.embedded import EmbeddedPostgres
from rota.model import State
from tests.support.places import Place
from tests.system.harness import Site, wait_until
from tests.system.load import Load

pytestmark = pytest.mark.slow

RESUMES = 10.0
TERMINATE = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    """A server of this file's own, for its end is part of the tests."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture
def site(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[Site]:
    """A site on that server; it runs again when the test is over."""
    url = server.create_database(tmp_path.name)
    site = Site(Place("postgres", url), tmp_path)
    yield site
    site.close()


def crash(server: EmbeddedPostgres, _: Site) -> None:
    """End the server without any notice, and start it again: it recovers from its log."""
    server.restart("immediate")


def cut(_: EmbeddedPostgres, site: Site) -> None:
    """End every connection but leave the server up."""
    site.rows(TERMINATE)


@pytest.mark.parametrize("fault", [crash, cut])
def test_what_was_accepted_is_done_once_although_the_server_breaks_under_load(
    server: EmbeddedPostgres, site: Site, fault: Callable[[EmbeddedPostgres, Site], None]
) -> None:
    """Cases B146, B158, F18, R1.2, R3.7: three times within seconds; nobody is started again."""
    worker = site.start_worker(lease=30, concurrency=20)
    with Load(site) as load:
        for _ in range(3):
            _work_goes_on(site)
            fault(server, site)
            began = time.monotonic()
            _work_goes_on(site)
            assert time.monotonic() - began < RESUMES
    site.completed(len(load.accepted))

    assert load.errors == []
    assert site.record.times("start") == dict.fromkeys(load.accepted, 1)
    assert site.app.tasks.count() == {State.COMPLETED: len(load.accepted)}
    assert site.rows("select count(*) from pg_locks where locktype = 'advisory'") == [(0,)]
    assert worker.alive


def test_results_that_fall_into_an_outage_are_reported_after_it(
    server: EmbeddedPostgres, site: Site
) -> None:
    """Case B116: fifty tasks end while nobody can be told; none is lost, none runs again."""
    site.submit("note", range(50), seconds=0.7)
    site.start_worker(lease=30, concurrency=50)
    site.started(range(50))
    server.stop("immediate")
    wait_until(lambda: len(site.record.events("end")) == 50)
    server.start()
    site.completed(50)

    assert site.record.times("start") == dict.fromkeys(range(50), 1)
    assert site.rows("select distinct fence, attempt, lost from finished") == [(1, 1, 0)]


def test_a_client_waits_for_a_server_that_is_away_but_not_for_ever(
    server: EmbeddedPostgres, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7: within its patience a call gets through; beyond it the caller is told."""
    site.submit("note", range(1))
    server.stop("immediate")
    try:
        with ThreadPoolExecutor(4) as callers:
            monkeypatch.setattr(site.app._client, "_patience", 1.0)
            refused = list(callers.map(_refusal, [site] * 4))
            monkeypatch.setattr(site.app._client, "_patience", 30.0)
            waiting = callers.submit(site.app.submit, "note", {"n": 1})
            assert not waiting.done()
            server.start()
            answer = waiting.result(timeout=RESUMES)
    finally:
        site.app.close()

    assert max(refused) < RESUMES
    assert site.task(answer.id).state is State.READY
    assert site.count(State.READY) == 2


def test_workers_wait_for_a_server_that_is_away_and_can_be_stopped_meanwhile(
    server: EmbeddedPostgres, site: Site
) -> None:
    """R3.6, R3.7: one that ran, and one that has not seen the server yet."""
    site.submit("note", range(2), seconds=0.2)
    first = site.start_worker(lease=5)
    site.completed(2)
    server.stop("immediate")
    second = site.start_worker(lease=5)
    wait_until(lambda: "unavailable" in second.log)
    wait_until(lambda: "not listening" in first.log)
    patient = site.start_worker(lease=5)
    for worker in (first, second):
        worker.terminate()
    codes = [worker.ended() for worker in (first, second)]
    server.start()
    site.submit("note", range(2, 4))
    site.completed(4)

    assert codes == [0, 0]
    assert site.record.pid_of(2) == patient.pid


def _work_goes_on(site: Site) -> None:
    before = len(site.record.events("end"))
    wait_until(lambda: len(site.record.events("end")) >= before + 30, RESUMES, "work resumes")


def _refusal(site: Site) -> float:
    """Submit in vain; return how long that took."""
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        site.app.submit("note", {"n": 1})
    return time.monotonic() - began

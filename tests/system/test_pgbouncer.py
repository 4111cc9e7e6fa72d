"""Behind PgBouncer in transaction mode (case B155, F16): nothing is kept on a connection."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import CancelOutcome, Rota
from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import ConfigurationError
from rota.model import Look, Share, State, TaskFilter
from rota.store.postgres import PostgresStore
from tests.support.factories import LANE, LATER, NOW, Make, completed
from tests.support.pgbouncer import SERVER_CONNECTIONS, PgBouncer
from tests.support.places import Place
from tests.system.handlers import make_app
from tests.system.harness import PATIENCE, Site

CONNECTIONS = "select count(*) from pg_stat_activity where datname = current_database()"
LOOK = Look(LANE.queue, LANE.cls)


@pytest.fixture
def bouncer(postgres_server: EmbeddedPostgres, bare_postgres_url: str) -> Iterator[PgBouncer]:
    """A pooler that ends before the database is dropped."""
    with PgBouncer(postgres_server.port) as bouncer:
        yield bouncer


@pytest.fixture
def bare(bouncer: PgBouncer, bare_postgres_url: str) -> str:
    """The way to the database through the pooler, whose address does not say so."""
    return bouncer.url(bare_postgres_url.rpartition("/")[2])


@pytest.fixture
def pooled(bare: str) -> str:
    """The same with the mark."""
    return f"{bare}?pgbouncer=1"


@pytest.fixture
def site(bare_postgres_url: str, tmp_path: Path, pooled: str) -> Iterator[Site]:
    """A site on the database that looks at it directly; what it tests goes through the pooler."""
    site = Site(Place("postgres", bare_postgres_url), tmp_path)
    yield site
    site.close()


@pytest.fixture
def app(site: Site, pooled: str) -> Iterator[Rota]:
    """The caller's side behind the pooler."""
    with make_app(pooled, site.record.path) as app:
        yield app


@pytest.mark.slow
async def test_two_stores_at_once_use_every_verb(pooled: str, make: Make) -> None:
    """B155: inserts, COPY, keys, claims, finishes, staging, cancelling, each one transaction."""
    stores = [PostgresStore(pooled) for _ in range(2)]
    assert len(await stores[0].migrate()) > 0
    assert await stores[1].migrate() == []
    for _ in range(5):
        await asyncio.gather(*(_use(store, make) for store in stores))
    count = await stores[0].count(TaskFilter(), 10_000)
    assert count == {State.COMPLETED: 2 * 5 * 82, State.CANCELLED: 2 * 5}
    await asyncio.gather(*(store.close() for store in stores))


async def _use(store: PostgresStore, make: Make) -> None:
    """Bring 82 tasks to their end, and one that is cancelled; the others' are left alone."""
    await store.open()
    session = make.session()
    await store.open_session(session)
    key = session.id
    await store.submit(make.tasks(60), NOW)
    await store.submit([*make.tasks(20), make.task(run_at=LATER)], NOW)
    first, second = make.keyed(key), make.keyed(key)
    one, other = await store.submit([first, second], NOW)
    assert (one.created, other.created, other.id) == (True, False, one.id)
    unwanted = make.task(run_at=LATER + 1)
    await store.submit([unwanted], NOW)
    assert await store.cancel([unwanted.id], NOW) == [CancelOutcome.COMPLETED]
    await store.stage(LATER, 10)
    done = 0
    while done < 82:
        await store.lanes([LOOK], 10)
        tasks = (await store.take(session.id, [Share(LANE, 82 - done)], [], NOW, 0)).tasks
        assert {t.id for t in await store.held(session.id, 100)} == {t.id for t in tasks}
        verdicts = await store.finish(session.id, [completed(t) for t in tasks], NOW)
        assert verdicts == [True] * len(tasks)
        done += len(tasks)
    await store.close_session(session.id, NOW)


@pytest.mark.slow
def test_workers_behind_a_pooler_run_each_task_once(site: Site, app: Rota, pooled: str) -> None:
    """B155: two workers and a caller share a few connections; nothing is lost or doubled."""
    workers = [site.start_worker(url=pooled, lease=15) for _ in range(2)]
    app.submit_many(app.call("note", {"n": n}) for n in range(1000))
    for n in range(1000, 1050):
        assert app.submit("note", {"n": n}, key=f"k{n}", delay="1s").created
        assert not app.submit("note", {"n": n}, key=f"k{n}", delay="1s").created
    app.submit_many(app.call("retry_once", {"n": n, "after": 0.1}) for n in range(1050, 1100))
    unwanted = [app.submit("note", {"n": n}, delay="1d").id for n in range(1100, 1110)]
    assert [app.tasks.cancel(id_) for id_ in unwanted] == [CancelOutcome.COMPLETED] * 10
    site.completed(1100)

    assert site.record.times("start") == {n: 2 if n >= 1050 else 1 for n in range(1100)}
    assert site.record.times("end") == dict.fromkeys(range(1100), 1)
    assert app.tasks.count() == {State.COMPLETED: 1100, State.CANCELLED: 10}
    assert {event.pid for event in site.record.events("start")} == {w.pid for w in workers}
    assert not any(word in w.log for w in workers for word in ("WARNING", "ERROR", "Traceback"))


@pytest.mark.slow
def test_running_tasks_are_stopped_and_workers_end_in_order(
    site: Site, app: Rota, pooled: str
) -> None:
    """R5: the order to stop reaches the worker with its heartbeat, which goes the same way."""
    worker = site.start_worker(url=pooled, lease=3)
    running = app.submit("note", {"n": 1, "seconds": 60}).id
    site.started(range(1, 2))
    app.tasks.cancel(running)
    assert app.tasks.ended(running, timeout=PATIENCE).state is State.CANCELLED
    # The site's own connection looks, and its app's.
    assert site.rows(CONNECTIONS)[0][0] <= SERVER_CONNECTIONS + 8
    worker.terminate()
    assert worker.ended() == 0


@pytest.mark.slow
async def test_an_address_that_does_not_tell_of_the_pooler_is_refused(bare: str) -> None:
    """F16: at once and with the cure, instead of trouble under load."""
    store = PostgresStore(bare)
    with pytest.raises(ConfigurationError, match=r"\?pgbouncer=1"):
        await store.open()

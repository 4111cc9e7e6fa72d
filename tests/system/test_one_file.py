"""Several processes on one SQLite file."""

import pytest

from rota.model import State
from tests.system.harness import Site
from tests.system.load import Load

pytestmark = pytest.mark.slow


def test_two_workers_and_a_submitter_share_one_file(sqlite_site: Site) -> None:
    """Cases B167, B169: nothing runs twice, nothing is lost, and the file is sound."""
    site = sqlite_site
    for _ in range(2):
        site.start_worker(concurrency=20)
    site.sessions(2)
    site.submit("note", range(10_000, 12_000))
    with Load(site, threads=2) as load:
        site.completed(2_200)
    everything = {*load.accepted, *range(10_000, 12_000)}
    site.completed(len(everything))

    assert load.errors == []
    assert site.record.times("start") == site.record.times("end") == dict.fromkeys(everything, 1)
    assert {event.pid for event in site.record.events()} == {w.pid for w in site.workers}
    assert site.app.tasks.count() == {State.COMPLETED: len(everything)}
    assert site.rows("pragma integrity_check") == [("ok",)]


def test_a_killed_process_leaves_a_sound_file(sqlite_site: Site) -> None:
    """Cases B112, B169: killed in the middle of writing, five times."""
    site = sqlite_site
    site.submit("note", range(1_500))
    for round_ in range(1, 6):
        worker = site.start_worker(lease=1, concurrency=20)
        site.completed(round_ * 100)
        worker.kill()
        assert site.rows("pragma integrity_check") == [("ok",)]
    site.start_worker(lease=1)
    site.completed(1_500)

    assert set(site.record.times("end")) == set(range(1_500))
    assert site.app.tasks.count() == {State.COMPLETED: 1_500}

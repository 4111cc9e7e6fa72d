"""A replay whose process is killed and started again makes one task of each dead letter."""

import subprocess
import sys

import pytest

from rota.model import State
from tests.support.hands import Hands
from tests.system.harness import ROOT, Site, wait_until

DEAD = 10_000
KILLED_AT = (2_000, 5_000)
RATE = 2_500.0
"""A second: what is killed in the middle is not done before a busy machine gets to it."""
COPIES = "select count(*), count(distinct replay_of) from ready where replay_of is not null"


@pytest.mark.slow
def test_each_dead_letter_is_replayed_once_although_the_replay_is_killed(site: Site) -> None:
    """R4.4: killed twice, then left to end."""
    site.app.submit_many(site.app.call("nothing", {"n": n}) for n in range(DEAD))
    Hands(site.app).fail()
    assert site.count(State.FAILED) == DEAD

    for copies in KILLED_AT:
        replay = subprocess.Popen(
            [sys.executable, "-m", "tests.system.replay_main", site.url, str(RATE)], cwd=ROOT
        )
        try:
            wait_until(lambda: site.rows(COPIES)[0][0] >= copies, what=f"{copies} copies")  # noqa: B023
        finally:
            replay.kill()
            replay.wait()
        assert copies <= site.rows(COPIES)[0][0] < DEAD
    report = site.app.dead_letters.replay(all=True)

    assert report.matched == DEAD
    assert report.made + report.existing == DEAD
    assert report.existing >= KILLED_AT[-1]
    assert site.rows(COPIES) == [(DEAD, DEAD)]
    numbers = {payload["n"] for payload in _payloads(site)}
    assert numbers == set(range(DEAD))


def _payloads(site: Site) -> list[dict[str, int]]:
    found = []
    after = None
    while page := site.app.tasks.list(state="ready", after=after, limit=500):
        found += [task.payload for task in page]
        after = page[-1].id
    return found

"""What a handler noted outlives its worker (R3.5)."""

import signal

from rota.model import State
from tests.system.harness import Site, wait_until
from tests.system.provider import Provider

TOTAL = 500


def test_a_batch_that_is_killed_halfway_goes_on_from_its_checkpoint(site: Site) -> None:
    """Issue 3, R3.5: each effect once, and only what came after the checkpoint is tried again."""
    (task_id,) = site.submit("send_parts", range(1), total=TOTAL, kill_after=274)
    assert site.start_worker(lease=60).ended() == -signal.SIGKILL
    checkpoint = site.task(task_id).checkpoint
    site.start_worker(lease=60)
    site.completed(1)
    calls = Provider(site.record.path.with_suffix(".provider")).calls()

    assert checkpoint == 250
    assert site.task(task_id).result == 250
    assert sorted(calls) == sorted(f"{task_id}/{number}" for number in range(TOTAL))
    repeated = {key for key, count in calls.items() if count > 1}
    assert repeated == {f"{task_id}/{number}" for number in range(250, 275)}


def test_progress_can_be_read_while_the_handler_runs(site: Site) -> None:
    """R9.1: within about a second, and without the handler waiting for it."""
    (task_id,) = site.submit("counts", range(1))
    site.start_worker(lease=60)
    wait_until(lambda: (progress := site.task(task_id).progress) and progress.done > 3)
    progress = site.task(task_id).progress

    assert progress is not None
    assert progress.total == 1_000_000
    assert site.task(task_id).state is State.RUNNING

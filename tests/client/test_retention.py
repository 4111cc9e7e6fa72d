"""An app says for how long what is over is kept (R9.5)."""

from typing import Any

import pytest

from rota import ConfigurationError, Rota
from rota.backend import Report
from rota.config import DAY, HOUR, LEASE
from rota.policy.lifecycle import Completed
from rota.policy.retry import Backoff
from rota.retention import RETENTION, check_retention
from tests.support.factories import Make


def test_what_is_not_said_stays_as_it_is() -> None:
    kept = check_retention({"completed": "1d", "queues": {"sms": "6h"}})

    assert (kept.completed, kept.queues) == (DAY, {"sms": 6 * HOUR})
    assert (kept.cancelled, kept.failed) == (RETENTION.cancelled, RETENTION.failed)


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        ({"complete": "1d"}, "did you mean 'completed'"),
        ({"completed": "soon"}, "keep: completed"),
        ({"failed": -1}, "keep: failed"),
        ({"queues": {"sms": "never"}}, "keep: queues.sms"),
        ({"queues": {"no such name!": 1}}, "keep: queues"),
        ({"queues": "sms"}, "keep: queues: must map queues to how long, not 'sms'"),
        ("1d", "keep must be like .*, not '1d'"),
    ],
)
def test_a_wrong_time_is_refused_by_its_name(keep: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        Rota("sqlite:///x.db", keep=keep)


async def test_workers_of_the_app_drop_what_is_older(app: Rota, make: Make) -> None:
    kind = app.task(name="quick")(lambda: None)
    other = Rota(app.url, keep={"queues": {"default": 0}})
    accepted = await kind.asubmit()
    backend = other.connect()
    await backend.open()
    now = backend.clock.now()
    session = make.session(started_at=now, lease_until=now + LEASE)
    await backend.open_session(session)

    held = (await backend.claim(session.id, ("default",), 1, ())).tasks
    await backend.finish(session.id, [Report(task, Completed(), Backoff()) for task in held])
    dropped = 0
    for _ in range(100):  # a store may go through a day of history piece by piece
        dropped += await backend.prune()
    found = await backend.get([accepted.id])
    await backend.close()

    assert dropped == 1
    assert found == [None]

"""Endpoints are told of alerts: signed, again if need be, and never doubled (R4.5, S4, S5)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rota import Cancel, Context, Retry, Rota
from rota.alerting import KIND, Shape
from rota.clock import SystemClock, new_rng
from rota.config import SECOND
from rota.contrib._addresses import PUBLIC, Reach
from rota.contrib._signature import BadSignature, verify
from rota.contrib.webhook import RETRY, Tried, add_webhooks, body_of, telling, text_of, webhook_kind
from rota.engine import Engine
from rota.engine.alerts import Event
from rota.figures import Figure, Figures, Reading
from rota.model import State
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.policy.retry import Backoff, delay
from rota.store.sqlite import SQLiteStore
from rota.webhooks import Secret
from tests.node.fakes import claimed
from tests.support.hooks import Receiver, answer, receiver

NOW = 1_800_000_000 * SECOND
FIRED = Event(
    "alert.fired",
    "2027-01-15T08:00:00.000000Z",
    {
        "alert": "a1",
        "rule": "deep",
        "figure": "queue_depth",
        "queue": "sms",
        "value": 12_500.0,
        "threshold": 10_000.0,
        "link": "/alerts/a1",
    },
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Rota]:
    """An app with a store of its own."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    with app:
        yield app


def here(there: Receiver) -> Reach:
    """Allow what is on this machine."""
    return Reach.of(["127.0.0.1"], [there.port])


async def deliver(
    app: Rota, made: Secret, reach: Reach, *, now: int = NOW, attempt: int = 1
) -> str:
    """Tell an endpoint once, as the kind does it."""
    kind = webhook_kind(app.webhooks, now=lambda: now)
    ctx = Context(claimed(kind=KIND, id="msg-1", attempt=attempt))
    async with telling(app.webhooks, reach, "https://rota.example/") as teller:
        told = kind.handler(ctx, webhook=made.webhook.id, event=FIRED, teller=teller)
        return str(await told)


async def test_an_event_is_delivered_signed_and_thin(app: Rota) -> None:
    """Http-and-cli §7: Standard Webhooks."""
    async with receiver() as there:
        made = await app.webhooks.acreate(there.url)
        assert await deliver(app, made, here(there)) == "200"

    (got,) = there.got
    assert got.method == "POST"
    assert got.headers["content-type"] == "application/json"
    assert verify(made.secret, got.headers, got.body, NOW // SECOND) == "msg-1"
    assert msgspec.json.decode(got.body) == {
        "type": "alert.fired",
        "timestamp": "2027-01-15T08:00:00.000000Z",
        "data": dict(FIRED.data) | {"link": "https://rota.example/alerts/a1"},
    }
    webhook = await app.webhooks.aget(made.webhook.id)
    assert (webhook.last_success_at, webhook.failure) == (NOW, None)


async def test_each_try_is_signed_anew_under_the_same_id(app: Rota) -> None:
    """S5: a receiver tells a repeat by its id, and a replay by its age."""
    later = NOW + 7_200 * SECOND
    async with receiver(answer(503), answer(200)) as there:
        made = await app.webhooks.acreate(there.url)
        with pytest.raises(Retry, match="503 from"):
            await deliver(app, made, here(there))
        await deliver(app, made, here(there), now=later, attempt=2)

    first, second = there.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "msg-1"
    assert verify(made.secret, second.headers, second.body, later // SECOND)
    with pytest.raises(BadSignature, match="too long ago"):
        verify(made.secret, first.headers, first.body, later // SECOND)


async def test_for_a_day_after_a_rotation_both_secrets_sign(app: Rota) -> None:
    async with receiver() as there:
        made = await app.webhooks.acreate(there.url)
        new = await app.webhooks.arotate(made.webhook.id)
        signing = await app.webhooks.asigning(made.webhook.id)
        assert signing is not None
        assert signing.old_until is not None
        for now in (signing.old_until - 1, signing.old_until):
            await deliver(app, made, here(there), now=now)

    during, after = there.got
    for secret in (made.secret, new.secret):
        assert verify(secret, during.headers, during.body, int(during.headers["webhook-timestamp"]))
    stamp = int(after.headers["webhook-timestamp"])
    assert verify(new.secret, after.headers, after.body, stamp)
    with pytest.raises(BadSignature):
        verify(made.secret, after.headers, after.body, stamp)


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500, 503])
async def test_whatever_is_no_success_is_tried_again_and_told_of(app: Rota, status: int) -> None:
    """An endpoint that is set up wrongly is put right within the hours for which it is tried."""
    async with receiver(answer(status, b"secret detail", Retry_After="90")) as there:
        made = await app.webhooks.acreate(there.url)
        with pytest.raises(Retry, match=f"{status} from") as again:
            await deliver(app, made, here(there))

    webhook = await app.webhooks.aget(made.webhook.id)
    assert again.value.least == 90
    assert webhook.failure == f"{status} from {there.url}"
    assert webhook.failing_since == NOW
    assert webhook.enabled
    assert "secret detail" not in str(again.value)


async def test_an_endpoint_that_is_gone_is_switched_off(app: Rota) -> None:
    """Http-and-cli §7: 410."""
    async with receiver(answer(410)) as there:
        made = await app.webhooks.acreate(there.url)
        with pytest.raises(Cancel, match="gone"):
            await deliver(app, made, here(there))
        webhook = await app.webhooks.aget(made.webhook.id)
        assert not webhook.enabled
        assert webhook.off_reason == "it answered that it is gone (410)"
        with pytest.raises(Cancel, match="switched off"):
            await deliver(app, made, here(there))
        assert len(there.got) == 1

        on = await app.webhooks.aset(made.webhook.id, enabled=True)
        assert (on.enabled, on.off_reason) == (True, None)


async def test_an_endpoint_that_failed_for_a_day_is_switched_off(app: Rota) -> None:
    async with receiver(answer(500)) as there:
        made = await app.webhooks.acreate(there.url)
        for hours in (0, 12, 24):
            with pytest.raises(Retry):
                await deliver(app, made, here(there), now=NOW + hours * 3600 * SECOND)
            webhook = await app.webhooks.aget(made.webhook.id)
            assert webhook.enabled is (hours < 24)


async def test_what_was_removed_is_told_nothing(app: Rota) -> None:
    async with receiver() as there:
        made = await app.webhooks.acreate(there.url)
        await app.webhooks.adelete(made.webhook.id)
        with pytest.raises(Cancel, match="was removed"):
            await deliver(app, made, here(there))
        assert there.got == []


async def test_private_addresses_are_refused_unless_they_are_allowed(app: Rota) -> None:
    """Case B178: on this way out, too."""
    async with receiver() as there:
        made = await app.webhooks.acreate(there.url)
        with pytest.raises(Retry, match=r"no public address|port"):
            await deliver(app, made, PUBLIC)
        assert there.got == []
    webhook = await app.webhooks.aget(made.webhook.id)
    assert webhook.failure is not None


async def test_the_test_button_tells_at_once_what_came_of_it(app: Rota) -> None:
    async with receiver(answer(200), answer(500)) as there:
        made = await app.webhooks.acreate(there.url)
        async with telling(app.webhooks, here(there)) as teller:
            assert await teller.test(made.webhook.id, "m1", NOW) == Tried(200)
            failed = await teller.test(made.webhook.id, "m2", NOW)

    assert (failed.status, failed.failure) == (500, f"500 from {there.url}")
    assert msgspec.json.decode(there.got[0].body)["type"] == "webhook.test"
    assert verify(made.secret, there.got[0].headers, there.got[0].body, NOW // SECOND) == "m1"


def test_slack_is_told_in_its_own_shape_and_nothing_in_it_is_markup() -> None:
    """S6"""
    sent = msgspec.json.decode(body_of(Shape.SLACK, FIRED, "https://rota.example"))

    assert sent == {
        "text": "Rota: deep fired: queue_depth of queue sms is 12500, threshold 10000 "
        "https://rota.example/alerts/a1"
    }
    evil = dict(FIRED.data) | {"rule": "<!channel> & <http://x|y>", "queue": None}
    said = text_of("alert.cleared", evil)
    assert "&lt;!channel&gt; &amp; &lt;http://x|y&gt; is over: queue_depth of all queues" in said


def test_deliveries_are_tried_again_over_hours() -> None:
    """R4.5"""
    waits = [delay(RETRY, attempt, 0.0) for attempt in range(1, RETRY.max_attempts)]
    assert waits[0] <= 30 * SECOND
    assert 4 * 3600 <= sum(waits) / SECOND <= 12 * 3600


class Deep(Engine):
    """An engine that finds a queue too deep."""

    async def figures(self) -> Figures:
        return Figures(self.clock.now(), (Reading(Figure.DEPTH, 12_500),))


async def test_an_alert_reaches_its_endpoint_through_a_worker(app: Rota, tmp_path: Path) -> None:
    """R4.5, end to end: nobody takes it at first; then it arrives, once, and is known as ours."""
    async with receiver(answer(503), answer(200)) as there:
        made = await app.webhooks.acreate(there.url)
        kind = add_webhooks(app, reach=here(there), public_url="https://rota.example")
        assert add_webhooks(app).kind is kind.kind
        kind.kind.retry = Backoff(base=0.01, max_attempts=5)
        await app.alerts.aset_rule("queue_depth", hold=0)
        engine = Deep(SQLiteStore(tmp_path / "rota.db"), SystemClock(), new_rng(2))
        await engine.open()
        assert await engine.alert() == 1
        assert await engine.watch() == 0
        await engine.close()
        (task,) = await app.tasks.alist(queue="rota")
        worker = Worker(app.registry, app.connect(), WorkerSettings(), rng=new_rng(1))
        running = asyncio.create_task(worker.run())
        assert await app.tasks.aresult(task.id, timeout=60) == "200"
        worker.drain()
        await running
        done: Any = await app.tasks.aget(task.id)

    (alert,) = await app.alerts.alist()
    assert (done.state, done.attempt) == (State.COMPLETED, 2)
    got = there.got[-1]
    stamp = int(got.headers["webhook-timestamp"])
    assert verify(made.secret, got.headers, got.body, stamp) == task.id
    with pytest.raises(BadSignature, match="too long ago"):
        verify(made.secret, got.headers, got.body, stamp + 301)
    assert (
        msgspec.json.decode(got.body)["data"]["link"] == f"https://rota.example/alerts/{alert.id}"
    )
    assert made.secret not in repr(done)
    assert made.secret not in repr(made)

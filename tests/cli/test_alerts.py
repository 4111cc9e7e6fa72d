"""`rota alerts` and `rota webhooks`: rules, what fired, silence, endpoints (R4.5, R9.4)."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from rota import Rota
from rota.alerting import Alert, AlertMove
from rota.cli.options import Common
from rota.cli.problems import Exit
from rota.cli.worker import child_options
from rota.contrib._signature import verify
from rota.figures import Figure
from rota.node.settings import WorkerSettings
from tests.cli.conftest import Cli
from tests.support.hooks import Receiver, answer, receiver


def test_a_rule_is_made_and_changed_and_says_what_changed(rota: Cli) -> None:
    rota("migrate")
    made = rota.on_terminal(
        "alerts", "set", "sms-late", "--figure", "oldest_age", "--queue", "sms",
        "--threshold", "60", "--hold", "2m", width=200,
    )  # fmt: skip
    changed = rota("alerts", "set", "queue_depth", "--threshold", "20000", "--webhook", "none")
    off = rota("alerts", "set", "run_p99", "--off", "--json")

    assert made.code == 0, made.err
    assert made.out == (
        "sms-late  threshold: 0 -> 60, queue: none -> sms, hold: 1m -> 2m (version 1)\n"
    )
    assert changed.out == "queue_depth\tthreshold: 10000 -> 20000, webhooks: all -> none\t1\n"
    assert (off.json["enabled"], off.json["version"]) == (False, 1)
    assert "sms-late\toldest_age\tsms\t60\t2m\t48\tall\ton" in rota("alerts", "rules").lines
    assert len(rota("alerts", "rules", "--json").json) == 8
    assert rota("alerts", "delete", "sms-late", "run_p99").code == 0
    assert "run_p99\trun_p99\tall\t60\t1m\t48\tall\ton" in rota("alerts", "rules").lines


REFUSED = [
    (["alerts", "set", "x"], "say what shall change", Exit.USAGE),
    (["alerts", "set", "x", "--on", "--off"], "exclude each other", Exit.USAGE),
    (
        ["alerts", "set", "x", "--figure", "depth", "--threshold", "1"],
        "figure: must be",
        Exit.USAGE,
    ),
    (["alerts", "set", "x", "--threshold", "0"], "threshold: must be a number above 0", Exit.USAGE),
    (["alerts", "set", "queue_dept", "--off"], "did you mean 'queue_depth'?", Exit.NOT_FOUND),
    (["alerts", "delete", "x"], "there is no alert rule 'x'", Exit.NOT_FOUND),
    (["alerts", "silence", "x", "--for", "1h"], "there is no alert 'x'", Exit.NOT_FOUND),
    (["alerts", "silence", "run_p99", "--for", "soon"], "--for: 'soon' is no dura", Exit.USAGE),
    (["alerts", "test"], "no webhook is on", Exit.USAGE),
    (["webhooks", "create", "ftp://x"], "url: must begin with https://", Exit.USAGE),
    (["webhooks", "create", "https://u:p@x/"], "no user or password", Exit.USAGE),
    (["webhooks", "set", "x", "--on"], "no webhook with the id 'x'", Exit.NOT_FOUND),
    (["webhooks", "delete", "x"], "no webhook with the id 'x'", Exit.NOT_FOUND),
    (["webhooks", "test", "x"], "no webhook with the id 'x'", Exit.NOT_FOUND),
]


def test_a_mistake_is_refused_in_one_line(rota: Cli) -> None:
    rota("migrate")
    for words, said, code in REFUSED:  # one store for all
        told = rota(*words)

        assert (told.code, told.out) == (code, ""), words
        assert said in told.err, words
        assert len(told.err.splitlines()) == 1, words


def test_alerts_are_listed_and_silenced(rota: Cli, store: Rota) -> None:
    async def fire() -> None:
        backend = store.connect()
        await backend.open()
        alert = Alert(
            id="a1",
            rule="queue_depth",
            figure=Figure.DEPTH,
            queue="sms",
            value=12_000.0,
            threshold=10_000.0,
            since=1_800_000_000_000_000,
            fired_at=1_800_000_060_000_000,
        )
        engine_store = backend.store  # type: ignore[attr-defined]
        await engine_store.move_alerts([AlertMove(alert=alert)], 0)
        await backend.close()

    asyncio.run(fire())
    assert rota("alerts", "list").lines == [
        "a1\tfiring\tqueue_depth\tsms\t12000\t10000\t2027-01-15T08:01:00.000000Z\t"
    ]
    assert rota("alerts", "silence", "a1", "--for", "1h").out.startswith("a1\tsilenced until 20")
    assert rota("alerts", "list", "--open", "--json").json[0]["state"] == "silenced"
    assert rota("alerts", "silence", "a1", "--for", "0").out == "a1\tnot silenced\n"
    assert rota("alerts", "silence", "run_p99", "--for", "1h").code == 0
    assert any(line.endswith("silenced") for line in rota("alerts", "rules").lines)


@pytest.fixture
def there() -> Iterator[Receiver]:
    """An endpoint on a loop of its own."""
    loop, over, opened = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    found: list[Receiver] = []

    async def run() -> None:
        async with receiver(answer(200), answer(500)) as it:
            found.append(it)
            opened.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    opened.wait(60)
    yield found[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(60)
    loop.close()


def test_a_webhook_is_made_tested_and_removed(rota: Cli, there: Receiver) -> None:
    """R4.5, S5: the secret is shown once, and a test says at once what came of it."""
    rota("migrate")
    made = rota("webhooks", "create", there.url)
    id_, secret = made.out.strip().split("\t")
    assert "Keep the secret" in made.err
    assert secret not in rota("webhooks", "list", "--json").out
    refused = rota("webhooks", "test", id_)
    assert refused.code == Exit.FAILED
    assert f"port {there.port} is not among those that may be called" in refused.out

    allowed = ["--allow-private", "127.0.0.1", "--allow-port", str(there.port)]
    taken = rota("webhooks", "test", id_, *allowed)
    assert (taken.code, taken.out) == (0, f"{id_}\ttaken (200)\n")
    (got,) = there.got
    assert verify(secret, got.headers, got.body, int(got.headers["webhook-timestamp"]))
    failed = rota("webhooks", "test", id_, *allowed, "--json")
    assert failed.code == Exit.FAILED
    assert failed.json["status"] == 500

    assert rota("webhooks", "rotate", id_).out.split("\t")[1] != secret
    assert rota("webhooks", "set", id_, "--off", "--json").json["enabled"] is False
    assert rota("webhooks", "list").out.startswith(f"{id_}\toff\tjson\t{there.url}\t")
    assert rota("webhooks", "delete", id_).out == f"{id_}\tdeleted\n"


def test_children_of_a_worker_are_told_what_calls_reach() -> None:
    """R8.2"""
    settings = WorkerSettings(allow=("command", "http"), private=("10.0.0.0/8",), ports=(8080,))
    words = child_options(settings, Common())

    told = words[words.index("--allow-commands") :][:6]
    assert told == [
        "--allow-commands", "--allow-http", "--allow-private", "10.0.0.0/8",
        "--allow-port", "8080",
    ]  # fmt: skip
    assert "--no-alert" in child_options(WorkerSettings(alert=False), Common())

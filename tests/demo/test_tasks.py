"""The handlers send in parts, under keys that stay the same from run to run."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.context import Context
from rota.demo import tasks
from rota.demo.provider import Provider, open_provider
from rota.demo.results_file import Student
from rota.demo.tasks import DemoApp, demo_app, provider_file
from rota.model import Claimed
from tests.demo.provider_help import provider_in
from tests.support.factories import NOW

STUDENTS = [Student(n, f"26-{n:08d}", "+910000000000", (33, 44, 55, 66, 77)) for n in range(250)]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with provider_in(tmp_path) as made:
        yield made


@pytest.fixture
def demo(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DemoApp:
    monkeypatch.setattr(tasks, "PART_SECONDS", 0.0)
    return demo_app(f"sqlite:///{tmp_path / 'rota.db'}", "demo", lambda: provider)


def run_of(task_id: str, fence: int = 1) -> Context:
    return Context(
        Claimed(task_id, fence, 1, 0, 0, "send_results", "demo", "board", 5, NOW, NOW, "{}")
    )


def test_a_chunk_that_runs_again_sends_nothing_twice(demo: DemoApp, tmp_path: Path) -> None:
    first = asyncio.run(demo.send_results(run_of("chunk"), "class 10", STUDENTS[:150]))
    again = asyncio.run(demo.send_results(run_of("chunk", fence=2), "class 10", STUDENTS))

    assert (first, again) == (0, 150)
    connection = open_provider(provider_file(tmp_path))
    texts = dict(connection.execute("select recipient, text from message"))
    connection.close()
    assert len(texts) == 250
    assert texts["26-00000007"] == (
        "class 10, roll number 26-00000007: "
        "mathematics 33, science 44, english 55, history 66, geography 77"
    )


def test_the_same_student_gets_a_message_for_each_exam(demo: DemoApp) -> None:
    for exam in ("class 10", "class 12"):
        assert asyncio.run(demo.send_results(run_of(exam), exam, STUDENTS)) == 0


def test_a_password_has_the_key_of_its_task(demo: DemoApp) -> None:
    sent = [
        asyncio.run(demo.send_otp(run_of(task), "parent-1", "+910000000000", "123456"))
        for task in ("one", "one", "two")
    ]

    assert sent == [0, 1, 0]


def test_a_chunk_of_five_hundred_fits_into_a_task(demo: DemoApp) -> None:
    (call,) = demo.send_results.split(STUDENTS * 2, into="students", exam="class 10")

    assert len(call.payload) < 60_000

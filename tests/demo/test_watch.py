"""The watch knows how far the run is and who is in the middle of what."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.demo.provider import Provider
from rota.demo.tasks import PASSWORD, RESULT, provider_file
from rota.demo.watch import FRESH, Watch
from tests.demo.provider_help import message, provider_in


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with provider_in(tmp_path) as made:
        yield made


@pytest.fixture
def watch(provider: Provider, tmp_path: Path) -> Iterator[Watch]:
    made = Watch(provider_file(tmp_path))
    yield made
    made.close()


def send(provider: Provider, task: str, first: int, count: int) -> None:
    provider.send(task, [message(f"{task}-{n}") for n in range(first, first + count)])


def test_each_look_adds_what_is_new(provider: Provider, watch: Watch) -> None:
    send(provider, "chunk-1", 0, 100)
    provider.send("code-1", [message("parent-1", kind=PASSWORD)])
    looks = [watch.look(), watch.look()]
    send(provider, "chunk-1", 0, 150)

    assert looks == [True, False]
    assert watch.look()
    assert watch.sent == {RESULT: 150, PASSWORD: 1}


def test_a_chunk_is_half_done_until_more_than_half_of_it_is_sent(
    provider: Provider, watch: Watch
) -> None:
    send(provider, "chunk-1", 0, 100)
    send(provider, "chunk-2", 0, 250)
    send(provider, "chunk-3", 0, 300)
    provider.send("code-1", [message("parent-1", kind=PASSWORD)])
    watch.look()

    assert watch.half_done() == {os.getpid(): 2}


def test_a_chunk_that_does_not_grow_any_more_is_not_half_done(
    provider: Provider, watch: Watch
) -> None:
    send(provider, "chunk-1", 0, 100)
    for _ in range(FRESH + 1):
        watch.look()

    assert not watch.half_done()

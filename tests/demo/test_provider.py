"""The provider sends each key once, whoever asks and however often."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from rota.demo.provider import Provider, open_provider
from rota.demo.tasks import provider_file
from tests.demo.provider_help import message, provider_in

BATCH = [message(f"student-{number}") for number in range(100)]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with provider_in(tmp_path) as made:
        yield made


def count(directory: Path, table: str) -> int:
    with closing(open_provider(provider_file(directory))) as connection:
        ((rows,),) = connection.execute(f"select count(*) from {table}")
    return int(rows)


def test_what_is_sent_again_is_absorbed(provider: Provider, tmp_path: Path) -> None:
    first = provider.send("task-1", BATCH[:60])
    again = provider.send("task-1", BATCH)

    assert (first, again) == (0, 60)
    assert count(tmp_path, "message") == 100
    assert count(tmp_path, "absorbed") == 60


def test_a_second_key_for_the_same_person_is_a_second_message(
    provider: Provider, tmp_path: Path
) -> None:
    provider.send("task-1", [message("student-1", key="attempt-1")])
    absorbed = provider.send("task-1", [message("student-1", key="attempt-2")])

    assert absorbed == 0
    assert count(tmp_path, "message") == 2


def test_a_batch_is_recorded_whole_or_not_at_all(provider: Provider, tmp_path: Path) -> None:
    broken = msgspec.structs.replace(BATCH[1], phone=None)

    with pytest.raises(apsw.ConstraintError):
        provider.send("task-1", [BATCH[0], broken])

    assert count(tmp_path, "message") == 0
    assert provider.send("task-1", BATCH) == 0


def test_many_that_send_the_same_at_once_send_it_once(provider: Provider, tmp_path: Path) -> None:
    others = [Provider(provider_file(tmp_path)) for _ in range(3)]
    try:
        with ThreadPoolExecutor(8) as pool:
            senders = [provider, *others] * 2
            absorbed = sum(pool.map(lambda sender: sender.send("task", BATCH), senders))
    finally:
        for other in others:
            other.close()

    assert absorbed == 700
    assert count(tmp_path, "message") == 100

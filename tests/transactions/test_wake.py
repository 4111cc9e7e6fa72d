"""Workers are told of what a caller committed by itself when the caller says so."""

import asyncio
import sqlite3

import pytest

from rota import Rota, TaskKind
from rota.model import Micros
from tests.support.places import Place

Send = TaskKind[[int], None]


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_caller_can_wake_the_workers(place: Place, app: Rota) -> None:
    """R2.2: those that run tasks and those that wait for their time; it returns at once."""
    store = place.store()
    await store.open()
    heard: asyncio.Queue[Micros | None] = asyncio.Queue()
    listening = asyncio.create_task(store.listen(heard.put_nowait))
    async with asyncio.timeout(60):
        assert await heard.get() is None

        app.wake()

        assert await heard.get() is None
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await store.close()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_on_a_file_nobody_needs_to_be_woken(place: Place, app: Rota, send: Send) -> None:
    """Workers see that the file has changed; a wake must not open it beside another SQLite."""
    connection = sqlite3.connect(place.address)
    send.using(connection=connection).submit(1)
    connection.commit()

    app.wake()
    send.using(connection=connection).submit(2)

    connection.commit()
    connection.close()
    assert app.tasks.count() == {"ready": 2}

"""Sends test messages to webhooks, from here or through a server, and tells what came of it."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from rota.app import Rota
from rota.cli.options import Common
from rota.cli.output import Output
from rota.clock import Ids, SystemClock
from rota.errors import ConfigurationError


class Tested(Struct, frozen=True):
    """What came of a test message."""

    webhook: str
    delivered: bool
    status: int | None
    failure: str | None


def try_each(
    app: Rota, ids: Sequence[str], private: Sequence[str] = (), ports: Sequence[int] = ()
) -> list[Tested]:
    """Send test messages, through the server if the app is at one, and return what came of them."""
    from rota.http.backend import HttpBackend

    async def through(backend: HttpBackend) -> list[Tested]:
        await backend.open()
        try:
            return [Tested(one, **await backend.test_webhook(one)) for one in ids]
        finally:
            await backend.close()

    backend = app.connect()
    if isinstance(backend, HttpBackend):
        return asyncio.run(through(backend))
    return asyncio.run(_from_here(app, ids, private, ports))


async def _from_here(
    app: Rota, ids: Sequence[str], private: Sequence[str], ports: Sequence[int]
) -> list[Tested]:
    from rota.contrib._addresses import Reach

    try:
        from rota.contrib.webhook import telling
    except ImportError as error:
        raise ConfigurationError("to call URLs: pip install 'rota[http]'") from error
    clock, made = SystemClock(), Ids()
    found = []
    async with telling(app.webhooks, Reach.of(private, ports)) as teller:
        for one in ids:
            tried = await teller.test(one, made.new(clock.now()), clock.now())
            found.append(Tested(one, tried.failure is None, tried.status, tried.failure))
    return found


def tell_tests(tests: Sequence[Tested], common: Common) -> None:
    """Print what came of test messages."""
    output = Output(common)
    if common.json:
        output.array(tests)
        return
    for one in tests:
        output.fields([one.webhook, f"taken ({one.status})" if one.delivered else f"{one.failure}"])

"""Turns a kind's name, a payload and options into a checked call, with its handler or without."""

import asyncio
from collections.abc import Collection
from functools import cached_property

from rota.app import Rota
from rota.call import Call
from rota.errors import InvalidTask, UnknownKind
from rota.model import Session
from rota.options import Options
from rota.payload import encode
from rota.policy.patterns import EXCEPT, is_pattern, takes
from rota.registry import Kind, check_name, did_you_mean


class Calls:
    """Checks what is to be submitted as strictly as can be.

    A kind of the app is checked by its handler's signature. A kind that is not at hand must be
    one that a live worker registers, on a queue which that worker takes; `any_kind` waives that.
    """

    def __init__(self, app: Rota, *, any_kind: bool) -> None:
        self._app = app
        self._any_kind = any_kind
        self._elsewhere: dict[str, Kind] = {}

    def call(self, kind: str, payload: object, options: Options) -> Call:
        """Return the call; `InvalidTask` names what is wrong with it."""
        if not isinstance(payload, dict):
            raise InvalidTask("payload", "must be an object with the handler's arguments")
        known = self._app.registry.get(kind)
        if known is not None:
            return Call(known, known.arguments.encode((), payload), options)
        elsewhere = self._kind_elsewhere(kind)
        if not self._any_kind:
            self._check_taken(kind, options.queue or elsewhere.queue)
        return Call(elsewhere, encode(payload, "payload"), options)

    def _kind_elsewhere(self, name: str) -> Kind:
        found = self._elsewhere.get(name)
        if found is None:
            check_name(name, "kind")
            found = self._elsewhere[name] = Kind(name, _elsewhere)
        return found

    def _check_taken(self, kind: str, queue: str) -> None:
        running = [session for session in self._sessions if kind in session.kinds]
        if not running:
            raise UnknownKind(kind, self._hint(kind))
        if any(takes(session.queues, queue) for session in running):
            return
        words = sorted({word for session in running for word in session.queues})
        taken = [
            f"a name that fits {word!r}" if is_pattern(word) else word
            for word in words
            if not word.startswith(EXCEPT)
        ]
        raise InvalidTask(
            "queue",
            f"no live worker with the kind {kind!r} takes {queue!r}; "
            f"give --queue {' or '.join(taken)}, or --any-kind",
        )

    def _hint(self, kind: str) -> str:
        names = self._app.registry.names
        if names:
            return did_you_mean(kind, names) or f"; the app has {_some(names)}"
        live = {name for session in self._sessions for name in session.kinds}
        if hint := did_you_mean(kind, live):
            return hint
        return " by a live worker; name the app with --app module:attribute, or give --any-kind"

    @cached_property
    def _sessions(self) -> list[Session]:
        async def read() -> list[Session]:
            backend = self._app.connect()
            try:
                await backend.open()
                return await backend.sessions()
            finally:
                await backend.close()

        return asyncio.run(read())


def _elsewhere() -> None:
    """Stands for a handler that only the workers have."""


def _some(names: Collection[str]) -> str:
    shown = sorted(names)[:10]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")

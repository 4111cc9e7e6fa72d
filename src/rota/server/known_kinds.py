"""Which kinds a server takes tasks of: those of its app, and those that live workers run."""

from collections.abc import Collection

from rota.backend import Backend
from rota.errors import InvalidTask, UnknownKind
from rota.registry import Kind, Registry, check_name, did_you_mean

LOOK_SECONDS = 5.0
"""A kind that is unknown is asked for no more often than this, whoever sends it."""
KINDS_MOST = 10_000
RESERVED = "rota."
"""Kinds that begin so are run for servers themselves, and submitted by nobody else."""


def _elsewhere() -> None:
    """Stand for a handler that this program does not have."""


class KnownKinds:
    """The kinds of an app, of the workers that live, or just any."""

    def __init__(self, registry: Registry, backend: Backend, *, any_kind: bool = False) -> None:
        self._registry = registry
        self._backend = backend
        self._any = any_kind
        self._foreign: dict[str, Kind] = {}
        self._live: frozenset[str] = frozenset()
        self._look_at = float("-inf")

    def find(self, name: str) -> tuple[Kind, bool]:
        """Return a kind, and whether it is the app's own; `UnknownKind` as far as it is known.

        Of others nothing is known but the name: payloads are taken as they are, and options that
        are not given have the usual defaults.
        """
        if name.startswith(RESERVED):
            raise InvalidTask("kind", f"kinds that begin with {RESERVED} are the server's own")
        own = self._registry.get(name)
        if own is not None:
            return own, True
        if not self._any and name not in self._live:
            hint = did_you_mean(name, [*self._registry.names, *self._live])
            raise UnknownKind(name, hint)
        kind = self._foreign.get(name)
        if kind is None:
            if len(self._foreign) >= KINDS_MOST:
                self._foreign.clear()
            kind = self._foreign[name] = Kind(check_name(name, "kind"), _elsewhere)
        return kind, False

    async def look(self, names: Collection[str]) -> None:
        """Ask which kinds the live workers run, if any of these is unknown so far."""
        if self._any or all(name in self._live or name in self._registry for name in names):
            return
        now = self._backend.clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        sessions = await self._backend.sessions()
        self._live = frozenset(kind for session in sessions for kind in session.kinds)

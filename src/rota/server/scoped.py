"""A backend that reaches no further than a key: the one place where tenants are kept apart (S2).

Routes need not know of tenants: they are handed a backend on which everything that belongs to
others is as if it were not. It refuses every verb that it does not know of, so what comes to be
asked of a backend later is closed until it is thought about (a test names what is neither).
"""

from collections.abc import Callable
from typing import Any, Final, cast

from rota.access import Scope
from rota.backend import Backend
from rota.clock import Clock
from rota.server.problems import Problem
from rota.server.scoped_schedules import ScopedSchedules
from rota.server.scoped_shares import ScopedShares, shared_by_all
from rota.server.scoped_tasks import ScopedTasks
from rota.store.base import Wake

PRIVATE: Final = frozenset(
    {
        "add_login",
        "attempted",
        "drop_login",
        "find_key",
        "find_login",
        "record",
        "secret",
        "signing",
        "touch_used",
    }
)
"""What servers do for themselves: no caller does so by any backend, or over HTTP."""

DUTIES: Final = frozenset(
    {
        "admit",
        "alert",
        "carry_on",
        "fire",
        "flush",
        "prune",
        "reap",
        "replan",
        "stage",
        "sweep",
    }
)
"""What nodes do for all tenants at once."""

WORKERS: Final = frozenset(
    {
        "claim",
        "claim_numbered",
        "close_session",
        "end_claim",
        "finish",
        "forget_session",
        "held",
        "note",
        "open_session",
        "pulse",
        "renew",
        "standing",
    }
)
"""What workers do: the protocol's own routes see to it that each keeps to its session (S13)."""

SHARED: Final = frozenset(
    {
        "add_key",
        "alert_rules",
        "audit",
        "diagnose",
        "drain_session",
        "drop_alert_rule",
        "drop_webhook",
        "figures",
        "find_alerts",
        "keys",
        "put_alert_rule",
        "put_webhook",
        "revoke_key",
        "rotate_webhook",
        "scaling",
        "served",
        "silence_alert",
        "statistics",
        "webhooks",
    }
)
"""What is about all tenants together: only for keys that are bound to nothing."""

REFUSED: Final = PRIVATE | WORKERS


class Scoped(ScopedTasks, ScopedSchedules, ScopedShares):
    """The verbs of a backend, within a scope."""

    def __init__(self, inner: Backend, scope: Scope) -> None:
        self._inner = inner
        self._scope = scope

    @property
    def clock(self) -> Clock:
        return self._inner.clock

    @property
    def distant(self) -> bool:
        return self._inner.distant

    async def open(self) -> None:
        """Do nothing: it is the server that opens."""

    async def close(self) -> None:
        """Do nothing: it is the server that closes."""

    async def listen(self, wake: Wake) -> None:
        # Signs of news say that there are some, not whose.
        await self._inner.listen(wake)

    async def wake(self) -> None:
        await self._inner.wake()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        if verb in SHARED | DUTIES:
            if self._scope.bound:
                raise shared_by_all()
            found: Callable[..., Any] = getattr(self._inner, verb)
            return found
        raise Problem("forbidden", f"{verb} is not for callers")


def scoped(backend: Backend, scope: Scope) -> Backend:
    """Return the backend as far as the scope reaches; what lies beyond is as if it were not."""
    return cast(Backend, Scoped(backend, scope))

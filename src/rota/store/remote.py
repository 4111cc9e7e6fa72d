"""The part of a store's contract that is about workers that come through a server."""

from typing import Protocol

from rota.model import Beat, Micros
from rota.remote import Standing


class Remote(Protocol):
    """What a store keeps of workers that come through a server.

    Their claims are numbered upward, session by session. A number takes tasks only after
    `begin_claim` and before `end_claim` or the next number; `take` sees to that in its own
    transaction. So a claim that is repeated at another server takes nothing twice.
    """

    async def standing(self, session_id: str) -> Standing | None:
        """Return what a session may do; None if there is none."""
        ...

    async def begin_claim(self, session_id: str, number: int, now: Micros) -> bool:
        """Make this the newest claim of a session that lives; False if the number is not new."""
        ...

    async def end_claim(self, session_id: str, number: int) -> None:
        """Let this number take nothing more; what it takes at the moment is waited for."""
        ...

    async def renew(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        """Renew a session's lease like `Pulse.beat`, from the event loop."""
        ...

    async def drain_session(self, session_id: str, now: Micros) -> bool:
        """Ask a session to drain; False if there is none, or it is over. It hears at its beat."""
        ...

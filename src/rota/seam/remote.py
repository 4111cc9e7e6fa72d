"""The part of the seam that is about workers that come through a server."""

from typing import Protocol

from rota.model import Beat, Micros
from rota.remote import Standing


class Remote(Protocol):
    """What whoever stands before a store may ask of workers that come through a server.

    A backend that is `distant` reaches the store through a server, which does the duties.
    """

    @property
    def distant(self) -> bool:
        """Whether this is the client of a server."""
        ...

    async def standing(self, session_id: str) -> Standing | None:
        """Return what a session may do; None if there is none."""
        ...

    async def end_claim(self, session_id: str, number: int) -> None:
        """Let this number take nothing more; what it takes at the moment is waited for."""
        ...

    async def renew(self, session_id: str, lease: Micros) -> Beat:
        """Renew a session's lease, and say what it is asked to do."""
        ...

    async def drain_session(self, session_id: str) -> bool:
        """Ask a worker to end in good order; False if its session is over (R3.6)."""
        ...

    def forget_session(self, session_id: str) -> None:
        """Let go of what is remembered of a session's claims."""
        ...

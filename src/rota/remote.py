"""The values that workers make use of who come through a server (R8.4)."""

from msgspec import Struct

from rota.model import Micros


class Standing(Struct, frozen=True):
    """What a session may do: whose it is, how far its claims are, until when it lives.

    `owner` is the id of the key that opened it, "" of a worker that reaches the store directly.
    `claimed` is the number of its newest claim, which takes more only while `claim_open`.
    """

    id: str
    owner: str
    claimed: int
    claim_open: bool
    lease_until: Micros
    closed_at: Micros | None = None
    drain_at: Micros | None = None

    def alive(self, now: Micros) -> bool:
        """Say whether it is neither closed nor past its lease."""
        return self.closed_at is None and self.lease_until > now


class Numbered(Struct):
    """A claim by number, as it goes on; `begun` once the store knows that it is the newest."""

    number: int
    begun: bool = False

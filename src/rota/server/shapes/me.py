"""Who is calling, as it is answered."""

from msgspec import Struct

from rota.access import Role, Via


class Me(Struct, frozen=True, kw_only=True):
    """Who is calling and what they may do; `csrf` goes along with every change by a cookie."""

    key_id: str | None
    name: str
    via: Via
    roles: list[Role]
    tenant: str | None
    queues: list[str] | None
    payloads: bool
    csrf: str | None
    server_time: str


class LoggedIn(Me, frozen=True, kw_only=True):
    """Who has logged in, and until when that holds at the longest."""

    ends_at: str

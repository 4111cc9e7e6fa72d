"""What a server answers about itself."""

from msgspec import Struct


class ServerInfo(Struct, frozen=True, kw_only=True):
    """A server's version, the worker protocols and features that it has, and its bounds by name."""

    version: str
    protocols: list[int]
    features: list[str]
    store: str
    tz_data: str
    time: str
    draining: bool
    limits: dict[str, float]

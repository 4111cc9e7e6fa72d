"""How a server is set up."""

from collections.abc import Iterable

from msgspec import Struct

from rota.errors import ConfigurationError
from rota.server.hosts import is_loopback

HOST = "127.0.0.1"
PORT = 8300


class ServerSettings(Struct, frozen=True, kw_only=True):
    """Where a server listens, whom it believes, and what it does besides answering.

    `hosts` are its names beside loopback and plain addresses, `proxies` those whose word on where
    a call comes from is believed. `rate` is calls a second of one key. With `share_port` further
    processes may listen on the same port. Without `duties` it neither stages nor fires nor sends
    webhooks: others have to. Webhooks go to the public network, and to what `private` and `ports`
    name; links in them begin with `public_url`. On `metrics_port` each process answers Prometheus
    and probes by itself.
    """

    host: str = HOST
    port: int = PORT
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure_plain: bool = False
    rate: float | None = None
    any_kind: bool = False
    duties: bool = True
    share_port: bool = False
    private: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    public_url: str = ""
    metrics_port: int = 0
    metrics_host: str = HOST

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigurationError("--tls-cert and --tls-key go together; give both or neither")
        if not 0 <= self.port <= 65_535:
            raise ConfigurationError(f"--port must lie between 0 and 65535, not {self.port}")
        if not 0 <= self.metrics_port <= 65_535:
            raise ConfigurationError(
                f"--metrics-port must lie between 0 and 65535, not {self.metrics_port}"
            )
        if self.rate is not None and not self.rate > 0:
            raise ConfigurationError(f"--rate must be more than 0, not {self.rate:g}")
        if not (is_loopback(self.host) or self.tls_cert or self.insecure_plain):
            raise ConfigurationError(
                f"on {self.host} keys would cross the network in the clear; give --tls-cert and "
                "--tls-key, or --insecure-plain if a proxy before this server does TLS, or listen "
                "on 127.0.0.1"
            )

    @property
    def address(self) -> str:
        """Where callers find it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"


def children(settings: ServerSettings) -> Iterable[str]:
    """Yield the options with which one process of several is set up alike."""
    yield from ("--host", settings.host, "--port", str(settings.port), "--share-port")
    for name in settings.hosts:
        yield from ("--allow-host", name)
    for proxy in settings.proxies:
        yield from ("--trust-proxy", proxy)
    if settings.tls_cert and settings.tls_key:
        yield from ("--tls-cert", settings.tls_cert, "--tls-key", settings.tls_key)
    for word in settings.private:
        yield from ("--allow-private", word)
    for port in settings.ports:
        yield from ("--allow-port", str(port))
    if settings.metrics_port:
        yield from ("--metrics-port", str(settings.metrics_port))
        yield from ("--metrics-host", settings.metrics_host)
    if settings.public_url:
        yield from ("--public-url", settings.public_url)
    if settings.rate is not None:
        yield from ("--rate", f"{settings.rate:g}")
    flags = {
        "--insecure-plain": settings.insecure_plain,
        "--any-kind": settings.any_kind,
        "--no-duties": not settings.duties,
    }
    yield from (flag for flag, is_set in flags.items() if is_set)

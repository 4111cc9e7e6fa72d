"""Which hosts a server answers for, and where a call comes from (S7).

A page of a stranger whose name is made to point here is turned away by the `Host` that its browser
sends. An address needs no such name: what is asked for by address was meant.
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from rota.errors import ConfigurationError
from rota.server.problems import Problem

LOOPBACK = frozenset({"localhost", "ip6-localhost"})


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine itself and nobody else's.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("db")
    (True, True, True, False)
    """
    if host in LOOPBACK or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """Return the host of a `Host` header, without its port; "" if it is none.

    >>> host_of("Tasks.Example:8300"), host_of("[::1]:8300")
    ('tasks.example', '::1')
    """
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Hosts:
    """The names that a server has, and the proxies that it believes.

    `names` are those beside loopback and plain addresses. `proxies` are addresses or networks, such
    as `10.0.0.0/8`: only theirs is an `X-Forwarded-For` believed.
    """

    def __init__(self, names: Iterable[str] = (), proxies: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower().rstrip(".") for name in names)
        self._known: set[str] = set()
        self._proxies = tuple(_network(proxy) for proxy in proxies)

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse a call for another host: `Problem` 421."""
        header = headers.get("host", "")
        if header in self._known:
            return
        host = host_of(header)
        if host not in self._names and not is_loopback(host) and not _is_address(host):
            raise Problem(
                "misdirected",
                f"this server does not answer for {host[:100]!r}; "
                "its names are told to it with rota server --allow-host NAME",
            )
        if len(self._known) < 1_000:
            self._known.add(header)

    def caller(self, headers: Mapping[str, str], address: str) -> str:
        """Return the address that a call comes from, through proxies that are believed."""
        if not self._proxies or not self._believed(address):
            return address
        for hop in reversed(headers.get("x-forwarded-for", "").split(",")):
            address = hop.strip() or address
            if not self._believed(address):
                break
        return address[:100]

    def _believed(self, address: str) -> bool:
        try:
            given = ip_address(address)
        except ValueError:
            return False
        return any(given in network for network in self._proxies)


def same_origin(headers: Mapping[str, str]) -> bool:
    """Say whether a browser sent this from a page of this very server (case B172).

    A browser says so in `Sec-Fetch-Site`, which no page can set, or tells the page in `Origin`.
    """
    if headers.get("sec-fetch-site") == "same-origin":
        return True
    scheme, found, host = headers.get("origin", "").partition("://")
    return bool(found and scheme and host) and host.lower() == headers.get("host", "").lower()


def _network(proxy: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(proxy, strict=False)
    except ValueError:
        raise ConfigurationError(
            f"{proxy!r} is no address or network of a proxy; give 10.0.0.7 or 10.0.0.0/8"
        ) from None

"""Which addresses may be called: public ones, and those that whoever runs this allows (S4, B178).

An address is judged after its name was resolved, every answer of it, and the connection goes to
just that. IPv6 addresses that stand for an IPv4 address are judged by that one.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct

from rota.alert_options import check_url
from rota.errors import ConfigurationError, InvalidTask

Ip = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS: Final = frozenset({80, 443})
PORT_OF: Final = {"http": 80, "https": 443}

_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")

_NAT64: Final = (
    ipaddress.IPv6Network("64:ff9b::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
)
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_REFUSED: Final = (
    (ipaddress.ip_network("0.0.0.0/8"), "this network"),
    (ipaddress.ip_network("100.64.0.0/10"), "shared by a carrier"),
    (ipaddress.ip_network("192.0.0.0/24"), "reserved"),
    (ipaddress.ip_network("192.88.99.0/24"), "reserved"),
    (ipaddress.ip_network("198.18.0.0/15"), "for measurements"),
    (ipaddress.ip_network("100::/64"), "discarded"),
    (ipaddress.ip_network("2001::/23"), "reserved"),
    (ipaddress.ip_network("2001:db8::/32"), "for documents"),
    (ipaddress.ip_network("3fff::/20"), "for documents"),
    (ipaddress.ip_network("5f00::/16"), "for segment routing"),
    (ipaddress.ip_network("fec0::/10"), "site-local"),
)


class AddressRefused(Exception):
    """An address that must not be called; the message says why."""


class Reach(Struct, frozen=True):
    """What may be called besides public addresses on the ports 80 and 443.

    `hosts` are names whose addresses need not be public, `networks` addresses that need not be.
    """

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    ports: frozenset[int] = PORTS

    @classmethod
    def of(cls, private: Iterable[str] = (), ports: Iterable[int] = ()) -> "Reach":
        """Return the reach that words allow: names of hosts, addresses and networks, and ports."""
        hosts, networks = set(), []
        for word in private:
            try:
                networks.append(ipaddress.ip_network(word, strict=False))
            except ValueError:
                if not word or "/" in word or ":" in word:
                    raise ConfigurationError(
                        f"{word!r} is neither the name of a host nor a network such as 10.0.0.0/8"
                    ) from None
                hosts.add(word.lower().rstrip("."))
        return cls(frozenset(hosts), tuple(networks), PORTS | frozenset(ports))

    def with_(self, other: "Reach") -> "Reach":
        """Return what either of them allows."""
        return Reach(
            self.hosts | other.hosts, self.networks + other.networks, self.ports | other.ports
        )

    def check(self, host: str, address: str) -> None:
        """Refuse an address that a name was resolved to: `AddressRefused`."""
        found = ipaddress.ip_address(address.partition("%")[0])
        if host.lower().rstrip(".") in self.hosts or any(found in n for n in self.networks):
            return
        inner = inside(found)
        # What was put around it must not be a way past the rule for what is inside.
        if inner is not None and any(inner in network for network in self.networks):
            return
        why = refusal(found)
        if why:
            named = "" if host == address else f"{host} is "
            raise AddressRefused(f"{named}{address}, which is no public address: it is {why}")


PUBLIC: Final = Reach()
"""Public addresses alone."""


class Target(Struct, frozen=True):
    """An address that can be called, taken apart; `literal` if its host is no name."""

    url: str
    scheme: str
    host: str
    port: int
    literal: str | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        """To whom credentials belong that go there."""
        return self.scheme, self.host, self.port


def target(url: str, reach: Reach) -> Target:
    """Return an address taken apart; `AddressRefused` if it cannot be one, or names a bad one."""
    try:
        check_url(url)
    except InvalidTask as error:
        raise AddressRefused(f"the url {error.problem}") from None
    split: SplitResult = urlsplit(url)
    try:
        host = _ascii((split.hostname or "").rstrip("."))
        port = PORT_OF[split.scheme] if split.port is None else split.port
    except (UnicodeError, ValueError):
        raise AddressRefused(f"{split.hostname!r:.80} cannot be the name of a host") from None
    if port not in reach.ports:
        raise AddressRefused(f"port {port} is not among those that may be called")
    literal = literal_of(host)
    if literal is not None:
        reach.check(host, str(literal))
        host = str(literal)
    # Written anew, so that whoever sends it cannot read another host in it than was checked here.
    shown = f"[{host}]" if ":" in host else host
    usual = port == PORT_OF[split.scheme]
    netloc = shown if usual else f"{shown}:{port}"
    whole = urlunsplit((split.scheme, netloc, split.path or "/", split.query, ""))
    return Target(whole, split.scheme, host, port, None if literal is None else host)


def _ascii(host: str) -> str:
    """Return a host as it is looked up: digits of other scripts are those of an address, too."""
    if ":" in host:
        return host
    found = host.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(found):
        raise ValueError(host)
    return found


def literal_of(host: str) -> Ip | None:
    """Return the address that a host is written as, in any way that a system reads, or None.

    >>> str(literal_of("0x7f000001")), str(literal_of("2130706433")), str(literal_of("0177.1"))
    ('127.0.0.1', '127.0.0.1', '127.0.0.1')
    """
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError, ValueError):
        return None


def inside(address: Ip) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, or None."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _NAT64) or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def refusal(address: Ip) -> str:
    """Return why an address is not plainly public, or ""."""
    inner = inside(address)
    if inner is not None and str(address) not in ("::", "::1"):
        return refusal(inner)
    for word in ("unspecified", "loopback", "link_local", "multicast", "private", "reserved"):
        if getattr(address, f"is_{word}"):
            return word.replace("_", "-")
    for network, why in _REFUSED:
        if address in network:
            return why
    return "" if address.is_global else "not global"

"""Which addresses are called: only public ones, however they are written (S4, B173, B178)."""

import pytest

from rota.contrib._addresses import PUBLIC, AddressRefused, Reach, literal_of, target
from rota.errors import ConfigurationError

REFUSED = {
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "loopback": "http://127.0.0.1/",
    "all loopback": "http://127.9.9.9/",
    "this host": "http://0.0.0.0/",
    "mapped": "http://[::ffff:127.0.0.1]/",
    "mapped in hex": "http://[::ffff:7f00:1]/",
    "mapped metadata": "http://[::ffff:a9fe:a9fe]/",
    "compatible": "http://[::127.0.0.1]/",
    "hex": "http://0x7f000001/",
    "hex parts": "http://0x7f.0.0.0x1/",
    "decimal": "http://2130706433/",
    "octal": "http://0177.0.0.1/",
    "octal whole": "http://017700000001/",
    "short": "http://127.1/",
    "wide digits": "http://\uff11\uff12\uff17.0.0.1/",
    "circled digits": "http://\u2460\u2461\u2466.0.0.1/",
    "wide dots": "http://127\u30020\u30020\u30021/",
    "final dot": "http://127.0.0.1./",
    "v6 loopback": "http://[::1]/",
    "v6 nothing": "http://[::]/",
    "v6 link-local": "http://[fe80::1]/",
    "v6 zone": "http://[fe80::1%25eth0]/",
    "v6 unique local": "http://[fd00::1]/",
    "v6 metadata": "http://[fd00:ec2::254]/",
    "v6 site-local": "http://[fec0::1]/",
    "v6 multicast": "http://[ff02::1]/",
    "v6 documents": "http://[2001:db8::1]/",
    "6to4 of private": "http://[2002:7f00:1::]/",
    "6to4 of 10": "http://[2002:a00:1::]/",
    "teredo": "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "teredo of 10": "http://[2001:0:0:0:0:0:f5ff:fffe]/",
    "nat64 of metadata": "http://[64:ff9b::a9fe:a9fe]/",
    "nat64 of loopback": "http://[64:ff9b::7f00:1]/",
    "local nat64": "http://[64:ff9b:1::a00:1]/",
    "private 10": "http://10.1.2.3/",
    "private 172": "http://172.16.0.1/",
    "private 192": "http://192.168.1.1/",
    "carrier": "http://100.64.0.1/",
    "carrier metadata": "http://100.100.100.200/",
    "benchmark": "http://198.18.0.1/",
    "multicast": "http://224.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "reserved": "http://240.0.0.1/",
    "documents": "http://192.0.2.1/",
    "userinfo": "http://user:pw@example.com/",
    "userinfo trick": "http://example.com@127.0.0.1/",
    "empty userinfo": "http://@example.com/",
    "backslash": "http://example.com\\@127.0.0.1/",
    "line break": "http://example.com/\r\nHost: x",
    "space": "http://example.com/a b",
    "tab": "http://exa\tmple.com/",
    "NUL": "http://example.com/\x00",
    "file": "file:///etc/passwd",
    "gopher": "gopher://example.com/",
    "ftp": "ftp://example.com/",
    "unix": "unix:///var/run/docker.sock",
    "no scheme": "//example.com/",
    "no host": "http:///path",
    "other port": "http://example.com:6379/",
    "port 0": "http://example.com:0/",
    "port out of range": "http://example.com:65536/",
    "no port": "http://example.com:x/",
    "label too long": f"http://{'a' * 64}.com/",
    "empty label": "http://a..b/",
    "too long": "http://example.com/" + "a" * 3000,
    "percent": "http://127%2e0.0.1/",
    "brackets": "http://[127.0.0.1]/",
}


@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED)
def test_what_is_no_plainly_public_address_is_refused(url: str) -> None:
    """Case B178: before anything is sent, whatever way it is written."""
    with pytest.raises(AddressRefused):
        target(url, PUBLIC)


@pytest.mark.parametrize(
    ("url", "sent", "host", "port"),
    [
        ("http://example.com", "http://example.com/", "example.com", 80),
        ("https://EXAMPLE.com:443/a?b=c#d", "https://example.com/a?b=c", "example.com", 443),
        ("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
        ("http://example.com./x", "http://example.com/x", "example.com", 80),
        ("http://0x01010101/", "http://1.1.1.1/", "1.1.1.1", 80),
        ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/", "2606:4700::1111", 443),
        ("http://[64:ff9b::101:101]/", "http://[64:ff9b::101:101]/", "64:ff9b::101:101", 80),
    ],
)
def test_a_public_address_is_sent_in_the_form_that_was_checked(
    url: str, sent: str, host: str, port: int
) -> None:
    found = target(url, PUBLIC)

    assert (found.url, found.host, found.port) == (sent, host, port)


@pytest.mark.parametrize(
    ("word", "host", "address", "allowed"),
    [
        ("10.0.0.0/8", "x.internal", "10.1.2.3", True),
        ("10.0.0.0/8", "x.internal", "172.16.0.1", False),
        ("10.0.0.0/8", "x.internal", "::ffff:10.1.2.3", True),
        ("127.0.0.1", "localhost", "127.0.0.1", True),
        ("127.0.0.1", "localhost", "::1", False),
        ("hook.internal", "Hook.Internal.", "10.1.2.3", True),
        ("hook.internal", "other.internal", "10.1.2.3", False),
        ("hook.internal", "x.hook.internal", "10.1.2.3", False),
        ("fd00::/8", "x", "fd12::1", True),
    ],
)
def test_what_is_allowed_by_name_or_network_may_be_called_and_nothing_else(
    word: str, host: str, address: str, allowed: bool
) -> None:
    reach = Reach.of(private=[word])
    if allowed:
        reach.check(host, address)
        return
    with pytest.raises(AddressRefused, match="no public address"):
        reach.check(host, address)


def test_further_ports_are_called_only_if_they_are_listed() -> None:
    assert target("http://example.com:8080/", Reach.of(ports=[8080])).port == 8080
    with pytest.raises(AddressRefused, match="port 8081"):
        target("http://example.com:8081/", Reach.of(ports=[8080]))


@pytest.mark.parametrize("word", ["", "10.0.0.0/33", "http://x", "a/b", "::1::"])
def test_a_word_that_allows_nothing_is_a_mistake(word: str) -> None:
    with pytest.raises(ConfigurationError, match="neither the name of a host nor a network"):
        Reach.of(private=[word])


@pytest.mark.parametrize("host", ["example.com", "a1", "1.2.3.4.5", "0x", "cafe", "256.1.1.1"])
def test_a_name_is_no_address(host: str) -> None:
    assert literal_of(host) is None

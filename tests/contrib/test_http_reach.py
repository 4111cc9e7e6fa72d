"""Where calls of URLs go, and never go, and what stays behind (S4, B173, B178)."""

import pytest

from rota.contrib._addresses import PUBLIC, Reach
from rota.contrib._fetch import Fetcher
from rota.errors import Fail
from tests.contrib.calling import Caller, Names
from tests.support.hooks import answer, receiver


@pytest.mark.parametrize(
    "answers",
    [
        ["10.0.0.5"],
        ["93.184.216.34", "10.0.0.5"],
        ["93.184.216.34", "::ffff:169.254.169.254"],
        ["fd00::1"],
        ["127.0.0.1"],
    ],
    ids="+".join,
)
async def test_a_name_is_refused_if_any_of_its_addresses_is_not_public(
    call: Caller, answers: list[str]
) -> None:
    """Case B178: judged after resolution, whatever the name looks like."""
    call.names = Names(evil_example=[answers])
    with pytest.raises(Fail, match=r"evil\.example is .*, which is no public address"):
        await call("http://evil.example/")


async def test_it_connects_to_the_address_that_was_checked(call: Caller) -> None:
    """Case B178: a name that answers otherwise the next time is not asked a next time."""
    async with receiver() as there:
        call.names = Names(shop_example=[["127.0.0.1"], ["10.0.0.5"]])
        reach = Reach.of(["127.0.0.1"], [there.port])
        await call(f"http://shop.example:{there.port}/x", reach=reach)
        assert call.names.asked == ["shop.example"]
        assert there.got[0].headers["host"] == f"shop.example:{there.port}"

        with pytest.raises(Fail, match=r"10\.0\.0\.5, which is no public"):
            await call(f"http://shop.example:{there.port}/x", reach=reach)


async def test_the_last_gate_is_the_socket_itself(call: Caller) -> None:
    """Case B178: every code path, also one that passes by resolver and literals."""
    fetcher = Fetcher(PUBLIC, call.names)
    with pytest.raises(Exception, match="no public address"):
        await fetcher._session.get("http://127.0.0.1/")
    await fetcher.close()


async def test_a_redirect_is_followed_only_if_that_is_asked_for_and_each_hop_is_checked(
    call: Caller,
) -> None:
    async with receiver() as end, receiver() as start:
        start.answers = [answer(302, Location=f"{end.url}?x=1")]
        reach = Reach.of(["127.0.0.1"], [start.port, end.port])
        with pytest.raises(Fail, match="302 from"):
            await call(start.url, reach=reach, json={"a": 1})
        result = await call(start.url, reach=reach, json={"a": 1}, follow=1)
        assert result["status"] == 200
        assert [(got.method, got.body) for got in end.got] == [("GET", b"")]

        for bad in ("http://169.254.169.254/", "http://127.0.0.1:22/", "file:///etc/passwd"):
            start.answers = [answer(307, Location=bad)]
            with pytest.raises(Fail, match=r"no public address|port 22|must begin with"):
                await call(start.url, reach=reach, follow=3)
        start.answers = [answer(307, Location="/again")]
        with pytest.raises(Fail, match="307 from"):
            await call(start.url, reach=reach, follow=2)
    assert len(start.got) == 2 + 3 + 3


async def test_credentials_stay_with_the_origin_that_they_were_meant_for(call: Caller) -> None:
    """S4"""
    headers = {"Authorization": "Bearer canary", "X-Api-Key": "canary", "Accept": "text/plain"}
    async with receiver() as end, receiver() as start:
        start.answers = [answer(307, Location="/same"), answer(307, Location=end.url)]
        reach = Reach.of(["127.0.0.1"], [start.port, end.port])
        await call(start.url, reach=reach, headers=headers, json={"a": 1}, secret="shop", follow=2)
    first, second = start.got
    (third,) = end.got
    for same in (first, second):
        assert same.headers["authorization"] == "Bearer canary"
        assert "webhook-signature" in same.headers
    assert (third.method, third.body) == ("POST", b'{"a":1}')
    assert third.headers["accept"] == "text/plain"
    assert "canary" not in repr(third.headers)
    assert not [name for name in third.headers if name.startswith(("webhook-", "rota-"))]


async def test_no_cookie_is_kept(call: Caller) -> None:
    async with receiver() as there:
        there.answers = [
            answer(307, Location="/next", Set_Cookie="session=canary"),
            answer(200),
        ]
        await call.to(there, follow=1)
    assert "cookie" not in there.got[1].headers

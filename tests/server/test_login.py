"""Log-ins of the dashboard: a cookie that no other page can use (case B172, S7, S12)."""

import pytest

from rota import Rota
from rota.access import Role
from rota.clock import ManualClock
from rota.engine import Engine
from rota.server.access import FRESH_SECONDS
from rota.server.login import PAGE_HEADERS
from rota.server.rates import Bounds
from tests.server.doors import ON_SQLITE, PAGE, Door
from tests.support.asking import Told

HOURS = 3_600
FAR = {"host": "tasks.example", "origin": "https://tasks.example"}


@pytest.fixture
def door(app: Rota, engine: Engine) -> Door:
    return Door(app, engine, hosts=["tasks.example"])


async def admin(door: Door) -> dict[str, str]:
    """The headers of a page that an admin has logged in on."""
    return await door.logged_in((await door.make(Role.ADMIN, name="boss")).text)


async def make_key(door: Door, headers: dict[str, str]) -> Told:
    body = {"name": "made-by-cookie", "roles": ["read"]}
    return await door.using(None).ask("POST", "/v1/keys", body, headers=headers)


async def test_a_key_becomes_a_cookie(door: Door, clock: ManualClock) -> None:
    """B172: HttpOnly, of this site only; on this machine without TLS."""
    key = (await door.make(Role.READ, name="reader", tenant="board")).text
    told = await door.log_in({"key": key})

    assert told.status == 200
    name, _, rest = told.headers["set-cookie"].partition("=")
    assert name == "rota"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} < set(rest.split("; "))
    assert "Secure" not in rest
    assert key not in rest
    assert (told.json["name"], told.json["roles"], told.json["tenant"]) == (
        "reader",
        ["read"],
        "board",
    )


@ON_SQLITE
async def test_across_a_network_the_cookie_is_secure(door: Door) -> None:
    """B172: `__Host-` keeps it from being set by anybody else; without TLS nobody logs in."""
    key = (await door.make(Role.READ)).text

    told = await door.log_in({"key": key}, **FAR)
    assert told.headers["set-cookie"].startswith("__Host-rota=")
    assert "Secure" in told.headers["set-cookie"].split("; ")
    cookie = told.headers["set-cookie"].partition(";")[0]
    asked = await door.using(None).ask("GET", "/v1/me", headers=FAR | {"cookie": cookie})
    assert asked.json["via"] == "session"

    plain = await door.log_in({"key": key}, **FAR | {"origin": "http://tasks.example"})
    assert (plain.status, plain.code) == (403, "forbidden")
    assert "https" in plain.json["detail"]


@ON_SQLITE
async def test_the_plain_cookie_opens_nothing_across_a_network(door: Door) -> None:
    """B172: anybody on the way could have set or read it."""
    headers = await admin(door)
    far = {"cookie": headers["cookie"], "host": "tasks.example"}

    assert (await door.using(None).ask("GET", "/v1/me", headers=far)).status == 401


async def test_who_is_logged_in_does_what_the_key_may(door: Door) -> None:
    """B172: with the word that goes along; it is on record as a session's."""
    headers = await admin(door)
    me = await door.using(None).ask("GET", "/v1/me", headers=headers)
    assert me.json["csrf"] == headers["rota-csrf"]

    assert (await make_key(door, headers)).status == 201
    entries = [(one.action, one.via.value, one.key_name) for one in await door.audit()]
    assert entries == [
        ("login.create", "session", "boss"),
        ("key.create", "session", "boss"),
    ]


FORGED = {
    "from another site's page": {"origin": "https://evil.example"},
    "from a name that begins like ours": {"origin": "http://localhost:8300.evil.example"},
    "from another port": {"origin": "http://localhost:9999"},
    "from a page that hides itself": {"origin": "null"},
    "from nowhere": {"origin": ""},
    "without the word": {"rota-csrf": ""},
    "with another word": {"rota-csrf": "0" * 64},
    "with what is no word": {"rota-csrf": "wörd"},
    "as a form": {"content-type": "application/x-www-form-urlencoded"},
    "as text": {"content-type": "text/plain"},
    "with two types": {"content-type": "text/plain; application/json"},
}


@ON_SQLITE
@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_another_site_changes_nothing(door: Door, forged: dict[str, str]) -> None:
    """B172, S7: though the browser were to send the cookie along."""
    headers = await admin(door)

    told = await make_key(door, headers | forged)

    assert (told.status, told.code) == (403, "csrf")
    assert [key.name for key in await door.engine.keys()] == ["boss"]


async def test_the_word_of_one_session_is_of_no_use_to_another(door: Door) -> None:
    """B172."""
    one, other = await admin(door), await admin(door)

    told = await make_key(door, one | {"rota-csrf": other["rota-csrf"]})
    assert told.code == "csrf"


@ON_SQLITE
async def test_a_browser_may_say_that_the_page_is_ours(door: Door) -> None:
    """S7: behind a proxy that changes `Host`, its word counts; no page can set it."""
    headers = await admin(door) | {"origin": "https://outside.example"}

    assert (await make_key(door, headers | {"sec-fetch-site": "same-origin"})).status == 201
    assert (await make_key(door, headers | {"sec-fetch-site": "same-site"})).code == "csrf"


@ON_SQLITE
async def test_another_site_reads_nothing_either(door: Door) -> None:
    """S7: whatever a browser makes of SameSite."""
    headers = await admin(door) | {"sec-fetch-site": "cross-site"}

    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).code == "csrf"


async def test_a_key_beats_a_cookie(door: Door) -> None:
    """http-and-cli §6: whoever sends both means the key."""
    headers = await admin(door)
    reader = (await door.make(Role.READ, name="reader")).text

    told = await door.using(reader).ask("GET", "/v1/me", headers=headers)
    assert (told.json["name"], told.json["via"], told.json["csrf"]) == ("reader", "key", None)
    assert (await door.using("nonsense").ask("GET", "/v1/me", headers=headers)).status == 401


async def test_a_session_ends_when_it_is_idle(door: Door, clock: ManualClock) -> None:
    """B172: 12 hours after the last call; each call puts that off, on every server."""
    headers = await admin(door)
    for _ in range(3):
        clock.advance(11 * HOURS)
        assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 200
        await door.access.flush()

    clock.advance(12 * HOURS + 60)
    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 401


@ON_SQLITE
async def test_a_session_ends_after_seven_days(door: Door, clock: ManualClock) -> None:
    """B172: however busy it is."""
    headers = await admin(door)
    for _ in range(7 * 24 - 1):
        clock.advance(HOURS)
        assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 200
        await door.access.flush()

    clock.advance(HOURS)
    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 401


async def test_a_session_dies_with_its_key(door: Door, clock: ManualClock) -> None:
    """B172, S12: revoked or expired."""
    await door.make(Role.ADMIN)
    revoked, expiring = await door.make(Role.READ), await door.make(Role.READ, expires="1h")
    pages = [await door.logged_in(made.text) for made in (revoked, expiring)]

    await door.engine.revoke_key(revoked.key.id)
    clock.advance(5)
    asked = [await door.using(None).ask("GET", "/v1/me", headers=page) for page in pages]
    assert [told.status for told in asked] == [401, 200]

    clock.advance(HOURS - 5)
    assert (await door.using(None).ask("GET", "/v1/me", headers=pages[1])).status == 401


async def test_logging_out_ends_the_session_everywhere(
    door: Door, app: Rota, engine: Engine, clock: ManualClock
) -> None:
    """B172: here at once, elsewhere within 5 s; the cookie is taken away."""
    headers = await admin(door)
    other = Door(app, engine).using(None)
    assert (await other.ask("GET", "/v1/me", headers=headers)).status == 200

    told = await door.using(None).ask("POST", "/v1/logout", headers=headers | JSON)

    assert told.status == 204
    assert "Max-Age=0" in told.headers["set-cookie"]
    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 401
    clock.advance(FRESH_SECONDS + 0.5)
    assert (await other.ask("GET", "/v1/me", headers=headers)).status == 401


JSON = {"content-type": "application/json"}

REFUSED: dict[str, tuple[dict[str, str], dict[str, str], int]] = {
    "a key that opens nothing": ({"key": "rota_nonsense"}, {}, 401),
    "a code that is none": ({"code": "0" * 64}, {}, 401),
    "neither": ({}, {}, 422),
    "both": ({"key": "x", "code": "y"}, {}, 422),
    "from another site": ({"key": "x"}, {"origin": "https://evil.example"}, 403),
    "from no page": ({"key": "x"}, {"origin": ""}, 403),
    "as a form": ({"key": "x"}, {"content-type": "text/plain"}, 415),
    "to another host": ({"key": "x"}, {"host": "evil.example"}, 421),
}


@ON_SQLITE
@pytest.mark.parametrize(("body", "headers", "status"), REFUSED.values(), ids=REFUSED)
async def test_who_may_not_log_in(
    door: Door, body: dict[str, str], headers: dict[str, str], status: int
) -> None:
    """B172."""
    told = await door.log_in(body, **headers)

    assert told.status == status
    assert "set-cookie" not in told.headers


@ON_SQLITE
@pytest.mark.parametrize("role", [Role.SUBMIT, Role.WORKER])
async def test_a_key_that_reads_nothing_logs_nobody_in(door: Door, role: Role) -> None:
    """S13: the key of a worker is of no use in a browser."""
    told = await door.log_in({"key": (await door.make(role)).text})
    assert (told.status, told.code) == (403, "forbidden")


@ON_SQLITE
async def test_five_wrong_keys_a_minute(door: Door, clock: ManualClock) -> None:
    """B172: from an address; a right one costs nothing until then."""
    key = (await door.make(Role.READ)).text
    assert [(await door.log_in({"key": key})).status for _ in range(8)] == [200] * 8
    wrong = [(await door.log_in({"key": f"rota_{n}"})).status for n in range(7)]
    assert wrong == [401] * 5 + [429] * 2

    told = await door.log_in({"key": key})
    assert (told.status, told.headers["retry-after"]) == (429, "12")
    clock.advance(12)
    assert (await door.log_in({"key": key})).status == 200


async def test_a_code_logs_in_once_and_soon(door: Door, clock: ManualClock) -> None:
    """http-and-cli §6: for `rota dev`; whoever has the code has every right, for this process."""
    code, late = door.place.logins.code(), door.place.logins.code()
    told = await door.log_in({"code": code})
    assert told.status == 200
    assert (told.json["via"], told.json["key_id"]) == ("code", None)
    assert "admin" in told.json["roles"]

    cookie = told.headers["set-cookie"].partition(";")[0]
    headers = PAGE | {"cookie": cookie, "rota-csrf": told.json["csrf"]}
    assert (await make_key(door, headers)).status == 201
    assert (await door.log_in({"code": code})).status == 401
    clock.advance(61)
    assert (await door.log_in({"code": late})).status == 401


@ON_SQLITE
async def test_who_logged_in_with_a_code_is_out_after_seven_days(
    door: Door, clock: ManualClock
) -> None:
    """B172: there is no key that could end it."""
    told = await door.log_in({"code": door.place.logins.code()})
    headers = PAGE | {"cookie": told.headers["set-cookie"].partition(";")[0]}
    clock.advance(7 * 24 * HOURS - 1)
    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 200
    clock.advance(1)
    assert (await door.using(None).ask("GET", "/v1/me", headers=headers)).status == 401


@ON_SQLITE
async def test_a_cookie_ends_with_its_key_to_the_second(door: Door, clock: ManualClock) -> None:
    """S12: also where it was believed in a moment ago."""
    made = await door.make(Role.READ, expires="1h")
    page = await door.logged_in(made.text)
    clock.advance(HOURS - 1)
    assert (await door.using(None).ask("GET", "/v1/me", headers=page)).status == 200
    clock.advance(1)
    assert (await door.using(None).ask("GET", "/v1/me", headers=page)).status == 401


async def test_a_dump_of_the_store_holds_no_cookie(door: Door) -> None:
    """S12: the store has its hash."""
    headers = await admin(door)
    cookie = headers["cookie"].partition("=")[2]

    assert await door.engine.find_login(cookie.encode()) is None
    assert await door.place.logins.find(cookie) is not None


async def test_no_log_in_is_written_down_with_its_secret(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    """S11: neither in the audit record nor in the log nor in an answer."""
    made = await door.make(Role.ADMIN)
    told = await door.log_in({"key": made.text})
    refused = await door.log_in({"key": made.text[:-1] + "!"})

    secret = made.text[18:61]
    for text in (repr(await door.audit()), caplog.text, told.body.decode(), refused.body.decode()):
        assert secret not in text


def test_pages_allow_no_script_but_their_own() -> None:
    """S6, S7: ready for whoever answers with HTML."""
    policy = dict(PAGE_HEADERS)["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_the_bounds_are_those_of_the_plan() -> None:
    """http-and-cli §6."""
    bounds = Bounds()
    assert (bounds.logins.burst, round(bounds.logins.per_second * 60)) == (5, 5)

"""Log-ins of the dashboard, and who is calling (case B172)."""

from typing import Any

from rota.access import Role, Via
from rota.server.access import too_many
from rota.server.caller import Caller
from rota.server.login import (
    IDLE,
    Opened,
    check_own_page,
    cookie_header,
    cookie_of,
    opened_by,
)
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes.me import LoggedIn, Me
from rota.times import show_instant

ANY = roles(*Role)
BY_COOKIE = (Via.SESSION, Via.CODE)


class LoginBody(In, frozen=True):
    """A key, or the one-time code that `rota dev` prints."""

    key: str | None = None
    code: str | None = None


async def login(call: Call) -> Answer:
    check_own_page(call.headers)
    cookie_header("", call.headers)  # where it could not be set nobody logs in
    logins = call.place.logins
    tries = logins.tries.of(call.place.hosts.caller(call.headers, call.address))
    wait = tries.take(call.place.clock.monotonic())
    if wait:
        raise too_many("too many log-ins came from this address", wait)
    opened = await _opened(call)
    tries.give_back()
    found = await logins.find(opened.cookie)
    assert found is not None, "a log-in that was just made is not over"
    _, caller = found
    call.audit["caller"] = caller
    call.audit["target"] = caller.key_id or caller.name
    shown = await _shown(call, caller, opened.cookie)
    return Answer(
        shown | {"ends_at": show_instant(opened.login.ends_at)},
        headers=(cookie_header(opened.cookie, call.headers),),
    )


async def _opened(call: Call) -> Opened:
    body: LoginBody = call.body
    logins = call.place.logins
    if (body.key is None) == (body.code is None):
        raise Problem("validation_failed", "give a key or a code, one of them")
    if body.code is not None:
        opened = logins.by_code(body.code)
        if opened is None:
            raise _closed("the code was used, or is too old; start again for one")
        return opened
    key = await opened_by(call.place.engine, (body.key or "").strip())
    if key is None:
        raise _closed("this key opens nothing")
    caller = Caller.of(key.id, key.name, key.roles, key.scope)
    if not caller.may(roles(Role.READ)):
        raise Problem("forbidden", "the dashboard takes a key with the role read")
    return await logins.by_key(key)


def _closed(why: str) -> Problem:
    return Problem("unauthorised", why, headers=(("WWW-Authenticate", "Bearer"),))


async def logout(call: Call) -> Answer:
    cookie = _cookie(call)
    if cookie is None:
        return Answer(status=204)
    await call.place.logins.end(cookie)
    return Answer(status=204, headers=(cookie_header(None, call.headers),))


async def me(call: Call) -> Answer:
    return Answer(await _shown(call, call.caller, _cookie(call)))


def _cookie(call: Call) -> str | None:
    return cookie_of(call.headers) if call.caller.via in BY_COOKIE else None


async def _shown(call: Call, caller: Caller, cookie: str | None) -> dict[str, Any]:
    scope = caller.scope
    return {
        "key_id": caller.key_id or None,
        "name": caller.name,
        "via": caller.via.value,
        "roles": sorted(role.value for role in caller.roles),
        "tenant": scope.tenant,
        "queues": None if scope.queues is None else list(scope.queues),
        "payloads": scope.payloads,
        "csrf": None if cookie is None else await call.place.logins.csrf(cookie),
        "server_time": show_instant(call.place.clock.now()),
    }


ROUTES = (
    Route(
        method="POST",
        path="/v1/login",
        name="login_create",
        summary=f"Log in to the dashboard with a key; without a call for {IDLE // 3_600_000_000} "
        "hours it ends.",
        run=login,
        roles=None,
        tag="access",
        takes=LoginBody,
        answers=LoggedIn,
        codes=((401, "unauthorised"), (403, "csrf"), (429, "rate_limited")),
        audit="login.create",
        headers=("Set-Cookie",),
        example={"key": "rota_…"},
    ),
    Route(
        method="POST",
        path="/v1/logout",
        name="login_end",
        summary="Log out.",
        run=logout,
        roles=ANY,
        tag="access",
        status=204,
        audit="login.end",
    ),
    Route(
        method="GET",
        path="/v1/me",
        name="me_get",
        summary="Return who is calling and what they may do.",
        run=me,
        roles=ANY,
        tag="access",
        answers=Me,
    ),
)

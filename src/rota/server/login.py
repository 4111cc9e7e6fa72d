"""Log-ins of the dashboard: a key is shown once, and a cookie stands for it afterwards (B172, S7).

The cookie is random and the store has only its SHA-256. It is over when its key is, after 12 hours
without a call, and after 7 days at the latest. A stranger's page cannot use it: the cookie goes
along only with calls from this server's own pages, and what changes anything needs a word besides
that such a page is told at `GET /v1/me`.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from rota import key_text
from rota.access import EVERYTHING, Key, Login, Role, Via
from rota.clock import Micros, entropy
from rota.config import DAY, HOUR
from rota.engine import Engine
from rota.server.caller import Caller
from rota.server.hosts import host_of, is_loopback, same_origin
from rota.server.problems import Problem
from rota.server.rates import Bounds, Buckets

IDLE: Final = 12 * HOUR
LONGEST: Final = 7 * DAY
CODE_SECONDS: Final = 60.0
COOKIE: Final = "__Host-rota"
LOOPBACK_COOKIE: Final = "rota"
"""The name on a plain connection of this machine to itself, where a secure cookie is not sent."""
CSRF: Final = "rota-csrf"
SECRET: Final = "login"  # noqa: S105 - the name of the secret, not the secret
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
PAGE_HEADERS: Final = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
)
"""What goes along with every HTML answer: no script but this server's own, no frame (S6, S7)."""


class Opened(Struct, frozen=True):
    """A log-in that was just made, and what its cookie says."""

    login: Login
    cookie: str


async def opened_by(engine: Engine, text: str) -> Key | None:
    """Return the key whose whole text this is; None if it is none, or opens nothing (S12)."""
    written = key_text.read(text)
    key = None if written is None else await engine.find_key(written.id)
    if key is None or written is None:
        return None
    fits = hmac.compare_digest(key.secret_hash, written.secret_hash)
    return key if fits and key.live(engine.clock.now()) else None


class Logins:
    """Makes, finds and ends log-ins; those by a one-time code are known to this process alone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._codes: dict[bytes, float] = {}
        self._coded: dict[bytes, Login] = {}
        self._secret: bytes | None = None
        self.tries = Buckets(Bounds().logins, engine.clock)
        self.on_end: list[Callable[[str], object]] = []

    def code(self) -> str:
        """Return a code for one log-in with every right, good for 60 s: for `rota dev`.

        Whoever runs the server may hand it on; behind the `#` of an address it reaches no log.
        """
        code = entropy(32).hex()
        self._codes[_hash(code)] = self._engine.clock.monotonic() + CODE_SECONDS
        return code

    async def by_key(self, key: Key) -> Opened:
        """Log in with a key that was shown."""
        now = self._engine.clock.now()
        ends_at = min(now + LONGEST, key.expires_at or now + LONGEST)
        opened = _opened(key.id, now, ends_at)
        await self._engine.add_login(opened.login)
        return opened

    def by_code(self, code: str) -> Opened | None:
        """Log in with a one-time code; None if it is none, was used, or is too old."""
        until = self._codes.pop(_hash(code), None)
        if until is None or until < self._engine.clock.monotonic():
            return None
        now = self._engine.clock.now()
        opened = _opened("", now, now + LONGEST)
        self._coded[opened.login.id_hash] = opened.login
        return opened

    async def find(self, cookie: str) -> tuple[Login, Caller] | None:
        """Return the log-in that a cookie stands for and who it is; None if it is over."""
        id_hash = _hash(cookie)
        now = self._engine.clock.now()
        coded = self._coded.get(id_hash)
        if coded is not None:
            return (coded, _BY_CODE) if now < coded.ends_at else None
        login = await self._engine.find_login(id_hash)
        if login is None or now >= login.ends_at or now - login.seen_at >= IDLE:
            return None
        key = await self._engine.find_key(login.key_id)
        if key is None or not key.live(now):
            return None
        return login, Caller.of(key.id, key.name, key.roles, key.scope, Via.SESSION)

    async def end(self, cookie: str) -> None:
        """Log out."""
        for told in self.on_end:
            told(cookie)
        id_hash = _hash(cookie)
        if self._coded.pop(id_hash, None) is None:
            await self._engine.drop_login(id_hash)

    async def csrf(self, cookie: str) -> str:
        """Return the word that goes along with every change made with this cookie."""
        if self._secret is None:
            self._secret = await self._engine.secret(SECRET)
        return hmac.new(self._secret, _hash(cookie), hashlib.sha256).hexdigest()

    async def check(self, cookie: str, headers: Mapping[str, str], method: str) -> None:
        """Refuse what a stranger's page could have sent: `Problem` 403."""
        if method in SAFE:
            if headers.get("sec-fetch-site") == "cross-site":
                raise _forged("it was sent from the page of another site")
            return
        check_own_page(headers)
        if not hmac.compare_digest(
            headers.get(CSRF, "").encode(), (await self.csrf(cookie)).encode()
        ):
            raise _forged("send the header Rota-CSRF with what GET /v1/me tells")


_BY_CODE = Caller.of("", "one-time code", (Role.ADMIN,), EVERYTHING, Via.CODE)


def check_own_page(headers: Mapping[str, str]) -> None:
    """Refuse what does not come from a page of this server as JSON: `Problem` 403 (B172)."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _forged("send it as application/json, which no form of another site can")
    if not same_origin(headers):
        raise _forged("it was not sent from a page of this server")


def cookie_of(headers: Mapping[str, str]) -> str | None:
    """Return what the cookie of a log-in says, if there is one."""
    found: dict[str, str] = {}
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        found.setdefault(name, value)
    if COOKIE in found:
        return found[COOKIE]
    # The plain one could be set by anybody on the way, unless there is no way.
    if LOOPBACK_COOKIE in found and is_loopback(host_of(headers.get("host", ""))):
        return found[LOOPBACK_COOKIE]
    return None


def cookie_header(value: str | None, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the header that sets the cookie, or takes it away if there is no value.

    `Problem` 403 where it would cross a network in the clear.
    """
    common = f"HttpOnly; SameSite=Strict; Path=/; Max-Age={LONGEST // 1_000_000 if value else 0}"
    if headers.get("origin", "").startswith("https://"):
        return ("Set-Cookie", f"{COOKIE}={value or ''}; Secure; {common}")
    if not is_loopback(host_of(headers.get("host", ""))):
        raise Problem("forbidden", "log in over https, or on the machine of the server itself")
    return ("Set-Cookie", f"{LOOPBACK_COOKIE}={value or ''}; {common}")


def _opened(key_id: str, now: Micros, ends_at: Micros) -> Opened:
    cookie = entropy(32).hex()
    login = Login(
        id_hash=_hash(cookie), key_id=key_id, created_at=now, seen_at=now, ends_at=ends_at
    )
    return Opened(login, cookie)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _forged(why: str) -> Problem:
    return Problem("csrf", why)

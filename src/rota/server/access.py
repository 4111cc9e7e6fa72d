"""Who may come in: keys and log-ins are checked here, for every route alike (R8.5, S1, S12).

Closed by default: without a valid key nothing is told, not even which addresses there are. A key
that is known costs a hash and a look into memory; the store is asked about it every few seconds,
so that a revocation is felt everywhere within 5 s.
"""

import hashlib
import logging
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

from msgspec import structs

from rota.config import MINUTE
from rota.errors import RotaError
from rota.model import Micros
from rota.server.caller import NOBODY, Caller
from rota.server.hosts import Hosts
from rota.server.journal import Journal
from rota.server.login import SAFE, cookie_of, opened_by
from rota.server.place import Place
from rota.server.problems import Problem
from rota.server.rates import POLICY, Bounds, Bucket, Buckets, Headers
from rota.server.route import Answer, Call, Route

log = logging.getLogger("rota.server")

FRESH_SECONDS: Final = 4.0
"""What is known of a key is believed for so long; with the look-up it stays under 5 s."""
ASKING_SECONDS: Final = 0.5
"""While one call asks for a key anew, the others believe in it for so much longer."""
KNOWN_MOST: Final = 10_000
FLUSH_SECONDS: Final = 15.0
UNAUTHORISED: Final = "give a valid key: Authorization: Bearer rota_…"
"""The same for a key that is missing, malformed, unknown, expired or revoked."""


class _Known:
    """Somebody who came in before, until when that is believed, and when they came last."""

    __slots__ = ("asking", "bucket", "caller", "checked_at", "expires_at", "id_hash", "used")

    def __init__(self, caller: Caller, bucket: Bucket) -> None:
        self.caller = caller
        self.bucket = bucket
        self.checked_at = 0.0
        self.expires_at: Micros | None = None
        self.id_hash: bytes | None = None
        self.used = 0
        self.asking = False


class KeyAccess:
    """Implements `rota.server.front.Access` with the keys in the store.

    `hosts` are the names of this server beside loopback and plain addresses, `proxies` those whose
    word on where a call comes from is believed.
    """

    def __init__(
        self,
        place: Place,
        *,
        hosts: Iterable[str] = (),
        proxies: Iterable[str] = (),
        bounds: Bounds | None = None,
    ) -> None:
        bounds = bounds or Bounds()
        self._engine = place.engine
        self._clock = place.clock
        self._logins = place.logins
        self._hosts = place.hosts = Hosts(hosts, proxies)
        self._calls = Buckets(bounds.calls, self._clock)
        self._strangers = Buckets(bounds.unknown, self._clock)
        self._logins.tries = Buckets(bounds.logins, self._clock)
        self._logins.on_end.append(self._forget)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._used_keys: dict[str, Micros] = {}
        self._used_logins: dict[bytes, Micros] = {}
        self._journal = Journal(place.engine, place.ids)
        place.background.append(self.keep)

    async def admit(
        self, route: Route | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        if route is not None and route.roles is None:
            if method not in SAFE:
                self._hosts.check(headers)
            return NOBODY
        self._hosts.check(headers)
        shown = headers.get("authorization")
        if shown is not None:
            known = await self._by_key(shown, headers, address)
        else:
            known = await self._by_cookie(headers, address, method)
        self._used(known)
        if route is None or not route.name.endswith("heartbeat"):
            wait = known.bucket.take(self._clock.monotonic())
            if wait:
                raise too_many("this key calls too often", wait, known.bucket.headers(POLICY, wait))
        return known.caller

    async def enter(self, call: Call) -> None:
        await self._journal.begin(call, self._hosts.caller(call.headers, call.address))

    async def leave(self, call: Call, answer: Answer | None, error: Exception | None) -> None:
        address = self._hosts.caller(call.headers, call.address)
        if call.route.summed:
            self._journal.add(call, address, error)
        else:
            await self._journal.write(call, address, answer, error)

    def deny(self, route: Route, caller: Caller, headers: dict[str, str], address: str) -> None:
        self._journal.deny(route, caller, self._hosts.caller(headers, address))

    async def keep(self) -> None:
        """Write what gathers in memory every few seconds, and all of it at the end."""
        try:
            while True:
                await self._clock.sleep(FLUSH_SECONDS)
                await self.flush()
        finally:
            await self.flush(all_=True)

    async def flush(self, *, all_: bool = False) -> None:
        """Write when keys were used, and the audit record up to the minute, or `all_` of it."""
        keys, self._used_keys = self._used_keys, {}
        logins, self._used_logins = self._used_logins, {}
        try:
            if keys or logins:
                await self._engine.touch_used(keys, logins)
        except RotaError as error:
            self._used_keys = keys | self._used_keys
            self._used_logins = logins | self._used_logins
            log.warning("when keys were used is written down later: %s", error)
        await self._journal.flush(all_=all_)

    # -- who it is ------------------------------------------------------------------------------

    async def _by_key(self, shown: str, headers: Mapping[str, str], address: str) -> _Known:
        digest = hashlib.sha256(shown.encode("latin-1", "replace")).digest()
        known = self._fresh(digest)
        if known is not None:
            return known
        began = self._clock.monotonic()
        with _Stranger(self, digest, headers, address):
            scheme, _, text = shown.partition(" ")
            key = (
                await opened_by(self._engine, text.strip()) if scheme.lower() == "bearer" else None
            )
            if key is None:
                raise unauthorised()
        caller = Caller.of(key.id, key.name, key.roles, key.scope)
        return self._remember(digest, caller, began, key.expires_at)

    async def _by_cookie(self, headers: Mapping[str, str], address: str, method: str) -> _Known:
        cookie = cookie_of(headers)
        if cookie is None:
            raise unauthorised()
        digest = hashlib.sha256(b"cookie " + cookie.encode("latin-1", "replace")).digest()
        known = self._fresh(digest)
        if known is None:
            began = self._clock.monotonic()
            with _Stranger(self, digest, headers, address):
                found = await self._logins.find(cookie)
                if found is None:
                    raise unauthorised()
            login, caller = found
            known = self._remember(digest, caller, began, login.ends_at)
            known.id_hash = login.id_hash
        await self._logins.check(cookie, headers, method)
        return known

    def _forget(self, cookie: str) -> None:
        # What has just ended opens nothing more here; elsewhere that takes a few seconds.
        digest = hashlib.sha256(b"cookie " + cookie.encode("latin-1", "replace")).digest()
        self.drop(digest)

    def _fresh(self, digest: bytes) -> _Known | None:
        known = self._known.get(digest)
        if known is None:
            return None
        age = self._clock.monotonic() - known.checked_at
        if age >= FRESH_SECONDS and (not known.asking or age >= FRESH_SECONDS + ASKING_SECONDS):
            known.asking = True  # the others need not ask as well
            return None
        over = known.expires_at is not None and self._clock.now() >= known.expires_at
        return None if over else known

    def _remember(
        self, digest: bytes, caller: Caller, began: float, expires_at: Micros | None
    ) -> _Known:
        known = self._known.get(digest)
        if known is None:
            if len(self._known) >= KNOWN_MOST:
                self._known.popitem(last=False)
            known = self._known[digest] = _Known(caller, self._calls.of(caller.key_id))
        else:
            self._known.move_to_end(digest)
        known.caller = structs.replace(caller, bucket=known.bucket)
        known.checked_at, known.expires_at, known.asking = began, expires_at, False
        return known

    def _used(self, known: _Known) -> None:
        minute = self._clock.now() // MINUTE
        if minute == known.used:
            return
        known.used = minute
        if known.caller.key_id:
            self._used_keys[known.caller.key_id] = minute * MINUTE
        if known.id_hash is not None:
            self._used_logins[known.id_hash] = minute * MINUTE

    def knows(self, digest: bytes) -> bool:
        """Say whether what hashes so has opened something before."""
        return digest in self._known

    def drop(self, digest: bytes) -> None:
        """Forget what hashes so: it opens nothing any more."""
        self._known.pop(digest, None)

    # -- strangers ------------------------------------------------------------------------------

    def stranger(self, headers: Mapping[str, str], address: str) -> Bucket:
        """Return what is left to an address of keys that are not known; `Problem` 429."""
        bucket = self._strangers.of(self._hosts.caller(headers, address))
        wait = bucket.take(self._clock.monotonic())
        if wait:
            raise too_many("too many keys that open nothing came from this address", wait)
        return bucket


class _Stranger:
    """Counts a key that was not known here against its address, until it turns out to be good.

    It counts against nobody if the store is away and cannot tell.
    """

    def __init__(
        self, access: KeyAccess, digest: bytes, headers: Mapping[str, str], address: str
    ) -> None:
        self._access = access
        self._digest = digest
        came_before = access.knows(digest)
        self._bucket = None if came_before else access.stranger(headers, address)

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bucket is not None and not isinstance(error, Problem):
            self._bucket.give_back()
        if isinstance(error, Problem):
            self._access.drop(self._digest)


def unauthorised() -> Problem:
    """Return the one answer to whoever shows no key that opens anything."""
    return Problem("unauthorised", UNAUTHORISED, headers=(("WWW-Authenticate", "Bearer"),))


def too_many(what: str, wait: float, more: Headers = ()) -> Problem:
    """Return the answer to whoever calls too often, with `more` headers."""
    seconds = max(1, math.ceil(wait))
    return Problem(
        "rate_limited",
        f"{what}; come back in {seconds} s",
        headers=(("Retry-After", str(seconds)), *more),
        retry_after_s=round(wait, 3),
    )

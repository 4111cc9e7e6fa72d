"""A server that is closed as it is in life: with keys, cookies and the audit record."""

from collections.abc import Iterable
from typing import Any

import pytest

from rota.access import EVERYTHING, AuditEntry, AuditFilter, Role
from rota.app import Rota
from rota.clock import new_rng
from rota.engine import Engine
from rota.keys import NewKey
from rota.server.access import KeyAccess
from rota.server.front import Front
from rota.server.place import Place
from rota.server.rates import Bounds, Rate
from rota.server.route import Route
from rota.server.routes import table
from rota.server.table import Table
from tests.support.asking import Asker, Told

NEVER_TOO_OFTEN = Bounds(calls=Rate(1e9, 1e9), unknown=Rate(1e9, 1e9), logins=Rate(1e9, 1e9))
"""For tests whose clock stands still while they ask a thousand times."""
ON_SQLITE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
"""For what does not depend on the store: the rest of the suite tries that on both."""
PAGE = {"origin": "http://localhost:8300", "host": "localhost:8300"}
"""What a browser sends along from one of the server's own pages."""


class Door:
    """A server with its access, and the keys that a test makes for it."""

    def __init__(
        self,
        app: Rota,
        engine: Engine,
        routes: Iterable[Route] | None = None,
        **options: Any,
    ) -> None:
        self.engine = engine
        self.place = Place(app, engine, rng=new_rng(3))
        self.access = KeyAccess(self.place, **options)
        self.table = Table(table() if routes is None else routes)
        self.front = Front(self.place, self.table, self.access)

    async def make(self, *roles: Role, name: str = "a-key", **scope: Any) -> NewKey:
        """Make a key."""
        return await self.place.faces(EVERYTHING).keys.acreate(name, roles, **scope)

    async def asker(self, *roles: Role, **scope: Any) -> Asker:
        """Make a key and return who asks with it."""
        return self.using((await self.make(*roles, **scope)).text)

    def using(self, key: str | None) -> Asker:
        """Return who asks with this key."""
        return Asker(self.front, key)

    async def logged_in(self, key: str) -> dict[str, str]:
        """Log in and return the headers of a page of this server that is logged in."""
        told = await self.log_in({"key": key})
        assert told.status == 200, told.body
        cookie = told.headers["set-cookie"].partition(";")[0]
        return PAGE | {"cookie": cookie, "rota-csrf": told.json["csrf"]}

    async def log_in(self, body: dict[str, str], **headers: str) -> Told:
        """Try to log in."""
        return await self.using(None).ask("POST", "/v1/login", body, headers=PAGE | headers)

    async def audit(self) -> list[AuditEntry]:
        """Return the audit record, the oldest first."""
        await self.access.flush(all_=True)
        return (await self.engine.audit(AuditFilter(), before_id=None, limit=500))[::-1]

"""What the store keeps of workers that come through a server: see `rota.store.remote`."""

from functools import partial
from typing import Any

import apsw

from rota.model import Beat, Micros
from rota.remote import Standing
from rota.store.sqlfiles import blocks
from rota.store.sqlite.cancel import asked
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")


class RemoteVerbs(Verbs):
    """The verbs of `rota.store.remote`."""

    async def standing(self, session_id: str) -> Standing | None:
        return await self._read.do(partial(_standing, session_id=session_id))

    async def begin_claim(self, session_id: str, number: int, now: Micros) -> bool:
        given = {"session": session_id, "number": number, "now": now}
        return await self._write.do(partial(_any, block="begin_claim", given=given))

    async def end_claim(self, session_id: str, number: int) -> None:
        given = {"session": session_id, "number": number}
        await self._write.do(partial(_any, block="end_claim", given=given))

    async def renew(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        lease = {"session": session_id, "now": now, "lease_until": lease_until}
        return await self._write.do(partial(renew, lease=lease))

    async def drain_session(self, session_id: str, now: Micros) -> bool:
        given = {"session": session_id, "now": now}
        return await self._write.do(partial(_any, block="drain_session", given=given))


def renew(connection: apsw.Connection, lease: dict[str, object]) -> Beat:
    """Renew a session's lease and say what it is asked to do."""
    renewed = connection.execute(_SQL["renew_session"], lease).fetchall()
    if not renewed:
        return Beat(alive=False)
    ((anything, drain),) = renewed
    return Beat(True, asked(connection, str(lease["session"])) if anything else (), bool(drain))


def goes_on(connection: apsw.Connection, session_id: str, number: int) -> bool:
    """Say whether this is the newest claim of its session, and still goes on."""
    given = {"session": session_id, "number": number}
    return bool(connection.execute(_SQL["goes_on"], given).get)


def _standing(connection: apsw.Connection, session_id: str) -> Standing | None:
    found = connection.execute(_SQL["standing"], {"session": session_id}).fetchall()
    if not found:
        return None
    row: Any = found[0]
    return Standing(row[0], row[1], row[2], bool(row[3]), row[4], row[5], row[6])


def _any(connection: apsw.Connection, block: str, given: dict[str, object]) -> bool:
    return bool(connection.execute(_SQL[block], given).fetchall())

"""What the store keeps of workers that come through a server: see `rota.store.remote`."""

from rota.clock import parse_id
from rota.model import Beat, Micros
from rota.remote import Standing
from rota.store.postgres.cancel import asked
from rota.store.postgres.connections import Role
from rota.store.postgres.statements import Connection, fetch
from rota.store.postgres.verbs import Verbs


class RemoteVerbs(Verbs):
    """The verbs of `rota.store.remote`."""

    async def standing(self, session_id: str) -> Standing | None:
        if parse_id(session_id) != session_id:
            return None
        found = await self._fetch(Role.CLAIM, "standing", session=session_id)
        return Standing(*found[0]) if found else None

    async def begin_claim(self, session_id: str, number: int, now: Micros) -> bool:
        given = {"session": session_id, "number": number, "now": now}
        return bool(await self._fetch(Role.CLAIM, "begin_claim", **given))

    async def end_claim(self, session_id: str, number: int) -> None:
        await self._execute(Role.CALL, "end_claim", session=session_id, number=number)

    async def renew(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        if parse_id(session_id) != session_id:
            return Beat(alive=False)
        return await self._do(Role.DUTY, renew, session_id, now, lease_until)

    async def drain_session(self, session_id: str, now: Micros) -> bool:
        if parse_id(session_id) != session_id:
            return False
        return bool(await self._fetch(Role.CALL, "drain_session", session=session_id, now=now))


async def renew(connection: Connection, session_id: str, now: Micros, lease_until: Micros) -> Beat:
    """Renew a session's lease and say what it is asked to do."""
    values = {"session": session_id, "now": now, "lease_until": lease_until}
    renewed = await fetch(connection, "renew_session", **values)
    if not renewed:
        return Beat(alive=False)
    ((anything, drain),) = renewed
    return Beat(True, await asked(connection, session_id) if anything else (), drain)

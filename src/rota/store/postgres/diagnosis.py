"""How the server and the work in it are doing: see `rota.store.diagnosis`."""

import msgspec

from rota.config import LEASE
from rota.diagnosis import (
    DeadLetters,
    Held,
    Late,
    Overrun,
    Prepared,
    ReplicationSlot,
    Server,
    StoreFacts,
    TableUse,
    Transaction,
    Waiting,
)
from rota.model import Micros
from rota.store.diagnosis import CAP, FEW, LATE, OPEN_LONG, QUEUES_MOST, RECENT, SAMPLE
from rota.store.postgres import sharing
from rota.store.postgres.connections import Role
from rota.store.postgres.statements import Connection, fetch, fetch_value
from rota.store.postgres.verbs import Verbs


class DiagnosisVerbs(Verbs):
    """The verbs of `rota.store.diagnosis`."""

    async def diagnose(self, now: Micros) -> StoreFacts:
        queues = await self._do(Role.CLAIM, sharing.queues_with_work, QUEUES_MOST)
        return await self._do(Role.CALL, _facts, queues, now)


async def _facts(connection: Connection, queues: list[str], now: Micros) -> StoreFacts:
    waiting = await fetch(connection, "waiting_kinds", queues=queues, cap=SAMPLE)
    held = await fetch(connection, "held_counts", cap=CAP)
    overrun = await fetch(connection, "overrunning", before=now - LEASE, limit=FEW)
    late = await fetch(connection, "late_schedules", before=now - LATE, limit=FEW)
    open_ = await fetch(connection, "open_dead_letters", limit=CAP)
    recent = await fetch_value(connection, "recent_dead_letters", since=now - RECENT, limit=CAP)
    return StoreFacts(
        waiting=tuple(Waiting(*row) for row in waiting),
        held=tuple(Held(*row) for row in held),
        overrun=tuple(Overrun(*row) for row in overrun),
        late=tuple(Late(*row) for row in late),
        dead_letters=DeadLetters(open=sum(number for _, number in open_), recent=recent),
        server=await _server(connection),
    )


async def _server(connection: Connection) -> Server:
    (facts,) = await fetch(connection, "server_facts")
    version, shown, settings, connections, most = facts
    transactions = await fetch(connection, "open_transactions", least=OPEN_LONG, limit=FEW)
    prepared = await fetch(connection, "prepared_transactions", limit=FEW)
    slots = await fetch(connection, "replication_slots", limit=FEW)
    tables = await fetch(connection, "table_use")
    return Server(
        version=version,
        shown=shown,
        settings=msgspec.json.decode(settings or "{}", type=dict[str, str]),
        connections=connections,
        connections_most=most,
        transactions=tuple(Transaction(*row) for row in transactions),
        prepared=tuple(Prepared(*row) for row in prepared),
        slots=tuple(ReplicationSlot(*row) for row in slots),
        tables=tuple(TableUse(*row) for row in tables),
    )

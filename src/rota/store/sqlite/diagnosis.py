"""How the file and the work in it are doing: see `rota.store.diagnosis`."""

import shutil
import stat
from functools import partial
from pathlib import Path

import apsw

from rota.config import LEASE
from rota.diagnosis import DeadLetters, File, Held, Late, Overrun, StoreFacts, Waiting
from rota.model import Micros
from rota.store.diagnosis import CAP, FEW, LATE, QUEUES_MOST, RECENT, SAMPLE
from rota.store.sqlfiles import blocks
from rota.store.sqlite import sharing
from rota.store.sqlite.verbs import Verbs

_SQL = blocks("sqlite")


class DiagnosisVerbs(Verbs):
    """The verbs of `rota.store.diagnosis`."""

    async def diagnose(self, now: Micros) -> StoreFacts:
        return await self._read.do(partial(_facts, path=self.path, now=now))


def _facts(connection: apsw.Connection, path: Path, now: Micros) -> StoreFacts:
    queues = sharing.queues_with_work(connection, QUEUES_MOST)
    waiting = [
        Waiting(*row)
        for queue in queues
        for row in connection.execute(_SQL["waiting_kinds"], {"queue": queue, "cap": SAMPLE})
    ]
    held = connection.execute(_SQL["held_counts"], {"cap": CAP})
    overrun = connection.execute(_SQL["overrunning"], {"before": now - LEASE, "limit": FEW})
    late = connection.execute(_SQL["late_schedules"], {"before": now - LATE, "limit": FEW})
    open_ = connection.execute(_SQL["open_dead_letters"], {"limit": CAP})
    recent = {"since": now - RECENT, "limit": CAP}
    return StoreFacts(
        waiting=tuple(waiting),
        held=tuple(Held(*row) for row in held),
        overrun=tuple(Overrun(*row) for row in overrun),
        late=tuple(Late(*row) for row in late),
        dead_letters=DeadLetters(
            open=sum(number for _, number in open_),
            recent=int(connection.execute(_SQL["recent_dead_letters"], recent).get),
        ),
        file=_file(connection, path),
    )


def _file(connection: apsw.Connection, path: Path) -> File:
    there = path.stat()
    log = path.with_name(f"{path.name}-wal")
    return File(
        path=str(path),
        version=apsw.sqlite_lib_version(),
        journal=str(connection.pragma("journal_mode")),
        bytes=there.st_size,
        log_bytes=log.stat().st_size if log.exists() else 0,
        free_bytes=shutil.disk_usage(path.parent).free,
        mode=stat.S_IMODE(there.st_mode),
    )

"""What the provider recorded, held against what it should have been asked for."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import apsw
from msgspec import Struct

from rota.clock import Micros
from rota.demo.provider import open_provider
from rota.demo.tasks import PASSWORD, REMINDER, RESULT

WANTED = "insert into wanted (kind, recipient) values (?, ?)"

COUNTED = """
create temp table wanted (kind text, recipient text, primary key (kind, recipient)) without rowid;
create temp table counted as
select kind, recipient, count(*) as messages, max(sent_at) as sent_at
from message
group by kind, recipient;
create unique index temp.counted_by_recipient on counted (kind, recipient);
"""

LOST = """
select recipient from wanted
where not exists (
    select 1 from counted
    where counted.kind = wanted.kind and counted.recipient = wanted.recipient
)
"""

TWICE = "select recipient, messages - 1 from counted where messages > 1"

STRANGERS = """
select recipient from counted
where not exists (
    select 1 from wanted
    where wanted.kind = counted.kind and wanted.recipient = counted.recipient
)
"""

REPEATING = "select distinct task from absorbed"

WAITS = "select recipient, sent_at from counted where kind = ?"


class Asked(Struct, frozen=True):
    """Who should get a message: the students of the file, and the others with when Rota was asked.

    The roll numbers are read once, one at a time.
    """

    students: Iterable[str]
    reminders: Mapping[str, Micros]
    passwords: Mapping[str, Micros]


class Audit(Struct, frozen=True):
    """What became of the messages; waits in microseconds, shortest first.

    `lost` were asked for and never sent, `twice` is how many were sent beyond the first to the
    same recipient, `strangers` were sent and never asked for; each has an example. `absorbed`
    found their key taken: those that `repeating` tasks sent once more.
    """

    sent: int
    lost: int
    twice: int
    strangers: int
    absorbed: int
    repeating: frozenset[str]
    examples: Mapping[str, str]
    reminder_waits: tuple[Micros, ...]
    password_waits: tuple[Micros, ...]


def audit(provider: Path, asked: Asked) -> Audit:
    """Count what the provider recorded against what was asked for, student by student."""
    connection = open_provider(provider)
    try:
        return _audit(connection, asked)
    finally:
        connection.close()


def _audit(connection: apsw.Connection, asked: Asked) -> Audit:
    connection.execute(COUNTED)
    with connection:
        for kind, recipients in (
            (RESULT, asked.students),
            (REMINDER, asked.reminders),
            (PASSWORD, asked.passwords),
        ):
            connection.executemany(WANTED, ((kind, recipient) for recipient in recipients))
    lost = [name for (name,) in connection.execute(LOST)]
    twice = dict(connection.execute(TWICE))
    strangers = [name for (name,) in connection.execute(STRANGERS)]
    return Audit(
        sent=_number(connection, "select count(*) from message"),
        lost=len(lost),
        twice=sum(twice.values()),
        strangers=len(strangers),
        absorbed=_number(connection, "select count(*) from absorbed"),
        repeating=frozenset(task for (task,) in connection.execute(REPEATING)),
        examples={
            name: recipients[0]
            for name, recipients in (("lost", lost), ("twice", [*twice]), ("strangers", strangers))
            if recipients
        },
        reminder_waits=_waits(connection, REMINDER, asked.reminders),
        password_waits=_waits(connection, PASSWORD, asked.passwords),
    )


def _number(connection: apsw.Connection, sql: str) -> int:
    for (value,) in connection.execute(sql):
        return int(value)
    return 0


def _waits(
    connection: apsw.Connection, kind: str, asked: Mapping[str, Micros]
) -> tuple[Micros, ...]:
    sent = dict(connection.execute(WAITS, (kind,)))
    return tuple(sorted(sent[name] - at for name, at in asked.items() if name in sent))

"""A crontab against the schedules that were made of it before: what becomes of each line (R6.8)."""

import os
import pwd
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from rota.cli.problems import UsageError
from rota.crontab import Crontab, Entry, has_user_column, names, payload, read
from rota.declared import Declared, check_schedule
from rota.errors import InvalidTask
from rota.reconcile import Change, Step
from rota.registry import Kind
from rota.schedule import Schedule

_BECAME = {Change.CREATE: "created", Change.UPDATE: "updated", Change.LEFT: "left"}
REFUSED = ("refused", "left")


class Line(Struct, frozen=True, kw_only=True):
    """A line of a crontab and what becomes of it: `outcome` is a word, `detail` says why.

    `declared` is what it would be; None if it is refused.
    """

    number: int
    outcome: str = ""
    name: str | None = None
    expression: str | None = None
    tz: str | None = None
    detail: str = ""
    declared: Declared | None = None
    understood: bool = True


class File(Struct, frozen=True):
    """A crontab as it was found."""

    source: str
    text: str
    user_column: bool


def open_crontab(file: str, source: str | None, user_column: bool | None) -> File:
    """Read a crontab, `-` from stdin; `UsageError` if it cannot be read."""
    if file == "-":
        path, place = "-", "-"
        data = sys.stdin.buffer.read()
    else:
        path, place = str(Path(file).absolute()), str(Path(file).resolve())
        try:
            data = Path(file).read_bytes()
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
    text = data.decode(errors="surrogateescape")
    if user_column is None:
        users = {entry.pw_name for entry in pwd.getpwall()}
        user_column = any(has_user_column(one, text, users) for one in (path, place))
    return File(f"crontab:{source or place}", text, user_column)


def lines_of(file: File, kind: Kind, tz: str, options: Mapping[str, Any]) -> list[Line]:
    """Return each line of a crontab that runs something, or that is refused, in its order."""
    crontab = read(file.text, user_column=file.user_column)
    named = zip(crontab.entries, names(file.source, crontab.entries), strict=True)
    found = [_line(entry, name, kind, tz, options) for entry, name in named]
    found += _others(crontab)
    return sorted(found, key=lambda line: line.number)


def gone(lines: Sequence[Line], stored: Sequence[Schedule]) -> list[Schedule]:
    """Return the stored schedules of a crontab that no line of it stands for any more."""
    kept = {line.name for line in lines}
    return [schedule for schedule in stored if schedule.name not in kept]


def wanted(lines: Sequence[Line], keep: Sequence[Schedule]) -> list[Declared]:
    """Return what shall be stored: what the lines say, and what is kept as it is.

    A line that is refused keeps the schedule that was made of it before.
    """
    said = [line.declared for line in lines if line.declared is not None]
    return said + [
        Declared(name=one.name, rule=one.rule, policy=one.policy, work=one.work) for one in keep
    ]


def settled(lines: Sequence[Line], steps: Sequence[Step]) -> list[Line]:
    """Return the lines with what became of each."""
    became = {step.name: step for step in steps}
    return [_settled(line, became.get(line.name or "")) for line in lines]


def _settled(line: Line, step: Step | None) -> Line:
    if line.declared is None:
        return line
    outcome = "unchanged" if step is None else _BECAME[step.change]
    detail = line.detail
    if step is not None and step.change is Change.LEFT:
        detail = str(step).partition(": ")[2]
    return structs.replace(line, outcome=outcome, detail=detail)


def _line(entry: Entry, name: str, kind: Kind, tz: str, options: Mapping[str, Any]) -> Line:
    zone = entry.tz or tz
    line = Line(number=entry.number, name=name, expression=entry.expression, tz=zone)
    given = {"name": name, "expression": entry.expression, "tz": zone, "payload": payload(entry)}
    try:
        declared = check_schedule(kind, {**given, **options})
    except InvalidTask as error:
        return structs.replace(line, outcome="refused", detail=str(error))
    return structs.replace(line, declared=declared, detail=_for_user(entry.user))


def _for_user(user: str | None) -> str:
    if user is None or user == _own_name():
        return ""
    return f"for user {user}: fails in a worker that runs as another"


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container need not know the users that it runs as
        return str(os.geteuid())


def _others(crontab: Crontab) -> list[Line]:
    refused = [
        Line(number=bad.number, outcome="refused", detail=bad.problem, understood=bad.understood)
        for bad in crontab.bad
    ]
    remarks = [
        Line(number=remark.number, outcome="noted", detail=remark.text)
        for remark in crontab.remarks
    ]
    return refused + remarks

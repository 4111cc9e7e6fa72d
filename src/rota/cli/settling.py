"""`rota dead-letters edit | replay | discard | restore`: what is done about what failed."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.cli.bulk import Wording, change_matching, progress, tasks, tell_foreseen
from rota.cli.change import Ids, known_ids
from rota.cli.dead_letters import find_dead_letter
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.people import types
from rota.cli.problems import Exit, UsageError
from rota.cli.which import (
    DEAD_LETTER_FILTERS,
    MANY,
    DeadLetterFilters,
    Many,
    chosen_by,
)
from rota.errors import InvalidTask
from rota.model import Task
from rota.reports import ReplayReport, SettleReport

REPLAYING = Wording[ReplayReport](
    would=lambda foreseen: f"replay {tasks(foreseen.made, 'dead letter')}",
    did=lambda report: (
        f"{tasks(report.made, 'dead letter')} replayed"
        + (f", {report.existing:,} had been" if report.existing else "")
        + (f", {report.skipped:,} skipped" if report.skipped else "")
    ),
)


def _settling(verb: str, done: str) -> Wording[SettleReport]:
    return Wording(
        would=lambda foreseen: f"{verb} {tasks(foreseen.done, 'dead letter')}",
        did=lambda report: (
            f"{tasks(report.done, 'dead letter')} {done}"
            + (f", {report.skipped:,} skipped" if report.skipped else "")
        ),
    )


DISCARDING = _settling("discard", "discarded")
RESTORING = _settling("restore", "restored")


def edit(
    id_: Annotated[
        str, Parameter(name="ID", help="The dead letter's id, or a beginning that only it has.")
    ],
    /,
    *,
    payload: Annotated[
        str | None,
        Parameter(
            help="The new payload; - reads it from stdin. Without, $EDITOR opens the old one.",
            metavar="JSON",
            allow_leading_hyphen=True,
        ),
    ] = None,
    common: Common = COMMON,
) -> None:
    """Change the payload of a dead letter before it is replayed.

    It is checked against the signature of its kind if an app is set. Exit code 5
    if it was replayed or discarded already.

    For instance:

        $ rota dead-letters edit 0193f2a1-7c5e
        $ rota dead-letters edit 0193f2a1-7c5e --payload '{"student_id": 1}'
    """
    output = Output(common)
    with open_app(common, kinds=True, reads=True) as app:
        task = find_dead_letter(app, id_)
        changed = _parsed(_edited(task) if payload is None else _given(payload))
        if changed == task.payload:
            output.hint("The payload is as it was; nothing was changed.")
            return
        app.dead_letters.edit(task.id, changed)
    if common.json:
        output.document({"id": task.id, "payload": changed})
    else:
        output.line(f"{task.id}  changed. Replay: rota dead-letters replay {task.id}")


def replay(
    *ids: Ids,
    where: DeadLetterFilters = DEAD_LETTER_FILTERS,
    rate: Annotated[
        str | None, Parameter(help="At most so many a second: 50.", metavar="N")
    ] = None,
    many: Many = MANY,
    common: Common = COMMON,
) -> int:
    """Make of each dead letter a new task that runs now, once.

    By ids, or by a filter; then it asks first. Started again after it was ended
    halfway it goes on: what was replayed already is not replayed twice. Exit code
    5: nothing to replay among the ids; 7: some.

    For instance:

        $ rota dead-letters replay 0193f2a1-7c5e
        $ rota dead-letters replay --group 9f2c41d07ab3 --rate 50
        $ rota dead-letters replay --queue sms --error ProviderTimeout --dry-run
    """
    pace: dict[str, Any] = {} if rate is None else {"rate": _rate(rate)}
    return _settle("replay", REPLAYING, ids, where, many=many, common=common, **pace)


def discard(
    *ids: Ids,
    reason: Annotated[str, Parameter(help="Why; kept with the dead letter.")],
    where: DeadLetterFilters = DEAD_LETTER_FILTERS,
    many: Many = MANY,
    common: Common = COMMON,
) -> int:
    """Set dead letters aside with a reason; restore undoes it.

    By ids, or by a filter; then it asks first. Discarded ones are kept a week.

    For instance:

        $ rota dead-letters discard 0193f2a1-7c5e --reason "number withdrawn"
        $ rota dead-letters discard --group 9f2c41d07ab3 --reason "exam moved"
    """
    return _settle("discard", DISCARDING, ids, where, many=many, common=common, reason=reason)


def restore(
    *ids: Ids,
    where: DeadLetterFilters = DEAD_LETTER_FILTERS,
    many: Many = MANY,
    common: Common = COMMON,
) -> int:
    """Undo a discard, as long as the dead letters are kept.

    For instance:

        $ rota dead-letters restore 0193f2a1-7c5e
        $ rota dead-letters restore --group 9f2c41d07ab3
    """
    return _settle("restore", RESTORING, ids, where, many=many, common=common)


def _settle(
    name: str,
    wording: Wording[Any],
    ids: Sequence[str],
    where: DeadLetterFilters,
    *,
    many: Many,
    common: Common,
    **options: Any,
) -> int:
    chosen = chosen_by(ids, where, many, f"dead-letters {name}")
    output = Output(common)
    with open_app(common) as app:
        verb = getattr(app.dead_letters, name)
        if chosen is not None:

            def change(**terms: Any) -> Any:
                return verb(**chosen, **options, **terms)

            return change_matching(output, many, change, wording, as_json=common.json)
        known = known_ids(app, ids)
        if many.dry_run:
            foreseen = verb(known, dry_run=True, **options)
            return tell_foreseen(output, foreseen, wording, as_json=common.json)
        report = verb(known, on_progress=progress(output), **options)
    output.end_progress()
    if common.json:
        output.document(msgspec.to_builtins(report))
    else:
        output.line(wording.did(report))
    if not report.skipped:
        return Exit.DONE
    return Exit.PARTLY if report.skipped < report.matched else Exit.CONFLICT


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--rate: {text!r} is no number; give tasks a second") from None


def _given(payload: str) -> str:
    return sys.stdin.read() if payload == "-" else payload


def _parsed(text: str) -> dict[str, Any]:
    try:
        changed = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidTask("payload", f"is not JSON: {error}") from None
    if not isinstance(changed, dict):
        raise InvalidTask("payload", "must be an object with the handler's arguments")
    return changed


def _edited(task: Task) -> str:
    """Let a person change the payload in their editor and return the text."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor or not types():
        raise UsageError("give the new payload with --payload JSON or -, or set EDITOR")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "payload.json"
        file.write_bytes(msgspec.json.format(msgspec.json.encode(task.payload), indent=2))
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"{editor!r} cannot be run ({error}); set EDITOR anew") from None
        if done.returncode:
            raise UsageError(f"{editor} ended with code {done.returncode}; nothing was changed")
        return file.read_text("utf-8")

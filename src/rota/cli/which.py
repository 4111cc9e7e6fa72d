"""Which tasks a command means: the filters on the command line, and asking before many change."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TextIO

from cyclopts import Parameter

from rota.cli.options import whole
from rota.cli.people import can_answer
from rota.cli.problems import UsageError
from rota.filters import check_filter
from rota.model import State


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DeadLetterFilters:
    """Which tasks are wanted; all that are given must match."""

    queue: Annotated[str | None, Parameter(help="Only this queue.")] = None
    kind: Annotated[str | None, Parameter(help="Only this kind.")] = None
    tenant: Annotated[str | None, Parameter(help='Only this tenant; "" for those of none.')] = None
    tag: Annotated[str | None, Parameter(help="Only tasks with this tag.")] = None
    key: Annotated[str | None, Parameter(help="Only tasks with this key.")] = None
    schedule: Annotated[
        str | None,
        Parameter(
            help="Only tasks of the schedule with this id: rota schedules show.", metavar="ID"
        ),
    ] = None
    created_from: Annotated[
        str | None, Parameter(help="Only those made then or later: 2026-11-30T10:00:00Z.")
    ] = None
    created_to: Annotated[str | None, Parameter(help="Only those made before then.")] = None
    error: Annotated[
        str | None, Parameter(help="Only what failed last by this type of error.", metavar="TYPE")
    ] = None
    group: Annotated[str | None, Parameter(help="Only this group: rota dead-letters groups.")] = (
        None
    )

    @property
    def given(self) -> dict[str, Any]:
        """What was typed, by the names of the filters in Python."""
        typed = {name: value for name, value in asdict(self).items() if value not in (None, ())}
        if "error" in typed:
            typed["error_type"] = typed.pop("error")
        check_filter(typed)  # a mistake is told before any store is looked for
        return typed


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Filters(DeadLetterFilters):
    """Which tasks are wanted; all that are given must match."""

    state: Annotated[tuple[State, ...], Parameter(help="Only this state; may be repeated.")] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Many:
    """On what terms tasks that match a filter are changed."""

    all_: Annotated[bool, Parameter(name="--all", help="All there are, without a filter.")] = False
    dry_run: Annotated[
        bool, Parameter(name=["--dry-run", "-n"], help="Change nothing; say what would change.")
    ] = False
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], help="Do not ask.")] = False
    expect_at_most: Annotated[
        int | None,
        Parameter(help="Do not ask; change nothing if more than this match.", converter=whole(0)),
    ] = None


FILTERS = Filters()
DEAD_LETTER_FILTERS = DeadLetterFilters()
MANY = Many()


def chosen_by(
    words: Sequence[str], where: DeadLetterFilters, many: Many, command: str
) -> dict[str, Any] | None:
    """Return the filter that tasks are meant by, or None if they are named by ids.

    Refuses what is neither or both before anything is changed.
    """
    for word in words:
        # The parser passes `-` on only together with all that looks like an option.
        if word.startswith("-") and word != "-":
            raise UsageError(f"unknown option: {word}. See: rota {command} --help")
    filtered = bool(where.given) or many.all_
    if words and filtered:
        raise UsageError(f"ids and filters exclude each other. See: rota {command} --help")
    if where.given and many.all_:
        raise UsageError("--all is for no filter at all; leave one of them out")
    if words:
        if many.expect_at_most is not None:
            raise UsageError("--expect-at-most goes with a filter; ids are all that they are")
        return None
    if not filtered:
        raise UsageError(f"name at least one task, or give a filter. See: rota {command} --help")
    return where.given | ({"all": True} if many.all_ else {})


def confirmed(
    many: Many, question: str, matched: int, *, asks: TextIO | None = None
) -> dict[str, int]:
    """Ask a person whether to change so many tasks; return how many may change at most.

    `UsageError` if there is nobody to ask, or the answer is no.
    """
    if many.expect_at_most is not None:
        return {"expect_at_most": many.expect_at_most}
    if many.yes:
        return {}
    answers, screen = asks or sys.stdin, sys.stderr
    if not can_answer(answers):
        raise UsageError(
            f"{matched:,} tasks match; say --yes, or --expect-at-most {matched} "
            "to change nothing if more do by then"
        )
    screen.write(f"{question} [y/N] ")
    screen.flush()
    if answers.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")
    # What a person saw is what they agreed to.
    return {"expect_at_most": matched}

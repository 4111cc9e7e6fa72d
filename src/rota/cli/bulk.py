"""Tasks changed by a filter: counted first, asked for, carried out, and told in numbers."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from rota.cli.output import Output
from rota.cli.problems import Exit
from rota.cli.which import Many, confirmed


class Counts(Protocol):
    """What a change did, in numbers."""

    @property
    def matched(self) -> int:
        """How many tasks it met."""
        ...


R = TypeVar("R", bound=Counts)

Change = Callable[..., R]
"""Changes what is meant; takes `dry_run`, `expect_at_most` and `on_progress`."""


class Wording(NamedTuple, Generic[R]):
    """How a change is spoken of: what it would do ("cancel 5 tasks"), and what it did."""

    would: Callable[[R], str]
    did: Callable[[R], str]


def change_matching(
    output: Output, many: Many, change: Change[R], wording: Wording[R], *, as_json: bool
) -> int:
    """Carry out a change of all that match, or say what it would do."""
    if many.dry_run:
        return tell_foreseen(output, change(dry_run=True), wording, as_json=as_json)
    terms: dict[str, int] = {}
    if many.yes or many.expect_at_most is not None:
        terms = confirmed(many, "", 0)
    else:
        foreseen = change(dry_run=True)
        if foreseen.matched:
            question = wording.would(foreseen)
            terms = confirmed(many, f"{question[:1].upper()}{question[1:]}?", foreseen.matched)
    report = change(on_progress=progress(output), **terms)
    output.end_progress()
    if as_json:
        output.document(msgspec.to_builtins(report))
    else:
        output.line(wording.did(report))
    return Exit.DONE


def tell_foreseen(output: Output, foreseen: R, wording: Wording[R], *, as_json: bool) -> int:
    """Say what a change would do."""
    if as_json:
        output.document(msgspec.to_builtins(foreseen) | {"dry_run": True})
    else:
        output.line(f"Would {wording.would(foreseen)}.")
    return Exit.DONE


def progress(output: Output) -> Callable[[Any], None]:
    """Return what shows on a terminal how far a change has come."""
    return lambda report: output.progress(report.matched, lambda count: f"{count:,} done")


def tasks(count: int, noun: str = "task") -> str:
    """Return a number of things in words.

    >>> tasks(1), tasks(1200)
    ('1 task', '1,200 tasks')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

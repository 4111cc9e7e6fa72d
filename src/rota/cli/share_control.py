"""Pauses, resumes and resets queues, tenants or kinds by their names, and tells what changed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import Common
from rota.cli.output import Output
from rota.cli.problems import UnknownName, UsageError
from rota.cli.share_text import Pausable, Texts, changes, since
from rota.cli.text import visible
from rota.clock import SystemClock
from rota.registry import did_you_mean
from rota.share_words import shown

New = Annotated[
    bool, Parameter(help="Also if nothing is called so yet, and something else nearly so.")
]
Reason = Annotated[str | None, Parameter(help="Why; shown beside it, and by rota explain.")]
Version = Annotated[
    int | None, Parameter(help="Change nothing if it is not at this version any more.")
]


ANYWAY = " To set it up all the same: --new"


class Face(Protocol):
    """What queues, tenants and kinds have in common."""

    def get(self, name: str) -> Pausable: ...
    def pause(self, name: str, reason: str | None = None) -> Pausable: ...
    def resume(self, name: str) -> Pausable: ...


class Noun(NamedTuple):
    """What is named: how it is called, where its verbs are, and how many wait of what is known.

    Where `slips` are told, whatever is known is in `waiting`.
    """

    name: str
    face: Callable[[Rota], Face]
    waiting: Callable[[Rota], Mapping[str, str]]
    slips: bool = True


def check_known(noun: Noun, names: Sequence[str], known: Collection[str], also: str = "") -> None:
    """Refuse a name that looks like a slip: nothing has it, and something nearly so."""
    for name in names:
        hint = did_you_mean(name, known) if noun.slips and name not in known else ""
        if hint:
            raise UnknownName(noun.name, name, hint + also)


def pause_each(
    noun: Noun, names: Sequence[str], reason: str | None, common: Common, *, new: bool
) -> None:
    """Pause each of them and say how it was before."""
    _check(noun, names, "pause")
    output = Output(common)
    answers = []
    with open_app(common, kinds=True) as app:
        waiting = noun.waiting(app)
        if not new:
            check_known(noun, names, waiting, ANYWAY)
        for name in names:
            before = noun.face(app).get(name)
            noun.face(app).pause(name, reason)
            answers.append((name, "paused", _was(before, waiting.get(name))))
    _tell(output, answers, common)
    if output.terminal and not common.json:
        output.hint(f"Resume: rota {noun.name}s resume {' '.join(map(shown, names))}")


def resume_each(noun: Noun, names: Sequence[str], common: Common) -> None:
    """Resume each of them and say how it was before."""
    _check(noun, names, "resume")
    answers = []
    with open_app(common, kinds=True) as app:
        waiting = noun.waiting(app)
        check_known(noun, names, waiting)
        for name in names:
            before = noun.face(app).get(name)
            noun.face(app).resume(name)
            answers.append((name, "active", _was(before, waiting.get(name))))
    _tell(Output(common), answers, common)


def reset_each(
    noun: Noun, names: Sequence[str], reset: Callable[[Rota, str], None], common: Common
) -> None:
    """Forget the settings of each of them."""
    _check(noun, names, "reset")
    answers = []
    with open_app(common, kinds=True) as app:
        check_known(noun, names, noun.waiting(app))
        for name in names:
            before = noun.face(app).get(name)
            reset(app, name)
            answers.append((name, "reset" if before.version else "as it was", ""))
    _tell(Output(common), answers, common)


def tell_change(
    common: Common, name: str, pair: tuple[Any, Any], texts: Texts, view: Callable[..., Any]
) -> None:
    """Print what a change changed, and the version afterwards; as JSON what it is now as well."""
    output = Output(common)
    before, after = pair
    if common.json:
        old, new = view(before), view(after)
        changed = {key: [old[key], new[key]] for key in texts if old[key] != new[key]}
        output.document(new | {"changed": changed})
        return
    text = changes(before, after, texts) or "as it was"
    if output.terminal:
        output.line(visible(f"{name}  {text} (version {after.version})"))
    else:
        output.fields([name, text, str(after.version)])


def _check(noun: Noun, names: Sequence[str], verb: str) -> None:
    if not names:
        raise UsageError(f"name at least one {noun.name}. See: rota {noun.name}s {verb} --help")


def _was(before: Pausable, waiting: str | None) -> str:
    was = "was active"
    if before.paused_at is not None:
        was = f"was paused {since(before, SystemClock().now())}"
    return was if waiting is None else f"{was}, {waiting} waiting"


def _tell(output: Output, answers: Sequence[tuple[str, str, str]], common: Common) -> None:
    if common.json:
        output.array(
            {"name": name, "outcome": outcome.replace(" ", "_")} for name, outcome, _ in answers
        )
        return
    for name, outcome, was in answers:
        if output.terminal:
            output.line(visible(f"{shown(name)}  {outcome}{f' ({was})' if was else ''}"))
        else:
            output.fields([name, outcome])

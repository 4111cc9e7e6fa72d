"""`rota actions list | show | stop`: changes of many tasks that nodes carry on (R5.3)."""

from typing import Annotated

from cyclopts import Parameter

from rota.action_views import action as view
from rota.actions import Action
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.text import visible
from rota.times import show_instant

HEADINGS = ("ID", "DO", "ON", "STATE", "DONE", "CHANGED", "MATCHED")

Id = Annotated[str, Parameter(name="ID", help="The action's id.")]


def list_(*, common: Common = COMMON) -> None:
    """List changes of many tasks that go on by themselves, newest first.

    They are begun over HTTP and kept for 30 days after their end.

    For instance:

        $ rota actions list
        $ rota actions list --json | jq '.[0].skipped'
    """
    output = Output(common)
    with open_app(common) as app:
        found = app.actions.list()
    if common.json:
        output.array(map(view, found))
    elif not output.terminal:
        for one in found:
            output.fields(_cells(one))
    elif found:
        output.table(HEADINGS, [_cells(one) for one in found])
    else:
        output.hint("There are no actions.")


def show(id_: Id, /, *, common: Common = COMMON) -> None:
    """Show an action and how far it is.

    For instance:

        $ rota actions show 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44
    """
    with open_app(common) as app:
        found = app.actions.get(id_)
    _tell(Output(common), found, common)


def stop(id_: Id, /, *, common: Common = COMMON) -> None:
    """Stop an action after the run that is under way.

    What it has done stays done; an action that is over is left as it is.

    For instance:

        $ rota actions stop 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44
    """
    with open_app(common) as app:
        found = app.actions.stop(id_)
    _tell(Output(common), found, common)


def _tell(output: Output, one: Action, common: Common) -> None:
    if common.json:
        output.document(view(one))
        return
    more = " or more" if one.capped else ""
    output.line(f"{one.id}  {one.do} {one.on}  {one.state}")
    output.line(f"{one.done:,} of {one.matched:,}{more} looked at, {one.changed:,} changed")
    for word, number in one.skipped.items():
        output.line(f"{number:,} left alone: {word.replace('_', ' ')}")
    if one.reason:
        output.line(f"reason: {visible(one.reason)}")
    if one.error:
        output.line(f"error: {visible(one.error)}")
    if one.ended_at is not None:
        output.line(f"ended at {show_instant(one.ended_at)}")


def _cells(one: Action) -> list[str]:
    numbers = (one.done, one.changed, one.matched)
    return [one.id, one.do.value, one.on.value, one.state.value, *map(str, numbers)]

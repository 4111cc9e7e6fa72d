"""`rota explain`: why a task is where it is, and what would change that."""

from typing import Annotated

from cyclopts import Parameter

from rota.cli.ids import find_task
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import STYLES, Output
from rota.cli.text import visible
from rota.explanations import sentences, view


def explain(
    id_: Annotated[
        str, Parameter(name="ID", help="The task's id, or a beginning that only it has.")
    ],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Say why a task waits, runs or is over, with the numbers.

    With --json each reason has a code: not_due, put_off, paused, no_worker,
    at_gate, at_cap, out_of_tokens, in_turn, expired, cancelling, running,
    finished.

    For instance:

        $ rota explain 0193f2a1-7c5e
        $ rota explain 0193f2a1-7c5e --json | jq -r '.reasons[].code'
    """
    output = Output(common)
    with open_app(common, kinds=True, reads=True) as app:
        explained = app.tasks.explain(find_task(app, id_).id)
    if common.json:
        output.document(view(explained))
        return
    task = explained.task
    output.line(f"{task.id}  {output.styled(task.state.value, STYLES[task.state])}")
    for sentence in sentences(explained):
        output.line(visible(sentence))

"""`rota demo`: the arguments of the demonstration."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rota.cli.options import LOOK, Look, length, whole


def demo(
    *,
    store: Annotated[
        str,
        Parameter(
            help="sqlite, postgres (an embedded server), or postgresql://…", show_default=True
        ),
    ] = "sqlite",
    students: Annotated[
        int, Parameter(help="How many messages.", converter=whole(1_000), show_default=True)
    ] = 200_000,
    lease: Annotated[
        str, Parameter(help="After how long a killed worker is missed.", show_default=True)
    ] = "5s",
    keep: Annotated[
        Path | None, Parameter(help="Leave all files in this folder.", metavar="DIR")
    ] = None,
    look: Look = LOOK,
) -> int:
    """Send 200,000 messages, kill a worker meanwhile, and count what arrived.

    A board sends results to all its students, a college reminders and a bank
    passwords, while one of two workers is killed. Exit code 1 if a message was
    lost or recorded twice.

    For instance:

        $ rota demo
        $ rota demo --store postgres --students 50000 --json
    """
    from rota.demo import DemoSettings, run_demo

    return run_demo(
        DemoSettings(
            store=store,
            students=students,
            lease=length(lease, "--lease"),
            json=look.json,
            directory=keep,
        )
    )

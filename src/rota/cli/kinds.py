"""`rota kinds list | pause | resume`: which kinds of task are started at present."""

from typing import Annotated

from cyclopts import Parameter

from rota import share_views
from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.share_control import New, Noun, Reason, pause_each, resume_each
from rota.cli.share_text import since, status
from rota.cli.shares import Held, Paused, tell_held
from rota.clock import SystemClock
from rota.shares import KindSettings

HEADINGS = ("KIND", "STATUS", "PAUSED")

Names = Annotated[str, Parameter(name="NAME", help="Names of kinds.")]


def _known(app: Rota) -> dict[str, str]:
    return {kind.name: "" for kind in app.kinds.list()}


NOUN = Noun("kind", lambda app: app.kinds, _known)


def list_(*, paused: Paused = False, common: Common = COMMON) -> None:
    """List the kinds of task, and which are paused.

    Those of the app that is set, of the live workers, and those that are paused.

    For instance:

        $ rota kinds list
        $ rota kinds list --paused --json
    """
    with open_app(common, kinds=True, reads=True) as app:
        found = app.kinds.list(paused=True if paused else None)
    now = SystemClock().now()
    held = [Held(share_views.kind(one), _cells(one, None), _cells(one, now)) for one in found]
    tell_held(Output(common), HEADINGS, held, "No kind is known.", common)


def pause(*names: Names, reason: Reason = None, new: New = False, common: Common = COMMON) -> None:
    """Let no task of a kind start until it is resumed.

    It holds in every queue, for every claim that begins afterwards. Tasks that
    run go on; what comes meanwhile waits, and lets others pass.

    For instance:

        $ rota kinds pause send_result --reason "wrong text"
    """
    pause_each(NOUN, names, reason, common, new=new)


def resume(*names: Names, common: Common = COMMON) -> None:
    """Let tasks of a kind start again.

    For instance:

        $ rota kinds resume send_result
    """
    resume_each(NOUN, names, common)


def _cells(kind: KindSettings, at: int | None) -> list[str]:
    return [kind.name, status(kind), since(kind, at)]

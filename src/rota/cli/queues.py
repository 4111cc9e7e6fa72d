"""`rota queues`: how queues are shared out, bounded and paused."""

from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from rota import share_views
from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.share_control import (
    ANYWAY,
    New,
    Noun,
    Reason,
    Version,
    check_known,
    pause_each,
    reset_each,
    resume_each,
    tell_change,
)
from rota.cli.share_text import QUEUE, number_or_none, since, status, waiting_text, weights_text
from rota.cli.shares import Held, Paused, show_held, tell_held
from rota.clock import SystemClock
from rota.queues import Queue
from rota.share_options import check_queue
from rota.shares import FairBy, WhenFull

HEADINGS = (
    "QUEUE", "STATUS", "WAITING", "WEIGHTS", "AGING", "FAIR BY", "DEPTH", "WHEN FULL", "PAUSED",
)  # fmt: skip

Name = Annotated[str, Parameter(name="NAME", help="The queue's name.")]
Names = Annotated[str, Parameter(name="NAME", help="Names of queues.")]


def _waiting(app: Rota) -> dict[str, str]:
    return {
        queue.settings.name: waiting_text(queue.waiting, capped=queue.capped)
        for queue in app.queues.list()
    }


NOUN = Noun("queue", lambda app: app.queues, _waiting)


def list_(*, paused: Paused = False, common: Common = COMMON) -> None:
    """List queues: what waits, how it is shared out, and which are paused.

    Those that have settings, a limit, waiting tasks, or a kind of the app that is
    set. Weights are those of the classes critical, high, normal and low.

    For instance:

        $ rota queues list
        $ rota queues list --paused --json
    """
    with open_app(common, kinds=True, reads=True) as app:
        found = app.queues.list(paused=True if paused else None)
    held = [Held(view(queue), cells(queue, None), cells(queue, now())) for queue in found]
    tell_held(Output(common), HEADINGS, held, "There are no queues yet.", common)


def show(name: Name, /, *, common: Common = COMMON) -> None:
    """Show a queue: its settings, what waits, and its limits.

    For instance:

        $ rota queues show sms
        $ rota queues show sms --json | jq .waiting
    """
    with open_app(common, kinds=True, reads=True) as app:
        known = {queue.settings.name: queue for queue in app.queues.list()}
        check_known(NOUN, [name], known)
        queue = known.get(name) or Queue(app.queues.get(name))
        limits = app.limits.list(queue=name)
    facts = dict(_facts(queue))
    show_held(queue.settings, view(queue), facts, limits, common)


def set_(
    name: Name,
    /,
    *,
    weights: Annotated[
        str | None,
        Parameter(help="Parts of critical, high, normal, low when all wait: 50:30:15:5."),
    ] = None,
    aging: Annotated[
        str | None, Parameter(help="How long a wait is worth a level of priority: 10m.")
    ] = None,
    fair_by: Annotated[
        FairBy | None, Parameter(help="What tenants get alike: tasks, or the time of workers.")
    ] = None,
    max_depth: Annotated[
        str | None, Parameter(help="From how many waiting tasks on it is full; or none.")
    ] = None,
    when_full: Annotated[
        WhenFull | None, Parameter(help="What becomes of low work then: refuse or defer.")
    ] = None,
    version: Annotated[Version, Parameter(converter=whole(0))] = None,
    new: New = False,
    common: Common = COMMON,
) -> None:
    """Change how a queue is shared out; what is not given stays.

    It prints what changed. Every worker goes by it from its next look on. A full
    queue turns away class low, at half as much again normal too, at twice high.

    For instance:

        $ rota queues set sms --weights 60:25:10:5
        $ rota queues set sms --max-depth 100000 --when-full defer
        $ rota queues set sms --max-depth none
    """
    given = {"weights": weights, "fair_by": fair_by, "when_full": when_full}
    typed: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if aging is not None:
        typed["aging"] = spoken_duration(aging)
    if max_depth is not None:
        typed["max_depth"] = number_or_none(max_depth, "--max-depth")
    if not typed:
        raise UsageError("say what shall change. See: rota queues set --help")
    check_queue(typed)  # a mistake is told before any store is looked for
    with open_app(common, kinds=True) as app:
        if not new:
            check_known(NOUN, [name], _waiting(app), ANYWAY)
        before = app.queues.get(name)
        after = app.queues.set(name, version=version, **typed)
    tell_change(common, name, (before, after), QUEUE, share_views.queue)


def pause(*names: Names, reason: Reason = None, new: New = False, common: Common = COMMON) -> None:
    """Let no task of a queue start until it is resumed.

    It holds for every claim that begins afterwards, on every worker. Tasks that
    run go on; what comes meanwhile waits.

    For instance:

        $ rota queues pause sms --reason "provider down"
    """
    pause_each(NOUN, names, reason, common, new=new)


def resume(*names: Names, common: Common = COMMON) -> None:
    """Let tasks of a queue start again.

    For instance:

        $ rota queues resume sms
    """
    resume_each(NOUN, names, common)


def reset(*names: Names, common: Common = COMMON) -> None:
    """Forget the settings of queues, back to the defaults.

    A pause is one of them. Tasks and limits are left alone.

    For instance:

        $ rota queues reset sms
    """
    reset_each(NOUN, names, lambda app, name: app.queues.reset(name), common)


def now() -> int:
    """Return the time for people."""
    return SystemClock().now()


def view(queue: Queue) -> dict[str, Any]:
    """Return a queue as JSON, with what waits in it."""
    return share_views.queue(queue.settings) | {
        "waiting": queue.waiting,
        "waiting_capped": queue.capped,
    }


def cells(queue: Queue, at: int | None) -> list[str]:
    """Return a queue as a line of the list."""
    one = queue.settings
    return [
        one.name,
        status(one),
        waiting_text(queue.waiting, capped=queue.capped),
        weights_text(one.weights),
        QUEUE["aging"](one),
        one.fair_by.value,
        "" if one.max_depth is None else str(one.max_depth),
        "" if one.max_depth is None else one.when_full.value,
        since(one, at),
    ]


def _facts(queue: Queue) -> Iterator[tuple[str, str]]:
    one = queue.settings
    yield "waiting", waiting_text(queue.waiting, capped=queue.capped)
    yield "weights", f"{weights_text(one.weights)} (critical, high, normal, low)"
    yield "aging", f"a level of priority for each {QUEUE['aging'](one)} of waiting"
    yield "fair by", one.fair_by.value
    yield (
        "depth",
        QUEUE["max_depth"](one)
        + ("" if one.max_depth is None else f", then {one.when_full.value}"),
    )

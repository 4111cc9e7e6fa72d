"""What queues, tenants, kinds and limits look like: lists of them, and one with its limits."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from rota import share_views
from rota.cli.options import Common
from rota.cli.output import Output
from rota.cli.share_text import Pausable, bounds_text, running_text, since, status, tokens_text
from rota.cli.text import visible
from rota.clock import SystemClock
from rota.share_words import scope, shown
from rota.shares import LimitUse

Paused = Annotated[bool, Parameter(help="Only those that are paused.")]


class Held(NamedTuple):
    """An entry of a list: as JSON, as a line for programs, and as one for people."""

    json: dict[str, Any]
    plain: Sequence[str]
    seen: Sequence[str]


def tell_held(
    output: Output, headings: Sequence[str], held: Sequence[Held], nothing: str, common: Common
) -> None:
    """Print a list: JSON, a table on a terminal, else a line each for programs."""
    if common.json:
        output.array(one.json for one in held)
    elif not output.terminal:
        for one in held:
            output.fields(one.plain)
    elif held:
        output.table(headings, [one.seen for one in held])
    else:
        output.hint(nothing)


def show_held(
    settings: Pausable,
    json: dict[str, Any],
    facts: dict[str, str],
    limits: Sequence[LimitUse],
    common: Common,
) -> None:
    """Print one with its facts and its limits."""
    output = Output(common)
    if common.json:
        output.document(json | {"limits": [share_views.limit_use(use) for use in limits]})
        return
    now = SystemClock().now() if output.terminal else None
    paused = since(settings, now)
    name = output.styled(visible(shown(settings.name)), "bold")
    output.line(f"{name}  {status(settings)}{visible(f' {paused}' if paused else '')}")
    for what, fact in (facts | {"version": str(settings.version)}).items():
        output.line(f"  {what:<9} {visible(fact)}")
    for use in limits:
        output.line(visible(f"  limit     {_limit(use)}"))


def _limit(use: LimitUse) -> str:
    limit = use.limit
    left = "" if use.tokens is None else f", {tokens_text(use)} tokens left"
    return (
        f"{scope(limit.queue, limit.tenant)}: {bounds_text(limit)}; "
        f"{running_text(use)} running{left}"
    )

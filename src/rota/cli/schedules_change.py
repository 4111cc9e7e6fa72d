"""`rota schedules create` and `update`: what a schedule says."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.calls import Calls
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.pairs import is_pair, payload_of, typed
from rota.cli.problems import UsageError
from rota.cli.schedule_clock import clock_there, local, seen, status
from rota.cli.schedule_flags import (
    POLICY_FLAGS,
    RULE_FLAGS,
    WORK_FLAGS,
    PolicyFlags,
    RuleFlags,
    WorkFlags,
)
from rota.cli.text import relative
from rota.clock import SystemClock
from rota.options import check_options
from rota.policy.retry import Backoff
from rota.schedule import Schedule
from rota.times import show_instant

COMMAND = "command"

Words = Annotated[
    str,
    Parameter(
        name="EXPR | K=V",
        help='The expression, in quotes, then arguments: "0 9 * * 1-5" phone=+91 n:=1.',
    ),
]


def create(
    name: Annotated[str, Parameter(name="NAME", help="What the schedule is called.")],
    kind: Annotated[str, Parameter(name="KIND", help="The kind of task: a handler's name.")],
    /,
    *words: Words,
    when: RuleFlags = RULE_FLAGS,
    policy: PolicyFlags = POLICY_FLAGS,
    work: WorkFlags = WORK_FLAGS,
    any_kind: Annotated[
        bool, Parameter(help="Take a kind that neither the app nor a live worker has.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """Make a schedule: a rule, and the task that each of its slots becomes.

    A cron expression, or --every for a fixed interval, and arguments as for rota
    submit. The kind is checked as there. What never runs is refused.

    For instance:

        $ rota schedules create morning send_report "0 9 * * MON-FRI" \\
            --tz Europe/Berlin to=board days:=7
        $ rota schedules create sweep clean_up --every 90s --overlap coalesce
        $ rota schedules create backup command "@daily" shell="backup --all"
    """
    expression, payload = _said(words)
    rule = when.given
    output = Output(common)
    with open_app(common, kinds=True, makes=any_kind) as app:
        options = rule | policy.given | work.given(_retry(app, kind))
        with typed():
            known = _check_kind(app, kind, payload or {}, options, any_kind=any_kind)
            schedule = app.schedules.create(
                kind, expression, any_kind=not known, name=name, payload=payload or {}, **options
            )
    _tell(output, schedule, "created", common)


def update(
    name: Annotated[str, Parameter(name="NAME", help="The schedule's name, or its id.")],
    /,
    *words: Words,
    when: RuleFlags = RULE_FLAGS,
    policy: PolicyFlags = POLICY_FLAGS,
    work: WorkFlags = WORK_FLAGS,
    common: Common = COMMON,
) -> None:
    """Change what a schedule says; what is not given stays.

    Arguments replace the whole payload. A changed rule counts from now on; a
    paused schedule stays paused. What code or a crontab declares is declared
    again from there.

    For instance:

        $ rota schedules update morning "30 8 * * MON-FRI"
        $ rota schedules update morning --tz Europe/Paris --missed skip
    """
    expression, payload = _said(words)
    rule = when.given
    output = Output(common)
    with open_app(common, kinds=True, reads=True) as app:
        before = app.schedules.get(name)
        changes: dict[str, Any] = rule | policy.given | work.given(_retry(app, before.work.kind))
        if expression is not None:
            changes["expression"] = expression
        if payload is not None:
            changes["payload"] = payload
        if not changes:
            raise UsageError("say what shall change. See: rota schedules update --help")
        with typed():
            schedule = app.schedules.update(before.id, **changes)
    changed = schedule.version != before.version
    _tell(output, schedule, "changed" if changed else "as it was", common)


def _said(words: Sequence[str]) -> tuple[str | None, dict[str, Any] | None]:
    """Return the expression and the payload of what was typed, None for what was not."""
    if not words or is_pair(words[0]):
        return None, payload_of(words) if words else None
    return words[0], payload_of(words[1:]) if words[1:] else None


def _retry(app: Rota, kind: str) -> Backoff:
    known = app.registry.get(kind)
    return Backoff() if known is None else known.retry


def _check_kind(
    app: Rota, kind: str, payload: dict[str, Any], options: dict[str, Any], *, any_kind: bool
) -> bool:
    """Say whether the app knows the kind; refuse one that nobody would run."""
    if kind == COMMAND and app.registry.get(kind) is None:
        from rota.contrib.command import add_command

        add_command(app)
    if app.registry.get(kind) is not None:
        return True
    queue = {"queue": options["queue"]} if "queue" in options else {}
    Calls(app, any_kind=any_kind).call(kind, payload, check_options(queue))
    return False


def _tell(output: Output, schedule: Schedule, what: str, common: Common) -> None:
    if common.json:
        output.document(seen(schedule))
        return
    at = schedule.next_at
    if not output.terminal:
        there, utc = ("", "") if at is None else (local(schedule, at), show_instant(at))
        output.fields([schedule.name, what, there, utc])
    elif at is None or schedule.paused_at is not None:
        output.line(f"{schedule.name}  {what}, {status(schedule)}")
    else:
        soon = relative(at, SystemClock().now())
        output.line(f"{schedule.name}  {what}, next {clock_there(schedule, at)}, {soon}")

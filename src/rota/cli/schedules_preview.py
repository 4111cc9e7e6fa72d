"""`rota schedules preview`: when an expression has slots, and why there; needs no store, no app."""

from typing import Annotated, Any

from cyclopts import Parameter

from rota.cli.options import LOOK, Look, spoken_duration, whole
from rota.cli.output import Output
from rota.cli.schedule_flags import RULE_FLAGS, RuleFlags
from rota.cli.schedule_text import next_runs
from rota.clock import SystemClock
from rota.schedule_options import check_jitter, check_policy, check_rule
from rota.schedule_preview import upcoming
from rota.slot_task import calendar_of
from rota.times import moment
from rota.views import occurrence

MOST = 10_000


def preview(
    expression: Annotated[
        str | None, Parameter(name="EXPR", help='A cron expression, in quotes: "0 9 * * MON-FRI".')
    ] = None,
    /,
    *,
    after: Annotated[
        str | None, Parameter(help="From then on, then itself left out: 2026-11-30T10:00:00Z.")
    ] = None,
    count: Annotated[
        int, Parameter(help="How many.", converter=whole(1, MOST), show_default=True)
    ] = 10,
    when: RuleFlags = RULE_FLAGS,
    jitter: Annotated[
        str | None, Parameter(help="What a schedule with this jitter would do: 5m.")
    ] = None,
    look: Look = LOOK,
) -> None:
    """Print when a rule runs next, and the reason for each surprise.

    A cron expression, or --every for a fixed interval; in local time and in UTC.
    It needs no store and no app: what it prints is found by the function that
    fires schedules.

    For instance:

        $ rota schedules preview "0 9 * * MON-FRI" --tz Europe/Berlin
        $ rota schedules preview "30 2 * * *" --tz America/New_York --gap skip \\
            --after 2027-03-12T00:00:00Z --count 5 --json
        $ rota schedules preview --every 90m
    """
    output = Output(look)
    given: dict[str, Any] = when.given
    rule = check_rule(given if expression is None else given | {"expression": expression})
    policy = check_policy({} if jitter is None else {"jitter": spoken_duration(jitter)})
    check_jitter(rule, policy)
    begin = SystemClock().now() if after is None else moment(after, "after")
    found = upcoming(rule, policy, begin, count)
    if look.json:
        output.array(map(occurrence, found))
        return
    if output.terminal:
        output.line(output.styled(calendar_of(rule).words, "bold"))
    else:
        output.hint(calendar_of(rule).words)
    next_runs(output, found)
    if len(found) < count:
        output.hint("There are no more.")

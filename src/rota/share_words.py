"""How capacity is shared out, in words: what a limit is for, and what holds a task back by it."""

from rota.clock import Micros
from rota.model import Task
from rota.policy.reasons import AtCap, OutOfTokens, Paused, PutOff
from rota.times import show_duration, show_instant, show_rate


def shared(reason: Paused | AtCap | OutOfTokens | PutOff, task: Task, now: Micros) -> str:
    """Return the sentence of a reason that somebody set up, and how that is changed."""
    match reason:
        case Paused():
            return _paused(reason)
        case AtCap():
            return _at_cap(reason)
        case OutOfTokens():
            return _out_of_tokens(reason, now)
        case PutOff():
            return _put_off(reason, task)


def named(what: str, name: str) -> str:
    """Return what something is and what it is called, also where that is nothing.

    >>> named("queue", "sms"), named("tenant", "")
    ('queue sms', 'tenant ""')
    """
    return f"{what} {shown(name)}"


def shown(name: str) -> str:
    """Return a name the way it is typed in a shell."""
    return name or '""'


def scope(queue: str | None, tenant: str | None) -> str:
    """Return what a limit is for.

    >>> scope("sms", "board")
    'tenant board in queue sms'
    """
    parts = [] if tenant is None else [named("tenant", tenant)]
    return " in ".join([*parts, *([] if queue is None else [named("queue", queue)])])


def options(queue: str | None, tenant: str | None) -> str:
    """Return how a limit is named on the command line.

    >>> options("sms", "")
    '--queue sms --tenant ""'
    """
    given = (("--queue", queue), ("--tenant", tenant))
    return " ".join(f"{name} {shown(value)}" for name, value in given if value is not None)


def _paused(reason: Paused) -> str:
    why = f" ({reason.reason})" if reason.reason else ""
    since = f"{named(reason.what, reason.name)} is paused since {show_instant(reason.since)}{why}"
    return f"{_upper(since)}. Resume it: rota {reason.what}s resume {shown(reason.name)}"


def _at_cap(reason: AtCap) -> str:
    return (
        f"{_upper(scope(reason.queue, reason.tenant))} runs {reason.running:,} of "
        f"{reason.most:,} tasks. Raise its limit: rota limits set "
        f"{options(reason.queue, reason.tenant)} --max-running N"
    )


def _out_of_tokens(reason: OutOfTokens, now: Micros) -> str:
    rate = f"{show_rate(reason.rate)}, {reason.burst:,} at once"
    text = f"{_upper(scope(reason.queue, reason.tenant))} may start {rate}"
    soon = show_duration(max(reason.until - now, 0))
    return f"{text}: the next in {soon}, at {show_instant(reason.until)}."


def _put_off(reason: PutOff, task: Task) -> str:
    more = " or more" if reason.capped else ""
    return (
        f"{_upper(named(reason.what, reason.name))} has {reason.waiting:,}{more} tasks waiting, "
        f"with a depth of {reason.most:,}: what comes of class {task.priority_class.name.lower()} "
        "is put off."
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]

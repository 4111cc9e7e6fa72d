"""The report: the figures of a run, what they prove, and what is wrong if anything is."""

import math
from collections.abc import Sequence

from msgspec import Struct

from rota.demo.audit import Audit
from rota.demo.books import Books
from rota.demo.feeder import REMINDERS


class Report(Struct, frozen=True, kw_only=True):
    """What `rota demo --json` prints; waits in milliseconds.

    `absorbed` sends found their key recorded already, `killed` workers died by SIGKILL.
    """

    students: int
    lost: int
    twice: int
    absorbed: int
    college_last_ms: float
    otp_p99_ms: float
    seconds: float
    messages_per_s: int
    killed: int


def make_report(found: Audit, *, students: int, seconds: float, killed: int) -> Report:
    """Return the figures of a run that took so many seconds."""
    return Report(
        students=students,
        lost=found.lost,
        twice=found.twice,
        absorbed=found.absorbed,
        college_last_ms=_ms(found.reminder_waits[-1:]),
        otp_p99_ms=_ms([percentile(found.password_waits, 0.99)]),
        seconds=round(seconds, 2),
        messages_per_s=round(found.sent / max(seconds, 0.001)),
        killed=killed,
    )


def problems(report: Report, found: Audit, books: Books) -> list[str]:
    """Return everything that must not be; nothing means that the run kept every promise."""
    wrong = []
    for name, count, what in (
        ("lost", report.lost, "lost"),
        ("twice", report.twice, "recorded twice"),
        ("strangers", found.strangers, "sent to somebody who is not on the list"),
    ):
        if count:
            wrong.append(f"messages {what}: {count:,}, for instance to {found.examples[name]}")
    if unexplained := found.repeating - books.again.keys():
        wrong.append(f"tasks that ran twice although their worker lived: {len(unexplained):,}")
    if not books.closed:
        states = ", ".join(f"{count:,} {state}" for state, count in books.states.items())
        wrong.append(f"not all of the {books.tasks:,} tasks are completed: {states or 'none'}")
    if not report.killed:
        wrong.append("no worker was killed, so the run shows less than it should; try it again")
    return wrong


def rows(report: Report, found: Audit, books: Books) -> list[tuple[str, str, str]]:
    """Return the report for people: what, how much, and what it means."""
    again, passwords = len(books.again), len(found.password_waits)
    college = f"until the last of {REMINDERS} reminders was sent{_held(books, 'remind')}"
    return [
        ("students", f"{report.students:,}", "in the results file"),
        ("lost", f"{report.lost:,}", "messages asked for and never recorded by the provider"),
        ("twice", f"{report.twice:,}", "messages recorded once more than asked for"),
        ("tasks", f"{books.tasks:,}", f"{again:,} ran again after the death of their worker"),
        ("absorbed", f"{report.absorbed:,}", "sends of theirs that found their key recorded"),
        ("college", f"{report.college_last_ms:,.0f} ms", college),
        (
            "passwords",
            f"{report.otp_p99_ms:,.0f} ms",
            f"until sent while all slots were busy, p99 of {passwords}{_held(books, 'send_otp')}",
        ),
        ("throughput", f"{report.messages_per_s:,}/s", f"messages, for {report.seconds:.1f} s"),
    ]


def _held(books: Books, kind: str) -> str:
    # A wait of a whole lease needs no guessing where it comes from.
    count = list(books.again.values()).count(kind)
    return f"; {count} of them had been the dead worker's" if count else ""


def percentile(values: Sequence[int], share: float) -> int:
    """Return the value that `share` of the sorted values do not exceed; 0 if there are none.

    >>> percentile([1, 2, 3, 4], 0.5), percentile([], 0.99)
    (2, 0)
    """
    return values[max(math.ceil(len(values) * share) - 1, 0)] if values else 0


def _ms(values: Sequence[int]) -> float:
    return round(values[0] / 1000, 1) if values else 0.0

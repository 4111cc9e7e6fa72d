"""A backlog that no claim may scan: 200,000 ready, 200,000 scheduled, history and sessions, and
110,000 that wait at gates; and 100,000 schedules with the record of 300,000 slots.

Half of it is that of one tenant, `board`; three hundred others share the rest.
"""

from collections.abc import Callable, Iterator

from rota.config import LEASE, LEVEL, MINUTE
from rota.model import Micros
from tests.support.factories import LATER, NOW
from tests.support.places import Dialect, Place

ROWS = 200_000
TENANTS = 300
HELD = 2_000
SESSIONS = 400
GROUPS = 40
GATES = 10_000
"""So many gates have one task waiting, `CROWDED` has 100,000 and `QUIET` has ten."""
CROWDED = "crowded"
QUIET = "quiet"
SCHEDULES = 100_000
"""Each has made one or two of the tasks that are not over; `DUE` are due at `DUE_AT`."""
DUE = 100
"""So many of the scheduled tasks are due at `DUE_AT`, and none of those that expire is over."""
DUE_AT: Micros = LATER + DUE

_SERIES = {
    "sqlite": (
        "(with recursive counter (n) as "
        "(select 1 union all select n + 1 from counter where n < {rows}) select n from counter)"
    ),
    "postgres": "generate_series(1, {rows}) as counter (n)",
}
_ID = {
    "sqlite": "format('{prefix}-0000-7000-8000-%012x', {n})",
    "postgres": "('{prefix}-0000-7000-8000-' || lpad(to_hex({n}), 12, '0'))::uuid",
}
_TENANT = f"case when n > {ROWS // 2} then 'board' else 'school-' || (n % {TENANTS}) end"
_COLUMNS = "id, kind, queue, tenant, priority, {klass}run_at, rank, created_at, payload"


def task_id(prefix: str, n: int) -> str:
    """The id of the n-th task of a table."""
    return f"{prefix}-0000-7000-8000-{n:012x}"


READY, TAKEN, SCHEDULED, FINISHED, DEAD, SESSION, ENDED, RETURNED, AT_GATE, SCHEDULE = (
    f"{n}0000000" for n in "123456789a"
)
"""How the ids of each table begin."""

LIVE_SESSION = task_id(SESSION, 7)
HELD_BY_IT = [task_id(TAKEN, n) for n in range(7, HELD, SESSIONS)]
CHATTY = task_id(SCHEDULE, 1)
"""The schedule of which most slots are known."""
OF_EACH = [
    task_id(prefix, n) for prefix in (READY, SCHEDULED, FINISHED, DEAD) for n in range(1, 11)
]


def statements(dialect: Dialect, *, klass: bool) -> Iterator[str]:
    """Insert everything; `klass` if the class of a task and the shard of a count are written."""

    def ident(prefix: str, n: str = "n") -> str:
        return _ID[dialect].format(prefix=prefix, n=n)

    def fill(table: str, prefix: str, rows: int, run_at: str, **more: str) -> str:
        priority = "n % 11"
        values = [ident(prefix), "'send_result'", "case n % 2 when 0 then 'sms' else 'mail' end"]
        values += [_TENANT, priority]
        if klass:
            values.append(f"case when {priority} = 0 then 0 else ({priority} + 2) / 3 end")
        values += [
            run_at,
            f"{run_at} + {priority} * cast({LEVEL} as bigint)",
            str(NOW),
            """'{"student_id":1}'""",
        ]
        columns = ", ".join([_COLUMNS.format(klass="class, " if klass else ""), *more])
        series = _SERIES[dialect].format(rows=rows)
        return (
            f"insert into {table} ({columns}) "
            f"select {', '.join([*values, *more.values()])} from {series}"
        )

    held = {"session": ident(SESSION, f"n % {SESSIONS}"), "started_at": str(NOW), "fence": "1"}
    asked = {"cancel_requested_at": str(NOW), "cancel_deadline": f"{DUE_AT} + n"}
    to_come = {"expires_at": f"case when n % 4 = 0 then {DUE_AT} + n end"}
    made = {"schedule": f"case when n % 2 = 0 then {ident(SCHEDULE, 'n / 2')} end"}
    later = {"schedule": f"case when n % 2 = 0 and n > {DUE} then {ident(SCHEDULE, 'n / 2')} end"}
    yield fill("ready", READY, ROWS, f"{NOW} - n", **to_come, **made)
    yield fill("ready", TAKEN, HELD, f"{NOW} - n", **held, **asked)
    yield fill("ready", RETURNED, DUE, f"{NOW} - n", **asked)
    yield fill("scheduled", SCHEDULED, ROWS, f"{LATER} + n", **to_come, **later)
    gate = (
        f"case when n <= {GATES} then 'gate-' || n when n <= {GATES + 10} then '{QUIET}' "
        f"else '{CROWDED}' end"
    )
    flag = "true" if klass else "1"
    waits = {"concurrency_key": gate, "max_concurrency": "2", "at_gate": flag}
    yield fill("scheduled", AT_GATE, GATES + 100_010, f"{NOW} - n", **waits)
    over = {"state": "'completed'", "finished_at": f"{NOW} + n"}
    yield fill("finished", FINISHED, ROWS, str(NOW), **over)
    alike = {"failed_at": f"{NOW} + n", "error_group": f"'group-' || (n % {GROUPS})"}
    yield fill("dead_letter", DEAD, ROWS, str(NOW), **alike)
    yield from (
        "insert into session (id, name, host, pid, version, queues, kinds, slots,"
        " started_at, lease_until, closed_at) "
        f"select {ident(prefix)}, 'worker', 'node', n, '0.1.0', {_EMPTY[dialect]}, "
        f"{_EMPTY[dialect]}, 10, {NOW}, {NOW + LEASE} + n, {closed} "
        f"from {_SERIES[dialect].format(rows=SESSIONS)}"
        for prefix, closed in ((SESSION, "null"), (ENDED, str(NOW + MINUTE)))
    )
    yield f"update session set claimed = 1, claim_open = {flag}"
    yield (
        "insert into task_key (kind, tenant, key, task_id, expires_at) "
        f"select 'send_result', '', 'hold-' || n, {ident(FINISHED)}, {NOW} + n "
        f"from {_SERIES[dialect].format(rows=ROWS // 4)}"
    )
    yield (
        f"insert into tally (minute, queue, kind, state, count{', shard' if klass else ''}) "
        f"select {NOW} - n * cast({MINUTE} as bigint), 'sms', 'send_result', 'completed', 7"
        f"{', -1' if klass else ''} "
        f"from {_SERIES[dialect].format(rows=ROWS // 4)}"
    )

    counts = """'{"0":7,"2":7,"20":7}'"""
    yield (
        "insert into statistic (span, at, queue, kind, counts) "
        f"select cast({MINUTE} as bigint), {NOW} - n * cast({MINUTE} as bigint), 'sms', "
        f"'send_result', {counts}{'::jsonb' if klass else ''} "
        f"from {_SERIES[dialect].format(rows=ROWS // 4)}"
    )

    yield (
        "insert into service (span, at, tenant, completed, ran) "
        f"select cast({MINUTE} as bigint), {NOW} - n / 10 * cast({MINUTE} as bigint), "
        f"'t' || (n % 10), 7, 7 from {_SERIES[dialect].format(rows=ROWS // 4)}"
    )

    # As many settings as a place with a tenant for each school may have, and a limit for each.
    yield (
        "insert into setting (noun, name, body, version) "
        f"""select 'tenant', 'school-' || n, '{{"name":"school"}}', 1 """
        f"from {_SERIES[dialect].format(rows=TENANTS)}"
    )
    yield (
        "insert into lane_limit (id, tenant, max_running, tokens, filled_at, version) "
        f"select 'school-' || n, 'school-' || n, {ROWS}, 0, {NOW}, 1 "
        f"from {_SERIES[dialect].format(rows=TENANTS)}"
    )
    yield (
        "insert into lane_limit "
        "(id, queue, max_running, rate, burst, tokens, filled_at, version) "
        f"values ('sms', 'sms', {ROWS}, 500.0, 500, 500, {NOW}, 1)"
    )
    yield from _schedules(dialect, ident)


def _schedules(dialect: Dialect, ident: Callable[[str, str], str]) -> Iterator[str]:
    no = {"sqlite": "0", "postgres": "false"}[dialect]
    own, chatty = ident(SCHEDULE, "n"), ident(SCHEDULE, "1")
    series = _SERIES[dialect].format(rows=SCHEDULES)
    yield (
        "insert into schedule (id, name, source, kind, tenant, rule, policy, work, version,"
        " created_at, updated_at, cursor, next_slot, next_at, tz_data) "
        f"select {own}, 'report-' || n, 'code:school', 'report', '', "
        """'{"expression":"0 9 * * *","tz":"Europe/Berlin"}', '{}', """
        """'{"kind":"report","payload":"{}","queue":"mail","priority":5}', 1, """
        f"{NOW}, {NOW}, {NOW}, {LATER} + n, {LATER} + n, "
        f"case when n <= {DUE} then '2025c' else '2026a' end from {series}"
    )
    for schedule, at in ((own, f"{NOW} - n"), (chatty, f"{NOW} - n - 1")):
        yield (
            "insert into slot (schedule, slot, task_id, fired_at, backfilled) "
            f"select {schedule}, {at}, {ident(FINISHED, 'n')}, {at}, {no} from {series}"
        )
    yield (
        "insert into skip (schedule, first, last, count, state, at) "
        f"select {chatty}, {NOW} - n, {NOW} - n, 1, 'skipped:overlap', {NOW} - n from {series}"
    )


_EMPTY = {"sqlite": "'[]'", "postgres": "'{}'"}


async def pile_up(place: Place) -> None:
    """Migrate the place and fill it."""
    store = place.store()
    await store.migrate()
    await store.close()
    for statement in statements(place.dialect, klass=place.dialect == "postgres"):
        await place.run(statement)

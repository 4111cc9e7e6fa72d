"""What a schedule is declared with is read and checked, and errors name the field (R6.1-R6.7)."""

from typing import Any

import pytest

from rota import Backoff, ConfigurationError, InvalidSchedule, Rota, TaskKind
from rota.config import CATCH_UP, DAY, HOUR, MINUTE, SECOND
from rota.declared import Declared
from rota.schedule import Fold, Gap, Missed, Overlap, Policy, Rule
from rota.schedule_options import check_jitter, check_policy, check_rule

NINE = "0 9 * * MON-FRI"


@pytest.fixture
def app() -> Rota:
    """An app whose store is never opened."""
    return Rota("sqlite:///unused.db")


def report(day: str, pages: int = 1) -> None:
    """A handler."""


def test_every_field_of_a_rule_is_kept() -> None:
    """R6.1, R6.2, R6.3."""
    rule = check_rule(
        {
            "expression": "0 30 2 1 * MON",
            "tz": "Europe/Berlin",
            "seconds": True,
            "both_days": True,
            "gap": "skip",
            "fold": Fold.BOTH,
            "starts_at": "2026-01-01T00:00Z",
            "ends_at": "2030-01-01T00:00Z",
        }
    )

    assert (rule.expression, rule.tz) == ("0 30 2 1 * MON", "Europe/Berlin")
    assert (rule.seconds, rule.both_days) == (True, True)
    assert (rule.gap, rule.fold) == (Gap.SKIP, Fold.BOTH)
    assert (rule.starts_at, rule.ends_at) == (1_767_225_600 * SECOND, 1_893_456_000 * SECOND)


def test_every_field_of_a_policy_is_kept() -> None:
    """R6.5, R6.6, R6.7."""
    policy = check_policy(
        {
            "missed": "skip",
            "grace": "5m",
            "max_catchup": 3,
            "max_age": "2h",
            "overlap": "queue(7)",
            "jitter": 30,
            "max_runs": 12,
        }
    )

    assert policy == Policy(
        missed=Missed.SKIP,
        grace=5 * MINUTE,
        max_catchup=3,
        max_age=2 * HOUR,
        overlap=Overlap.QUEUE,
        max_pending=7,
        jitter=30 * SECOND,
        max_runs=12,
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "expression"),
        ({"expression": NINE, "every": "1h"}, "every"),
        ({"expression": 9}, "expression"),
        ({"expression": "0 9 * *"}, "expression"),
        ({"expression": "0 9 31 2 *"}, "expression"),
        ({"expression": NINE, "anchor": "2026-01-01T00:00Z"}, "anchor"),
        ({"every": "500ms"}, "every"),
        ({"every": "soon"}, "every"),
        ({"every": "1h", "seconds": True}, "seconds"),
        ({"every": "1h", "gap": "skip"}, "gap"),
        ({"every": "1h", "anchor": "2026-01-01T00:00"}, "anchor"),
        ({"expression": NINE, "tz": "Europe/Berlyn"}, "tz"),
        ({"expression": NINE, "tz": "localtime"}, "tz"),
        ({"expression": NINE, "tz": None}, "tz"),
        ({"expression": NINE, "seconds": 1}, "seconds"),
        ({"expression": NINE, "gap": "shift"}, "gap"),
        ({"expression": NINE, "fold": "third"}, "fold"),
        ({"expression": NINE, "starts_at": "2026-01-01"}, "starts_at"),
        (
            {"every": 60, "starts_at": "2026-01-02T00:00Z", "ends_at": "2026-01-01T00:00Z"},
            "ends_at",
        ),
        (
            {
                "expression": "0 9 1 1 *",
                "starts_at": "2026-01-02T00:00Z",
                "ends_at": "2026-12-01T00:00Z",
            },
            "ends_at",
        ),
        ({"expression": NINE, "timezone": "UTC"}, "timezone"),
    ],
)
def test_a_rule_that_is_wrong_or_never_fires_is_refused(given: dict[str, Any], field: str) -> None:
    """R6.1, rule P6."""
    with pytest.raises(InvalidSchedule) as caught:
        check_rule(given)

    assert caught.value.field == field


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"missed": "run_some"}, "missed"),
        ({"grace": 0}, "grace"),
        ({"max_catchup": 0}, "max_catchup"),
        ({"max_catchup": 1_001}, "max_catchup"),
        ({"max_catchup": True}, "max_catchup"),
        ({"max_age": -1}, "max_age"),
        ({"overlap": "sometimes"}, "overlap"),
        ({"overlap": "queue"}, "overlap"),
        ({"overlap": "queue(0)"}, "overlap"),
        ({"overlap": "queue(1001)"}, "overlap"),
        ({"overlap": "queue(2)", "max_pending": 3}, "max_pending"),
        ({"overlap": "allow", "max_pending": 3}, "max_pending"),
        ({"max_pending": 3}, "max_pending"),
        ({"jitter": "a bit"}, "jitter"),
        ({"max_runs": 0}, "max_runs"),
        ({"misfire": "skip"}, "misfire"),
    ],
)
def test_a_policy_that_is_wrong_is_refused(given: dict[str, Any], field: str) -> None:
    """R6.5, R6.6."""
    with pytest.raises(InvalidSchedule) as caught:
        check_policy(given)

    assert caught.value.field == field


def test_who_catches_up_may_queue_unless_it_is_said_otherwise() -> None:
    """R6.5, R6.6: else all but one of what is caught up would be skipped for overlap."""
    usual = check_policy({"missed": "run_all"})
    fewer = check_policy({"missed": "run_all", "max_catchup": 7})
    told = check_policy({"missed": "run_all", "overlap": "skip"})

    assert (usual.overlap, usual.max_pending) == (Overlap.QUEUE, CATCH_UP)
    assert (fewer.overlap, fewer.max_pending) == (Overlap.QUEUE, 7)
    assert told.overlap is Overlap.SKIP


def test_changes_leave_what_they_do_not_name() -> None:
    base = check_rule({"expression": NINE, "tz": "Asia/Kolkata", "gap": "skip"})
    policy = check_policy({"overlap": "queue(5)", "jitter": 60, "max_runs": 3})

    assert check_rule({"expression": "0 8 * * *"}, base) == Rule(
        expression="0 8 * * *", tz="Asia/Kolkata", gap=Gap.SKIP
    )
    assert check_rule({"every": "1h"}, base) == Rule(every=HOUR, tz="Asia/Kolkata")
    assert check_policy({"max_runs": None, "overlap": "queue"}, policy) == Policy(
        overlap=Overlap.QUEUE, max_pending=5, jitter=MINUTE
    )


def test_an_interval_counts_from_where_it_starts() -> None:
    start = 1_767_225_600 * SECOND

    fixed = check_rule({"every": "7d", "starts_at": "2026-01-01T00:00Z"})
    other = check_rule({"starts_at": "2026-01-01T00:00:01Z"}, fixed)
    named = check_rule({"every": "7d", "anchor": "2026-01-01T00:00Z"})

    assert check_rule({"every": "7d"}).anchor == 0
    assert (fixed.anchor, other.anchor) == (start, start + SECOND)
    assert check_rule({"starts_at": "2026-02-01T00:00Z"}, named).anchor == start
    assert check_rule({"expression": NINE}, fixed).anchor == 0


@pytest.mark.parametrize(
    ("rule", "jitter", "fits"),
    [
        ({"every": "60s"}, "59s", True),
        ({"every": "60s"}, "60s", False),
        ({"expression": "0 * * * *"}, "59m", True),
        ({"expression": "0 * * * *"}, "1h", False),
        ({"expression": "0,5 9 * * *"}, "5m", False),
        ({"expression": "0 9 1 1 *"}, "1d", True),
    ],
)
def test_jitter_is_shorter_than_the_time_between_two_slots(
    rule: dict[str, Any], jitter: str, fits: bool
) -> None:
    """R6.7: a run never comes after the slot that follows its own."""
    checked, policy = check_rule(rule), check_policy({"jitter": jitter})

    if fits:
        check_jitter(checked, policy)
    else:
        with pytest.raises(InvalidSchedule, match="between two slots"):
            check_jitter(checked, policy)


# -- in code ------------------------------------------------------------------------------------


def declared(app: Rota) -> dict[str, Declared]:
    """What an app declares, by name."""
    return {one.name: one for one in app.declarations}


def test_a_schedule_is_declared_above_its_task(app: Rota) -> None:
    """R6.8: with the kind's own defaults where it names none."""

    @app.schedule(
        NINE,
        tz="Europe/Berlin",
        payload={"day": "today"},
        tenant="board",
        retry=Backoff(max_attempts=2),
        expires_in="1h",
        tags=["daily"],
        headers={"trace": "1"},
    )
    @app.task(queue="mail", priority=2, timeout=30)
    def morning(day: str, pages: int = 1) -> None: ...

    kept: TaskKind[[str, int], None] = morning
    kept("today", 2)
    one = declared(app)["morning"]

    assert (one.rule.expression, one.rule.tz) == (NINE, "Europe/Berlin")
    assert (one.work.kind, one.work.payload) == ("morning", '{"day":"today"}')
    assert (one.work.queue, one.work.priority, one.work.tenant) == ("mail", 2, "board")
    assert (one.work.timeout, one.work.expires_in) == (30 * SECOND, HOUR)
    assert (one.work.tags, one.work.headers) == (("daily",), '{"trace":"1"}')
    assert Backoff.from_json(one.work.retry or "") == Backoff(max_attempts=2)


def test_schedules_are_stacked_each_with_a_name_of_its_own(app: Rota) -> None:
    app.schedule("0 12 * * *", name="noon", payload={"day": "noon"})(
        app.schedule(every="1d", payload={"day": "each"})(app.task(report))
    )

    assert {name: one.work.payload for name, one in declared(app).items()} == {
        "report": '{"day":"each"}',
        "noon": '{"day":"noon"}',
    }


def test_options_that_the_kind_was_given_count(app: Rota) -> None:
    kind = app.task(
        report,
    ).using(queue="slow", tags=["a"], concurrency_key="printer")

    app.schedule(NINE, payload={"day": "x"}, queue="fast")(kind)
    work = declared(app)["report"].work

    assert (work.queue, work.tags) == ("fast", ("a",))
    assert (work.concurrency_key, work.max_concurrency) == ("printer", 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"expression": "0 9 31 2 *"}, "schedule report: expression"),
        ({}, "schedule report: expression"),
        ({"expression": NINE, "tz": "Mars/Base"}, "schedule report: tz"),
        ({"expression": NINE, "payload": {}}, "payload.day: is missing"),
        ({"expression": NINE, "payload": {"day": 1}}, "payload.day"),
        ({"expression": NINE, "payload": {"day": "x", "m": 1}}, "payload.m"),
        ({"expression": NINE, "payload": ["x"]}, "payload: must be an object"),
        ({"expression": NINE, "priority": 11}, "priority"),
        ({"expression": NINE, "delay": 5}, "delay: is not an option"),
        ({"expression": NINE, "mised": "skip"}, "did you mean 'missed'"),
        ({"expression": NINE, "name": "no such name!"}, "name"),
        ({"expression": NINE, "name": "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"}, "name"),
        ({"expression": NINE, "max_concurrency": 2}, "max_concurrency"),
        ({"expression": "* * * * *", "jitter": "1m"}, "jitter"),
    ],
)
def test_a_mistake_in_a_declaration_is_told_at_once(
    app: Rota, options: dict[str, Any], problem: str
) -> None:
    """R6.1, R1.6: what never fires and what does not fit is refused where it stands."""
    given = {"payload": {"day": "x"}} | options
    expression = given.pop("expression", None)

    with pytest.raises(ConfigurationError) as caught:
        app.schedule(expression, **given)(app.task(report))

    assert problem in str(caught.value)
    assert not declared(app)


def test_the_order_of_the_decorators_is_told(app: Rota) -> None:
    with pytest.raises(ConfigurationError, match=r"above @app\.task"):
        app.schedule(NINE)(report)  # type: ignore[type-var]


def test_two_schedules_of_one_name_are_refused(app: Rota) -> None:
    kind = app.schedule(NINE, payload={"day": "x"})(app.task(report))

    with pytest.raises(ConfigurationError, match="declared twice"):
        app.schedule("0 10 * * *", payload={"day": "x"})(kind)


@pytest.mark.parametrize("option", [{"delay": 5}, {"key": "k"}, {"run_at": "2030-01-01T00:00Z"}])
def test_what_one_task_has_a_schedule_cannot_have(app: Rota, option: dict[str, Any]) -> None:
    kind = app.task(report).using(**option)

    with pytest.raises(ConfigurationError, match="belongs to one task"):
        app.schedule(NINE, payload={"day": "x"})(kind)


def test_a_default_age_is_a_day() -> None:
    """R6.5: run once, of what is not older than a day."""
    assert (check_policy({}).missed, check_policy({}).max_age) == (Missed.RUN_ONCE, DAY)

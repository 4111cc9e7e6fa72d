"""`rota submit`: stored durably and answered with an id, or refused with the field named."""

import re
from pathlib import Path

import msgspec
import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.config import HOUR, SECOND
from rota.model import State
from tests.cli.conftest import Cli
from tests.cli.steps import open_session

URL = "sqlite:///school.db"


def test_a_task_is_stored_with_all_its_options(rota: Cli, store: Rota) -> None:
    """R1.1."""
    task_id = rota.submit(
        "send_result", "student_id:=1", "phone=+91", "--queue", "mail", "--tenant", "board",
        "--priority", "9", "--delay", "1h", "--timeout", "90", "--key", "hold-17", "--key-window",
        "2h", "--expires-in", "1d", "--tag", "a", "--tag", "b", "--header", "trace=1=2",
        "--max-attempts", "7", "--concurrency-key", "line-1", "--max-concurrency", "3",
    )  # fmt: skip

    task = store.tasks.get(task_id)
    assert task.payload == {"student_id": 1, "phone": "+91"}
    assert (task.queue, task.tenant, task.priority) == ("mail", "board", 9)
    assert (task.state, task.run_at - task.created_at) == (State.SCHEDULED, HOUR)
    assert (task.timeout, task.key, task.tags) == (90 * SECOND, "hold-17", ("a", "b"))
    assert task.headers == {"trace": "1=2"}
    assert (task.concurrency_key, task.max_concurrency) == ("line-1", 3)
    assert task.expires_at is not None
    assert task.retry is not None
    # The kind's own policy, but for the number of attempts.
    assert (task.retry["max_attempts"], task.retry["base"]) == (7, 9)


def test_the_kinds_own_defaults_hold(rota: Cli, store: Rota) -> None:
    task = store.tasks.get(rota.submit("send_result", "student_id:=1"))

    assert (task.queue, task.priority, task.timeout) == ("sms", 2, 30 * SECOND)


def test_a_person_is_told_when_it_is_due(rota: Cli) -> None:
    answer = rota.on_terminal("submit", "report", "day=x", "--delay", "15m")

    assert re.fullmatch(
        r"[0-9a-f-]{36}  scheduled, due in (15m|14m59s) \(\d\d:\d\d:\d\dZ\)\n", answer.out
    )
    assert re.fullmatch(
        r"[0-9a-f-]{36}  ready\n", rota.on_terminal("submit", "report", "day=x").out
    )


def test_a_script_gets_the_id_first_and_tabs_between(rota: Cli) -> None:
    (line,) = rota("submit", "report", "day=x", "--delay", "15m").lines

    assert re.fullmatch(r"[0-9a-f-]{36}\tscheduled\t\d{4}-\d\d-\d\dT[\d:.]+Z\tcreated", line)


def test_the_same_key_finds_the_first_task_and_says_so(rota: Cli) -> None:
    """R1.4."""
    words = ("submit", "report", "day=x", "--key", "k", "--run-at", "2099-01-01T00:00:00+05:30")
    first = rota(*words, "--json").json
    again = rota(*words, "--json")

    assert again.code == 0
    assert first == {
        "id": first["id"],
        "created": True,
        "matched_by": None,
        "state": "scheduled",
        "run_at": "2098-12-31T18:30:00.000000Z",
    }
    assert again.json == first | {"created": False, "matched_by": "key"}
    assert rota(*words).lines[0].endswith("exists")
    assert "exists already (key k), scheduled, due in" in rota.on_terminal(*words).out


REFUSED = [
    (["send_resul", "student_id:=1"], "kind: 'send_resul' is not registered; did you mean"),
    (["zzz"], "kind: 'zzz' is not registered; the app has report, send_result"),
    (["send_result"], "payload.student_id: is missing"),
    (["send_result", "student_id=1"], "got `str`; for JSON write student_id:=…"),
    (["send_result", "student_id:=1", "x=1"], "payload.x: is not an argument of this task"),
    (["send_result", "student_id:=one"], "payload.student_id: 'one' is not JSON"),
    (["send_result", "student_id:=NaN"], "payload.student_id: 'NaN' is not JSON"),
    (["report", "day=x", "day=y"], "payload.day: is given twice"),
    (["report", "day=\0"], "payload.day: has a NUL character"),
    (["report", "day=\udcff"], "payload.day: has a lone surrogate"),
    (["report", f"day={'x' * 300_000}"], "at most 262,144 are taken"),
    (["report", "day=x", "--delay", "soon"], "delay: 'soon' is no duration"),
    (["report", "day=x", "--delay", "-5"], "delay: must lie between 0 and 10 years"),
    (["report", "day=x", "--run-at", "2099-01-01T00:00:00"], "run_at: 2099-01-01T00:00:00 has no"),
    (["report", "day=x", "--run-at", "tomorrow"], "run_at: 'tomorrow' is no instant"),
    (["report", "day=x", "--delay", "1m", "--run-at", "2099-01-01T00:00Z"], "exclude each other"),
    (["report", "day=x", "--queue", "a b"], "queue: 'a b' is no name"),
    (["report", "day=x", "--timeout", "0"], "timeout: must be more than 0"),
    (["report", "day=x", "--key", ""], "key: must be text of 1 to 255 characters"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_refused_with_its_field_and_nothing_is_stored(
    rota: Cli, words: list[str], said: str
) -> None:
    """R1.6."""
    answer = rota("submit", *words)

    assert answer.code == Exit.USAGE
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert rota("list").out == ""


def test_a_refusal_as_json_points_at_the_field(rota: Cli) -> None:
    answer = rota("submit", "send_result", "--json")

    assert (answer.problem["code"], answer.problem["status"]) == ("validation_failed", 422)
    assert answer.problem["errors"] == [{"pointer": "/payload/student_id", "detail": "is missing"}]


# -- without an app -----------------------------------------------------------------------------


@pytest.fixture
def bare(cli: Cli, folder: Path) -> Cli:
    """The command line, with a store and no app."""
    assert cli("migrate", "--url", URL).code == 0
    return cli


def test_without_an_app_a_live_workers_kind_will_do(bare: Cli) -> None:
    open_session(URL, kinds=("send_result",), queues=("sms",))

    assert bare("submit", "send_result", "--queue", "sms", "--url", URL).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send_resul", "--queue", "sms"], "did you mean 'send_result'?"),
        (["zzz"], "name the app with --app module:attribute, or give --any-kind"),
        (["send_result"], "takes 'default'; give --queue sms, or --any-kind"),
    ],
)
def test_what_no_live_worker_would_run_is_refused(bare: Cli, words: list[str], said: str) -> None:
    open_session(URL, kinds=("send_result",), queues=("sms",))

    answer = bare("submit", *words, "--url", URL)

    assert answer.code == Exit.USAGE
    assert said in answer.err


def test_a_live_workers_patterns_count_too(bare: Cli) -> None:
    """R7.6."""
    open_session(URL, kinds=("send_result",), queues=("*", "!bulk"))

    assert bare("submit", "send_result", "--queue", "sms", "--url", URL).code == 0
    answer = bare("submit", "send_result", "--queue", "bulk", "--url", URL)
    assert answer.code == Exit.USAGE
    assert "takes 'bulk'; give --queue a name that fits '*'" in answer.err


def test_any_kind_is_taken_when_asked_for_and_its_payload_still_checked(bare: Cli) -> None:
    assert bare("submit", "zzz", "n:=1", "--any-kind", "--url", URL).code == 0
    answer = bare("submit", "zzz", "n=\0", "--any-kind", "--url", URL)
    assert (answer.code, answer.err) == (2, "rota: payload.n: has a NUL character\n")
    assert bare("submit", "z z", "--any-kind", "--url", URL).code == Exit.USAGE


# -- batches ------------------------------------------------------------------------------------

GOOD = '{"payload":{"student_id":1}}'
BAD = '{"payload":{"student_id":"x"}}'


def batch(rota: Cli, *lines: str, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Submit lines from stdin."""
    answer = rota("submit", "send_result", "--batch", "-", *words, stdin="\n".join(lines))
    return answer.code, answer.out, answer.err


def test_a_batch_is_stored_line_by_line(rota: Cli, store: Rota) -> None:
    """R1.3: each line with options of its own, or those of the command."""
    lines = [
        GOOD,
        "",
        '{"kind":"report","payload":{"day":"x"},"delay":"1h","retry":{"max_attempts":2}}',
        '{"payload":{"student_id":2},"key":"k","tenant":"college"}',
        '{"payload":{"student_id":3},"key":"k","tenant":"college"}',
    ]

    assert batch(rota, *lines, words=("--tenant", "board")) == (0, "3 created, 1 existed\n", "")

    second, report, first = store.tasks.list()
    assert (first.tenant, report.tenant, second.tenant) == ("board", "board", "college")
    assert (report.kind, report.state) == ("report", State.SCHEDULED)
    assert report.retry is not None
    assert report.retry["max_attempts"] == 2


def test_a_batch_is_read_from_a_file(rota: Cli, school: Path) -> None:
    (school / "tasks.ndjson").write_text(f"{GOOD}\n{GOOD}\n")

    assert rota("submit", "send_result", "--batch", "tasks.ndjson").out == "2 created, 0 existed\n"
    missing = rota("submit", "send_result", "--batch", "nope")
    assert missing.code == Exit.USAGE
    assert missing.err == "rota: --batch: nope cannot be read: No such file or directory\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (BAD, "line 2: payload.student_id: expected `int`, got `str`"),
        ("nope", "line 2: is not JSON"),
        (b'"\xff"', "line 2: is not JSON"),
        ("[1]", "line 2: must be an object"),
        ('{"payload":[1]}', "line 2: payload: must be an object"),
        ('{"kind":7}', "line 2: kind: must be text"),
        ('{"payload":{"student_id":1},"quue":"x"}', "line 2: quue: is not an option; did you mean"),
        ('{"payload":{"student_id":1},"retry":{"base":-1}}', "line 2: retry: "),
        ('{"kind":"zzz","payload":{}}', "line 2: kind: 'zzz' is not registered"),
    ],
)
def test_a_batch_stops_at_the_line_that_is_refused_and_names_it(
    rota: Cli, line: str | bytes, said: str
) -> None:
    """R1.6."""
    lines = f"{GOOD}\n".encode() + (line if isinstance(line, bytes) else line.encode())

    answer = rota("submit", "send_result", "--batch", "-", stdin=lines)

    assert (answer.code, answer.out) == (Exit.USAGE, "0 created, 0 existed, 1 refused\n")
    assert said in answer.err
    assert "nothing is stored" in answer.err
    assert rota("list").out == ""


def test_a_batch_that_stops_late_says_how_many_are_stored(rota: Cli) -> None:
    code, out, err = batch(rota, *[GOOD] * 2500, BAD)

    assert (code, out) == (Exit.PARTLY, "2,000 created, 0 existed, 1 refused\n")
    assert "line 2501: payload.student_id" in err
    assert "(2,000 before it are stored)" in err


def test_per_item_goes_on_and_names_the_refused_lines(rota: Cli) -> None:
    code, out, err = batch(rota, GOOD, BAD, GOOD, "nope", words=("--per-item",))

    assert (code, out) == (Exit.PARTLY, "2 created, 0 existed, 2 refused\n")
    assert [line[:12] for line in err.splitlines()] == ["rota: line 2", "rota: line 4"]
    assert batch(rota, BAD, words=("--per-item",))[0] == Exit.USAGE


def test_a_batch_is_reported_as_one_object(rota: Cli) -> None:
    _, out, _ = batch(rota, GOOD, BAD, words=("--per-item", "--json"))

    assert msgspec.json.decode(out) == {
        "total": 2,
        "created": 1,
        "existing": 0,
        "rejected": 1,
        "items": [
            {
                "line": 2,
                "status": "rejected",
                "problem": {
                    "code": "validation_failed",
                    "errors": [
                        {"pointer": "/payload/student_id", "detail": "expected `int`, got `str`"}
                    ],
                },
            }
        ],
    }


def test_without_a_kind_each_line_must_name_one(rota: Cli) -> None:
    answer = rota("submit", "--batch", "-", stdin=GOOD)

    assert answer.code == Exit.USAGE
    assert "line 1: kind: is missing" in answer.err

"""The count finds what is missing, what came twice, and who got what was not for them."""

from pathlib import Path

from rota.clock import wall
from rota.demo.audit import Asked, Audit, audit
from rota.demo.tasks import PASSWORD, REMINDER, provider_file
from tests.demo.provider_help import message, provider_in

STUDENTS = [f"26-{number:08d}" for number in range(1, 31)]


def asked(**others: dict[str, int]) -> Asked:
    return Asked(iter(STUDENTS), others.get("reminders", {}), others.get("passwords", {}))


def count(directory: Path, what: Asked | None = None) -> Audit:
    return audit(provider_file(directory), what or asked())


def test_one_message_for_each_is_as_it_should_be(tmp_path: Path) -> None:
    with provider_in(tmp_path) as provider:
        provider.send("task-1", [message(student) for student in STUDENTS])

    found = count(tmp_path)

    assert (found.sent, found.lost, found.twice, found.strangers) == (30, 0, 0, 0)
    assert not found.examples


def test_what_never_came_is_lost(tmp_path: Path) -> None:
    with provider_in(tmp_path) as provider:
        provider.send("task-1", [message(student) for student in STUDENTS[2:]])

    found = count(tmp_path, asked(passwords={"parent-1": 0}))

    assert found.lost == 3
    assert found.examples["lost"] in {*STUDENTS[:2], "parent-1"}


def test_what_came_under_two_keys_came_twice(tmp_path: Path) -> None:
    with provider_in(tmp_path) as provider:
        for fence in range(1, 4):
            provider.send("task-1", [message(STUDENTS[0], key=f"1/{fence}")])
        provider.send("task-1", [message(student) for student in STUDENTS[1:]])

    found = count(tmp_path)

    assert (found.lost, found.twice) == (0, 2)
    assert found.examples == {"twice": STUDENTS[0]}


def test_what_nobody_asked_for_went_to_a_stranger(tmp_path: Path) -> None:
    with provider_in(tmp_path) as provider:
        provider.send("task-1", [message(student) for student in [*STUDENTS, "26-99999999"]])

    found = count(tmp_path)

    assert (found.lost, found.strangers) == (0, 1)
    assert found.examples == {"strangers": "26-99999999"}


def test_what_was_absorbed_is_counted_with_its_tasks(tmp_path: Path) -> None:
    messages = [message(student) for student in STUDENTS]
    with provider_in(tmp_path) as provider:
        provider.send("task-1", messages[:10])
        provider.send("task-1", messages[:20])
        provider.send("task-2", messages[20:])

    found = count(tmp_path)

    assert (found.lost, found.twice, found.absorbed) == (0, 0, 10)
    assert found.repeating == {"task-1"}


def test_waits_are_counted_from_when_rota_was_asked(tmp_path: Path) -> None:
    at = wall()
    with provider_in(tmp_path) as provider:
        provider.send("task-1", [message("a", kind=REMINDER), message("b", kind=PASSWORD)])
    until = wall()

    found = count(
        tmp_path,
        asked(reminders={"a": at - 500, "never": at}, passwords={"b": at - 700}),
    )

    assert 500 <= found.reminder_waits[0] <= 500 + until - at
    assert 700 <= found.password_waits[0] <= 700 + until - at
    assert len(found.reminder_waits) == 1

"""Errors that are alike share a group, and others do not (R4.4)."""

import pytest

from rota.model import AttemptError
from rota.policy.shape import SHAPE_CHARS, group_of, shape_of


@pytest.mark.parametrize(
    ("message", "shape"),
    [
        ("timed out after 30 s", "timed out after <n> s"),
        ("timed out after 1,234.5 s", "timed out after <n> s"),
        ("no row 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "no row <id>"),
        ("<object at 0x7f3a>", "<object at <address>>"),
        ("due 2026-11-30T10:00:00.5Z, now 2026-12-01", "due <time>, now <time>"),
        ("unknown key 'student-1' in \"a b\"", "unknown key <text> in <text>"),
        ("commit 9f86d081884c7d65 refused", "commit <hash> refused"),
        ("utf8 is not latin1", "utf8 is not latin1"),
        ("HTTP 503 from v1.2 of host-3", "HTTP <n> from v1.2 of host-3"),
        ("first line\nsecond 2", "first line"),
        ("", ""),
        ("x" * 10_000, "x" * SHAPE_CHARS),
    ],
)
def test_what_differs_from_case_to_case_is_left_out(message: str, shape: str) -> None:
    assert shape_of(message) == shape


def test_the_group_is_told_by_kind_type_and_shape() -> None:
    def group(kind: str, type_: str, message: str) -> str:
        return group_of(kind, AttemptError(0, 1, type_, message)).id

    alike = {group("send", "Timeout", f"after {n} s") for n in range(20)}
    others = {group("mail", "Timeout", "after 1 s"), group("send", "Refused", "after 1 s")}

    assert len(alike) == 1
    assert len(alike | others | {group_of("send", None).id}) == 4

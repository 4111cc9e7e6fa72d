"""What the worker protocol carries comes out as it went in (R8.4)."""

import msgspec
import pytest

from rota.clock import instant
from rota.http import wire
from rota.model import Claimed
from rota.times import show_instant

INSTANTS = (0, 1, 999_999, 1_000_000, 951_782_400_000_000, 1_764_547_199_999_999)
"""Of them the first and the last microsecond of a second, and a leap day."""


@pytest.mark.parametrize("at", INSTANTS)
def test_an_instant_is_shown_and_read_exactly(at: int) -> None:
    text = show_instant(at)
    assert text == f"{instant(at).isoformat(timespec='microseconds')[:-6]}Z"
    assert wire.instant_of(text) == at


@pytest.mark.parametrize("text", ["2026-11-30T10:00:00Z", "2026-11-30T11:00:00+01:00"])
def test_instants_of_other_forms_are_read_as_well(text: str) -> None:
    assert show_instant(wire.instant_of(text)) == "2026-11-30T10:00:00.000000Z"


@pytest.mark.parametrize("text", ["", "soon", "2026-11-30T10:00:61.000000Z"])
def test_what_is_no_instant_is_not_read_as_one(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are those of the standard library
        wire.instant_of(text)


PLAIN = Claimed(
    id="0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", fence=3, attempt=2, lost=0, snoozes=0, kind="sms",
    queue="sms", tenant="", priority=5, run_at=1_000_001, created_at=1_000_001,
    payload='{"name":"Zoë","n":1e3}', timeout=None, retry=None, expires_at=None, headers=None,
    checkpoint=None, concurrency_key=None, schedule=None, slot=None,
)  # fmt: skip
FULL = msgspec.structs.replace(
    PLAIN, run_at=9_000_000, timeout=1_500_000, retry='{"max_attempts":3}', expires_at=8,
    headers='{"a":"b"}', checkpoint="[1]", concurrency_key="door", schedule=PLAIN.id, slot=7,
)  # fmt: skip


@pytest.mark.parametrize("task", [PLAIN, FULL], ids=["plain", "full"])
def test_a_task_arrives_as_it_was_handed_out(task: Claimed) -> None:
    told = wire.encode(wire.handed(task, 20))
    assert wire.claimed(msgspec.json.decode(told, type=wire.Handed)) == task

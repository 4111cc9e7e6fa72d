"""The text of a cron expression: what may stand in it at all, and where its fields are."""

import re
from typing import Final

from rota.config import CRON_CHARS
from rota.errors import InvalidSchedule
from rota.policy.cron.fields import FIELDS

NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_ODD: Final = re.compile(r"[^\t\x20-\x7e]")
_FIELDS: Final = re.compile(r"[^ \t]+")


def split(text: str, seconds: bool) -> list[str]:
    """Return the six fields of an expression, second 0 if it has no field for it.

    `InvalidSchedule` for what is too long, more than one line, or made of anything but ASCII and
    fields that spaces and tabs keep apart (B179); and for a number of fields that was not asked
    for (B014).
    """
    _check_characters(text)
    if text.strip(" \t").startswith("@"):
        return ["0", *_named(text.strip(" \t")).split()]
    fields = _FIELDS.findall(text)
    wanted = 6 if seconds else 5
    if len(fields) != wanted:
        raise InvalidSchedule("expression", _count_problem(text, len(fields), seconds))
    return fields if seconds else ["0", *fields]


def _check_characters(text: object) -> None:
    if not isinstance(text, str):
        raise InvalidSchedule("expression", f"must be text, got {type(text).__name__}")
    if len(text) > CRON_CHARS:
        raise InvalidSchedule(
            "expression", f"has {len(text):,} characters; at most {CRON_CHARS} are allowed"
        )
    if text.splitlines() not in ([], [text]):
        raise InvalidSchedule("expression", f"must be one line, got {text!r}")
    if odd := _ODD.search(text):
        raise InvalidSchedule(
            "expression",
            f"{text!r} has the character U+{ord(odd[0]):04X}; write it in ASCII, "
            "with spaces or tabs between the fields",
        )


def _named(text: str) -> str:
    try:
        return NAMED[text.lower()]
    except KeyError:
        known = ", ".join(NAMED)
        raise InvalidSchedule("expression", f"{text!r} is none of {known}") from None


def _count_problem(text: str, count: int, seconds: bool) -> str:
    names = " ".join(field.name for field in FIELDS[not seconds :])
    problem = f"{text!r} has {count} field{'' if count == 1 else 's'} instead of "
    problem += f"{5 + seconds}: {names}"
    if count == 6:
        problem += "; to begin with a field for seconds, ask for it with seconds=True"
    if count == 5:
        problem += "; leave out seconds=True if it has no field for seconds"
    return problem

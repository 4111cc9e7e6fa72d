"""Reads crontab text as cron does: each line an entry, a setting, or what is wrong with it (R6.8).

Pure: text in, values out. Whether an expression and a zone are any good is not said here.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

NAMES = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_FIXED = ("LOGNAME", "USER")

_SETTING = re.compile(
    r"""\s* (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<bare>[^\s=]+) )
        \s* = \s* (?P<value>.*)""",
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
_SYSTEM = re.compile(r"(?:^|/)(?:cron\.d/[^/]+|etc/crontab)$")


class Entry(Struct, frozen=True, kw_only=True):
    """A line that runs a command: when, as whom, with which environment and standard input.

    `tz` is what `CRON_TZ` said last before it, "" if it said nothing.
    """

    number: int
    expression: str
    command: str
    stdin: str | None = None
    user: str | None = None
    env: dict[str, str]
    tz: str = ""


class BadLine(Struct, frozen=True):
    """A line that cannot be taken, and why.

    With `understood` it is clear what it means, and that no schedule can mean the same.
    """

    number: int
    text: str
    problem: str
    understood: bool = False


class Remark(Struct, frozen=True):
    """What a setting does not do here, though cron does it."""

    number: int
    text: str


class Crontab(Struct, frozen=True, kw_only=True):
    """What a crontab says, each part in the order of its lines."""

    entries: tuple[Entry, ...]
    bad: tuple[BadLine, ...]
    remarks: tuple[Remark, ...]


def read(text: str, *, user_column: bool) -> Crontab:
    """Return what each line of a crontab says; with `user_column` one follows the times (R6.8)."""
    entries: list[Entry] = []
    bad: list[BadLine] = []
    remarks: list[Remark] = []
    env: dict[str, str] = {}
    for number, line in _lines(text):
        try:
            setting = _setting(line)
            if setting is None:
                entries.append(_entry(number, line, env, user_column=user_column))
                continue
            name, value = setting
            if value and name in _REMARKS:
                remarks.append(Remark(number, _REMARKS[name]))
            if name not in _FIXED:
                env[name] = value
        except _Wrong as wrong:
            bad.append(BadLine(number, line.strip(), wrong.problem, wrong.understood))
    return Crontab(entries=tuple(entries), bad=tuple(bad), remarks=tuple(remarks))


def has_user_column(path: str, text: str, users: Collection[str]) -> bool:
    """Say whether a crontab names a user on each line, as `/etc/crontab` and `/etc/cron.d` do.

    Elsewhere it does if each of its lines names one of `users` there, root among them: a command
    is seldom called like an account, and hardly ever `root`.
    """
    if _SYSTEM.search(path):
        return True
    named = []
    for _, line in _lines(text):
        if _SETTING.fullmatch(line) is None:
            words = _split(line)
            named.append(words[1].split(maxsplit=1)[0] if len(words[1].split()) > 1 else "")
    return "root" in named and all(user in users or user == "root" for user in named)


def payload(entry: Entry) -> dict[str, Any]:
    """Return the arguments of the kind `command` that run an entry as cron would."""
    env = {name: value for name, value in entry.env.items() if name != "CRON_TZ"}
    given = {
        "shell": entry.command,
        "env": env or None,
        "cwd": entry.env.get("HOME") or None,
        "stdin": entry.stdin,
        "user": entry.user,
    }
    return {name: value for name, value in given.items() if value is not None}


def names(source: str, entries: Sequence[Entry]) -> list[str]:
    """Return a name for each entry that stays the same as long as its command does.

    Other lines, other times and other settings do not change it; the same command once more is
    numbered.
    """
    file = _slug(source.rpartition("/")[2], 60) or "crontab"
    given: list[str] = []
    for entry in entries:
        told = "\0".join((source, entry.user or "", entry.command, entry.stdin or ""))
        mark = hashlib.sha256(told.encode()).hexdigest()[:8]
        name = f"{file}.{_program(entry.command)}-{mark}"
        again = sum(other == name or other.startswith(f"{name}-") for other in given)
        given.append(f"{name}-{again + 1}" if again else name)
    return given


class _Wrong(Exception):
    """A line cannot be taken."""

    def __init__(self, problem: str, *, understood: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.understood = understood


_REMARKS = {
    "MAILTO": "MAILTO: no mail is sent; what a command prints is kept with its task",
    "MAILFROM": "MAILFROM: no mail is sent",
    "TZ": "TZ: as in cron it is only passed to the commands; CRON_TZ says when they run",
    "RANDOM_DELAY": "RANDOM_DELAY: is only passed to the commands; give --jitter",
    **{name: f"{name}: cannot be set, as in cron" for name in _FIXED},
}


def _lines(text: str) -> list[tuple[int, str]]:
    """Return what is neither empty nor a comment, numbered."""
    numbered = enumerate((line.removesuffix("\r") for line in text.split("\n")), start=1)
    return [(n, line) for n, line in numbered if line.strip() and line.lstrip()[0] != "#"]


def _setting(line: str) -> tuple[str, str] | None:
    match = _SETTING.fullmatch(line)
    if match is None:
        return None
    name = next(part for part in match.group("double", "single", "bare") if part is not None)
    if not _VARIABLE.fullmatch(name):
        raise _Wrong(f"{name!r} is no name of a variable")
    value = match["value"].strip()
    if value[:1] in ("'", '"'):
        quote = value[0]
        if len(value) < 2 or value.find(quote, 1) != len(value) - 1:
            raise _Wrong(f"the value of {name} begins with {quote} and must end with the next one")
        return name, value[1:-1]
    return name, value


def _split(line: str) -> tuple[str, str]:
    """Return the times of a line, in single spaces, and what follows them."""
    text = line.lstrip()
    count = 1 if text.startswith("@") else 5
    words = text.split(None, count)
    return " ".join(words[:count]), words[count] if len(words) > count else ""


def _entry(number: int, line: str, env: dict[str, str], *, user_column: bool) -> Entry:
    _check_text(line)
    expression, rest = _split(line)
    if expression.startswith("@"):
        expression = _named(expression)
    elif expression.startswith("-"):
        # cronie: "do not log this one". Nothing is logged of a run that goes well.
        expression = expression[1:].lstrip()
    user = None
    if user_column:
        user, rest = (*rest.split(None, 1), "", "")[:2]
    if not rest:
        column = ", a user" if user_column else ""
        raise _Wrong(f"must be five fields for the time{column}, and a command")
    if user is not None and not _USER.fullmatch(user):
        raise _Wrong(f"{user!r} is no user; if there is no such column, say --no-user-column")
    command, stdin = _percent(rest)
    if not command.strip():
        raise _Wrong("has no command before its first %")
    return Entry(
        number=number, expression=expression, command=command, stdin=stdin, user=user,
        env=dict(env), tz=env.get("CRON_TZ", ""),
    )  # fmt: skip


def _check_text(line: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in line):
        raise _Wrong("is not UTF-8")
    if "\0" in line:
        raise _Wrong("has a NUL in it")


def _named(name: str) -> str:
    if name.lower() == "@reboot":
        raise _Wrong(
            "@reboot is no time that comes again; let the system start it (systemd, init)",
            understood=True,
        )
    if name.lower() not in NAMES:
        raise _Wrong(f"{name!r} is unknown; there are {', '.join(NAMES)}")
    return name.lower()


def _percent(text: str) -> tuple[str, str | None]:
    r"""Return the command, and what follows its first `%` as text for its standard input.

    Each further `%` is the end of a line; `\%` is a `%`.

    >>> _percent(r"mail -s 5\% joe%Joe,%%Hello")
    ('mail -s 5% joe', 'Joe,\n\nHello\n')
    """
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == "%":
            parts.append("")
        else:
            parts[-1] += "%" if piece == "\\%" else piece
    command, *lines = parts
    if not lines:
        return command, None
    stdin = "\n".join(lines)
    return command, stdin if not stdin or stdin.endswith("\n") else f"{stdin}\n"


_PIECE = re.compile(r"\\.|%|[^\\%]+|\\$", re.DOTALL)
_QUOTED = re.compile(r"\$\([^()]*\)|`[^`]*`|'[^']*'|\"[^\"]*\"")
_BETWEEN = re.compile(r"&&|\|\||[;|&{}()]|\b(?:if|then|do|else|elif|while)\b")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*")
_ASKING = {"test", "[", "[[", "cd", "command", "type", "which", "true", ":", "fi", "done"}
_BEFORE = {"exec", "nice", "ionice", "env", "nohup", "time", "sudo", "!"}


def _program(command: str) -> str:
    """Return what a command is about: the first program that it does not only ask for.

    >>> _program("[ -x /usr/bin/a ] && if [ ! -d /run ]; then nice -n10 /usr/bin/a -R; fi")
    'a'
    """
    for piece in _BETWEEN.split(_QUOTED.sub("", command)):
        for word in piece.split():
            if word in _ASKING:
                break
            if word in _BEFORE or word.startswith("-") or _ASSIGNED.fullmatch(word):
                continue
            slug = _slug(word.rpartition("/")[2], 40)
            if slug:
                return slug
            break
    return "command"


def _slug(text: str, most: int) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_")[:most].strip("-_")

"""A file of tasks, one JSON object a line: read as it is stored, whatever its length."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rota.app import Rota
from rota.call import Call
from rota.cli.calls import Calls
from rota.cli.output import Output
from rota.cli.problems import LINE, Exit, RefusedLine, UsageError, place
from rota.cli.text import one_line
from rota.client import BatchRefused, Submitted
from rota.errors import ConfigurationError, InvalidTask
from rota.model import Accepted
from rota.options import Options, check_options
from rota.policy.retry import Backoff

SHOWN = 20
"""How many refused lines are named one by one."""


class Batch:
    """Stores the lines of one file and says what became of them."""

    def __init__(self, calls: Calls, kind: str | None, options: Options, output: Output) -> None:
        self._calls = calls
        self._kind = kind
        self._options = options
        self._output = output
        self._total = Submitted()
        self._refused: list[RefusedLine] = []
        self._refusals = 0

    def run(self, app: Rota, name: str, *, per_item: bool, as_json: bool) -> int:
        """Store the file's tasks and print the counts; return the exit code.

        Without `per_item` the first refused line ends it with `RefusedLine`.
        """
        with _opened(name) as file:
            try:
                for answer in app.submit_each(self._read(file, per_item=per_item)):
                    self._count(answer)
            except BatchRefused as error:
                self._tell(as_json=as_json)
                number = self._refused[0].number
                raise RefusedLine(number, error.cause, error.stored) from None
        self._tell(as_json=as_json)
        for refused in [] if as_json else self._refused:
            self._output.hint(f"rota: {one_line(str(refused))}")
        if self._refusals > len(self._refused):
            self._output.hint(f"and {self._refusals - len(self._refused):,} more")
        if not self._refusals:
            return Exit.DONE
        return Exit.PARTLY if self._total.total else Exit.USAGE

    def _read(self, file: BinaryIO, *, per_item: bool) -> Iterator[Call]:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield self._call(line)
            except InvalidTask as error:
                self._refusals += 1
                if len(self._refused) < SHOWN:
                    self._refused.append(RefusedLine(number, error))
                if not per_item:
                    raise

    def _call(self, line: bytes) -> Call:
        item = _object(line)
        kind = item.pop("kind", self._kind)
        if not isinstance(kind, str):
            raise InvalidTask("kind", "is missing" if kind is None else "must be text")
        payload = item.pop("payload", {})
        if "retry" in item:
            item["retry"] = _backoff(item["retry"])
        options = check_options(item, self._options) if item else self._options
        return self._calls.call(kind, payload, options)

    def _count(self, answer: Accepted) -> None:
        self._total = self._total.plus([answer])
        self._output.progress(self._total.total, lambda count: f"{count:,} stored")

    def _tell(self, *, as_json: bool) -> None:
        self._output.end_progress()
        if as_json:
            self._output.document(self._report())
            return
        total = self._total
        text = f"{total.created:,} created, {total.existing:,} existed"
        self._output.line(f"{text}, {self._refusals:,} refused" if self._refusals else text)

    def _report(self) -> dict[str, Any]:
        total = self._total
        return {
            "total": total.total + self._refusals,
            "created": total.created,
            "existing": total.existing,
            "rejected": self._refusals,
            "items": [
                {
                    "line": refused.number,
                    "status": "rejected",
                    "problem": {"code": "validation_failed", "errors": [place(refused.cause)]},
                }
                for refused in self._refused
            ],
        }


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"--batch: {name} cannot be read: {error.strerror}") from None


def _object(line: bytes) -> dict[str, Any]:
    try:
        item = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidTask(LINE, f"is not JSON: {error}") from None
    if not isinstance(item, dict):
        raise InvalidTask(LINE, 'must be an object: {"kind": …, "payload": {…}, …}')
    return item


def _backoff(value: object) -> Backoff:
    try:
        return msgspec.convert(value, Backoff)
    except (msgspec.ValidationError, ConfigurationError) as error:
        raise InvalidTask("retry", str(error)) from None

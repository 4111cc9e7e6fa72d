"""What comes in to be done, as callers write it: decoded strictly, checked as in Python (R1.1)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from rota import config
from rota.app import Rota
from rota.call import Call
from rota.clock import Micros, born, parse_id
from rota.errors import ConfigurationError, InvalidTask
from rota.model import NewTask
from rota.options import check_options
from rota.payload import encode
from rota.policy.retry import Backoff
from rota.server.caller import Caller
from rota.server.known_kinds import KnownKinds
from rota.server.problems import Problem
from rota.server.route import In, json
from rota.server.scoped_tasks import OWN_GATE, reaches
from rota.tracing import with_parent

RESERVED = "rota-"
"""Headers of tasks that begin so are the server's own."""
SUBMITTED_BY = "rota-submitted-by"
ID_OLDEST = 12 * config.HOUR
ID_NEWEST = config.HOUR
"""An id that a caller made is this old at most, and no further ahead: as long as that it is known
for certain whether it was stored already."""


def _said(**schema: Any) -> Meta:
    # What is checked by Rota's own words is only told to the document.
    return Meta(extra_json_schema=schema)


Name = Annotated[
    str, _said(pattern=f"^{config.NAME_PATTERN}$", minLength=1, maxLength=128, examples=["sms"])
]
DurationText = Annotated[
    str, _said(examples=["15m", "PT15M"], minLength=2, maxLength=64, format="rota-duration")
]
Length = (
    Annotated[float, _said(minimum=0, maximum=config.LONGEST_DELAY // config.SECOND)] | DurationText
)
Moment = Annotated[str, _said(format="date-time", examples=["2026-11-30T10:00:00Z"], maxLength=64)]
Text255 = Annotated[str, _said(minLength=1, maxLength=config.KEY_CHARS)]
TagText = Annotated[str, _said(minLength=1, maxLength=config.TAG_CHARS)]


class RetryIn(In, frozen=True):
    """How a task is tried again; what is not given is as in the defaults (R4.1)."""

    type: Literal["exponential", "linear", "fixed"] | UnsetType = UNSET
    base: float | UnsetType = UNSET
    multiplier: float | UnsetType = UNSET
    cap: float | UnsetType = UNSET
    jitter: float | UnsetType = UNSET
    max_attempts: int | UnsetType = UNSET

    def checked(self) -> Backoff:
        """Return the policy; `InvalidTask` names the field that does not fit."""
        given = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not UNSET
        }
        try:
            return Backoff(**given)
        except ConfigurationError as error:
            _, field, problem = str(error).split(" ", 2)
            raise InvalidTask(f"retry.{field}", problem) from None


class Submission(In, frozen=True):
    """A task to be done: its kind, its payload and how it differs from the kind's defaults.

    `run_at` and `delay` exclude each other, and so do `expires_at` and `expires_in`. Durations
    are seconds or text such as `15m`. An `id` that the caller made, a UUID of version 7, makes a
    repeat of the same request safe.
    """

    kind: Name
    payload: dict[str, Any] = msgspec.field(default_factory=dict)
    queue: Name | UnsetType = UNSET
    tenant: Annotated[str, _said(maxLength=128, examples=["board"])] | UnsetType = UNSET
    priority: Annotated[int, _said(minimum=0, maximum=config.PRIORITY_LOWEST)] | UnsetType = UNSET
    run_at: Moment | UnsetType = UNSET
    delay: Length | UnsetType = UNSET
    timeout: Length | UnsetType | None = UNSET
    retry: RetryIn | UnsetType = UNSET
    key: Text255 | UnsetType = UNSET
    key_window: Length | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET
    expires_in: Length | UnsetType = UNSET
    tags: Annotated[list[TagText], _said(maxItems=config.TAGS)] | UnsetType = UNSET
    headers: Annotated[dict[str, str], _said(maxProperties=config.HEADERS)] | UnsetType = UNSET
    concurrency_key: Text255 | UnsetType = UNSET
    max_concurrency: (
        Annotated[int, _said(minimum=1, maximum=config.CONCURRENCY_MOST)] | UnsetType
    ) = UNSET
    id: Annotated[str, _said(format="uuid", maxLength=64)] | UnsetType = UNSET


_OPTIONS = tuple(
    name
    for name in Submission.__struct_fields__
    if name not in ("kind", "payload", "id", "tenant", "retry")
)


class Checker:
    """Checks what one caller hands in, with the words of `rota.options` and the kinds' own.

    `parent` is the `traceparent` of the request, which its tasks carry on (R9.3).
    """

    def __init__(
        self, app: Rota, kinds: KnownKinds, caller: Caller, parent: str | None = None
    ) -> None:
        self._parent = parent
        self._app = app
        self._kinds = kinds
        self._scope = caller.scope
        self._tenant = caller.scope.tenant
        self._mark = json({SUBMITTED_BY: caller.key_id}).decode() if caller.key_id else None

    def task(self, given: Submission, task_id: str, now: Micros) -> NewTask:
        """Return the task that is to be stored; `InvalidTask` names the field that is wrong.

        `Problem` 403 if it is another tenant's, or of a queue beyond the key's reach: then
        nothing of the request may happen.
        """
        call = self._call(given)
        task = call.task(task_id if given.id is UNSET else _own_id(given.id, now), now)
        if not reaches(self._scope, task.queue, task.tenant):
            raise Problem("forbidden", f"the key does not reach to queue {task.queue!r}")
        if self._scope.bound and (task.concurrency_key or "").startswith(OWN_GATE):
            raise Problem("forbidden", "the gates of schedules are for their own runs")
        if self._parent is not None:
            headers = with_parent(task.headers, self._parent)
            task = msgspec.structs.replace(task, headers=headers)
        return task

    def _call(self, given: Submission) -> Call:
        options = {name: value for name in _OPTIONS if (value := getattr(given, name)) is not UNSET}
        if given.retry is not UNSET:
            options["retry"] = given.retry.checked()
        if (tenant := self._tenant_of(given.tenant)) is not None:
            options["tenant"] = tenant
        kind, own = self._kinds.find(given.kind)
        checked = check_options(options)
        if checked.headers is not None:
            _check_headers(given.headers)
        if self._mark is not None:
            checked = msgspec.structs.replace(checked, headers=_joined(checked.headers, self._mark))
        if own:
            return Call(kind, kind.arguments.encode((), given.payload), checked)
        return Call(kind, encode(given.payload, "payload"), checked)

    def _tenant_of(self, asked: str | UnsetType) -> str | None:
        bound = self._tenant
        if asked is UNSET:
            return bound
        if bound is not None and asked != bound:
            raise Problem("tenant_mismatch", f"the key is for tenant {bound!r} alone")
        return asked


def _own_id(text: str, now: Micros) -> str:
    task_id = parse_id(text)
    if task_id is None or task_id[14] != "7" or task_id[19] not in "89ab":
        raise InvalidTask("id", "must be a UUID of version 7, made for this request")
    if not now - ID_OLDEST <= born(task_id) <= now + ID_NEWEST:
        raise InvalidTask("id", "must have been made within the last 12 hours, by a right clock")
    return task_id


def _check_headers(given: Any) -> None:
    for name in given:
        if name.lower().startswith(RESERVED):
            raise InvalidTask(f"headers.{name}", f"names with {RESERVED} are the server's own")


def _joined(headers: str | None, mark: str) -> str:
    return mark if headers is None else f"{headers[:-1]},{mark[1:]}"

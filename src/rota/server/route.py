"""A route: who may call it, what it takes, what it answers, and what carries it out.

Routes are data. Dispatch, decoding, access, the OpenAPI document and the matrix of tests are all
made from the one table of `rota.server.routes` (ADR 20).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from rota.access import Role
from rota.server.caller import Caller
from rota.server.noted import noted

if TYPE_CHECKING:
    from rota.backend import Backend
    from rota.server.faces import Faces
    from rota.server.place import Place

BODY_BYTES = 1024 * 1024


class In(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of what routes take: an unknown field is refused and named."""


class Answer(Struct, frozen=True):
    """What is answered: `value` becomes JSON unless `body` is ready made."""

    value: Any = UNSET
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | UnsetType = UNSET
    media: str = "application/json"


class Stream(Struct, frozen=True):
    """An answer that goes on for long: server-sent events, or hints to a worker.

    `ended` is called once it is over, however it comes to its end, and even if it never began.
    """

    chunks: AsyncIterator[bytes]
    media: str
    headers: tuple[tuple[str, str], ...] = ()
    ended: Callable[[], None] | None = None


class Call(Struct, eq=False, kw_only=True):
    """One call of a route, decoded and checked, with everything that its carrying out needs.

    `body` and `query` are values of the types that the route names. `raw` reads the body of a route
    that decodes it itself, chunk by chunk. `gone` comes to be true when the caller has hung up.
    A route may put what the audit record shall say into `audit`: target, count, change, reason.
    """

    place: "Place"
    route: "Route"
    caller: Caller
    request_id: str
    address: str
    headers: Mapping[str, str]
    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    raw: AsyncIterator[bytes] | None = None
    audit: dict[str, Any] = {}
    gone: Callable[[], Awaitable[None]] | None = None
    _backend: "Backend | None" = None

    @property
    def backend(self) -> "Backend":
        """The backend as far as this caller reaches (see `rota.server.scoped`).

        What an `announced` route changes by it is told to the audit record, with what was before.
        """
        if self._backend is None:
            reached = self.place.reach(self.caller.scope)
            self._backend = noted(reached, self.audit) if self.route.announced else reached
        return self._backend

    @property
    def faces(self) -> "Faces":
        """`app.tasks`, `app.schedules` and the like, as far as this caller reaches."""
        if self.route.announced:
            return self.place.faces_on(self.backend)
        return self.place.faces(self.caller.scope)


Run = Callable[[Call], Awaitable[Answer | Stream]]


class Route(Struct, frozen=True, kw_only=True):
    """What there is to call at a method and a path.

    `name` is the operation's id, noun and verb, and never changes. `roles` are those of which one
    is enough; None lets everybody in. `takes` and `query` are decoded strictly by prepared
    decoders; with `raw` the route reads its body itself. `codes` are the problems that this route
    answers besides those that any may (docs/reference/http.md). `audit` is the name of the change
    in the audit record; every route that changes anything has one. `example` is a body that works.
    What is `vital` is let in however many calls are under way.
    `gives` is the media type of the answer. With `any_query` the query is the page's own affair.
    """

    method: str
    path: str
    name: str
    summary: str
    run: Run
    roles: frozenset[Role] | None
    tag: str
    takes: Any = None
    query: type[Struct] | None = None
    answers: Any = None
    status: int = 200
    codes: tuple[tuple[int, str], ...] = ()
    audit: str | None = None
    summed: bool = False
    raw: bool = False
    media: tuple[str, ...] = ("application/json",)
    most: int = BODY_BYTES
    headers: tuple[str, ...] = ()
    example: Any = UNSET
    stream: bool = False
    document: bool = True
    any_query: bool = False
    vital: bool = False
    gives: str = "application/json"

    @property
    def announced(self) -> bool:
        """Say whether the audit record tells of this change before it is made (ADR 27).

        That is what operators and administrators change: never what is frequent.
        """
        return (
            self.audit is not None
            and not self.summed
            and self.roles is not None
            and self.roles.isdisjoint(_FREQUENT)
        )


_FREQUENT = frozenset({Role.SUBMIT, Role.WORKER})


def roles(*any_of: Role) -> frozenset[Role]:
    """Return the roles of which a caller needs one."""
    return frozenset(any_of)


def json(value: Any) -> bytes:
    """Return a value as JSON."""
    return _ENCODER.encode(value)


_ENCODER = msgspec.json.Encoder()

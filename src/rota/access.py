"""The values that access is made of: keys, what they may do, log-ins and the audit record (R8.5).

A key is 256 random bits that are shown once; the store has only their SHA-256. The tenant of a
call comes from its key and from nowhere else (cases B181, B182).
"""

from enum import StrEnum

from msgspec import Struct

from rota.model import Micros


class Role(StrEnum):
    """What a key may do.

    `submit` makes tasks, and reads and cancels them by their ids. `read` reads everything but keys,
    audit and webhooks. `operate` reads and changes what runs. `admin` does everything but the
    work of workers. `worker` is the worker protocol and nothing else.
    """

    SUBMIT = "submit"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"
    WORKER = "worker"


IMPLIED: dict[Role, frozenset[Role]] = {
    Role.SUBMIT: frozenset({Role.SUBMIT}),
    Role.READ: frozenset({Role.READ}),
    Role.OPERATE: frozenset({Role.OPERATE, Role.READ}),
    Role.ADMIN: frozenset({Role.ADMIN, Role.OPERATE, Role.READ, Role.SUBMIT}),
    Role.WORKER: frozenset({Role.WORKER}),
}
"""What each role includes; `worker` is never implied by another one."""


class Scope(Struct, frozen=True, kw_only=True):
    """Of whom and of what a key may see and change anything; None is all.

    Without `payloads` whatever its owner reads comes without payloads, results, checkpoints,
    headers and the texts of errors.
    """

    tenant: str | None = None
    queues: tuple[str, ...] | None = None
    payloads: bool = True

    @property
    def bound(self) -> bool:
        """Say whether anything is out of reach."""
        return self.tenant is not None or self.queues is not None

    def covers(self, queue: str, tenant: str) -> bool:
        """Say whether tasks of this queue and tenant are within reach."""
        return self.tenant in (None, tenant) and (self.queues is None or queue in self.queues)


EVERYTHING = Scope()


class Key(Struct, frozen=True, kw_only=True):
    """A key as it is kept: all but its secret, of which there is the SHA-256 (case S12)."""

    id: str
    name: str
    secret_hash: bytes
    roles: tuple[Role, ...]
    scope: Scope = EVERYTHING
    created_at: Micros
    created_by: str = ""
    expires_at: Micros | None = None
    last_used_at: Micros | None = None
    revoked_at: Micros | None = None

    def live(self, now: Micros) -> bool:
        """Say whether the key opens anything: neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Revoked(StrEnum):
    """What became of a key that was to be revoked; the last admin's key cannot be."""

    DONE = "done"
    LAST_ADMIN = "last_admin"
    NOT_FOUND = "not_found"


class Login(Struct, frozen=True, kw_only=True):
    """A dashboard's session: made by showing a key, over when the key is (case B172)."""

    id_hash: bytes
    key_id: str
    created_at: Micros
    seen_at: Micros
    ends_at: Micros


class Via(StrEnum):
    """By which way a change came in."""

    KEY = "key"
    SESSION = "session"
    CLI = "cli"
    CODE = "code"


class Outcome(StrEnum):
    """What became of a change that was asked for.

    `begun` stays only of one whose server was killed before it could say more.
    """

    BEGUN = "begun"
    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


BEGUN_MARK = "~"
"""At the end of the id of an entry that a change begins with; the one that tells its end has none.

Both stay in the store, and of what has ended only the end is read.
"""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Who changed what, when and from where (S17); never payloads or secrets.

    `action` is the noun and the verb, `limit.update`; `target` is an id or a filter as JSON, and
    `change` what was changed, [before, after] by field, as JSON. `count` sums calls of submits,
    claims and finishes of one minute, or says how many things one call changed.
    """

    id: str
    at: Micros
    key_id: str
    key_name: str
    via: Via
    tenant: str | None = None
    action: str
    target: str | None = None
    request_id: str = ""
    address: str = ""
    outcome: Outcome = Outcome.OK
    count: int = 1
    change: str | None = None
    reason: str | None = None


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which entries of the audit record to read; every field that is set must match.

    `since` takes in its instant and `until` leaves it out.
    """

    key_id: str | None = None
    action: str | None = None
    tenant: str | None = None
    via: Via | None = None
    outcome: Outcome | None = None
    since: Micros | None = None
    until: Micros | None = None

"""What is remembered of requests that made tasks: what came in together, and what came in twice."""

from msgspec import Struct

from rota.config import DAY
from rota.model import Micros

ANYBODY = "*"
"""The scope of a key that is bound to no tenant; no tenant can be called that."""

KEY_KEPT = DAY
"""For so long a repeat under the same idempotency key is answered by what the first one did."""
BATCH_KEPT = 7 * DAY
"""For so long it can be asked what became of a batch."""


class Submission(Struct, frozen=True, kw_only=True):
    """A request that made tasks, or found them: a batch, or one with an idempotency key.

    `key` belongs to `scope` and `operation`, until `key_until`. `fingerprint` tells whether a
    repeat has the same content.
    """

    id: str
    scope: str
    operation: str
    key: str | None = None
    fingerprint: str = ""
    task_ids: tuple[str, ...] = ()
    created_at: Micros
    key_until: Micros | None = None
    keep_until: Micros

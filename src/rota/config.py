"""The bounds and defaults of Rota, in one place; every error that names a bound reads it here."""

from typing import Final

SECOND: Final = 1_000_000
"""One second in microseconds, the unit of every instant and duration inside Rota (ADR 2)."""
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

DEFAULT_URL: Final = "sqlite:///rota.db"
URL_VARIABLE: Final = "ROTA_URL"

PAYLOAD_BYTES: Final = 256 * 1024
PAYLOAD_DEPTH: Final = 32
RESULT_BYTES: Final = 256 * 1024
ERROR_TEXT_CHARS: Final = 16 * 1024
TRACEBACK_CHARS: Final = 32 * 1024
ERRORS_KEPT: Final = 50
TAGS: Final = 16
TAG_CHARS: Final = 64
HEADERS: Final = 16
HEADERS_BYTES: Final = 4 * 1024
KEY_CHARS: Final = 255
REASON_CHARS: Final = 255
NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
PRIORITY_LOWEST: Final = 10
PRIORITY_DEFAULT: Final = 5
LONGEST_DELAY: Final = 3650 * DAY

KEY_WINDOW: Final = DAY
"""How long a key returns the first task again; it is held longer while that task is live (R1.4)."""

LEVEL: Final = 10 * MINUTE
"""Waiting this long is worth one level of priority (R7.2)."""

LEASE: Final = 30 * SECOND
"""How long a session may hold tasks without a renewal; renewed every third of it (R3.1)."""
LEASE_MARGIN_SHARE: Final = 0.1
"""A worker stops its handlers this share of the lease before it ends (R3.4)."""
LOST_LEASES: Final = 3
"""A task that loses this many workers is set aside as a dead letter (R3.8)."""

KEEP_FINISHED: Final = 7 * DAY
KEEP_FAILED: Final = 90 * DAY
KEEP_DISCARDED: Final = 7 * DAY
CHECKPOINT_BYTES: Final = 64 * 1024
KEEP_SESSIONS: Final = HOUR
KEEP_TALLIES: Final = 7 * DAY
KEEP_EFFECTS: Final = KEEP_FAILED
"""As long as a dead letter may be run again: what it had done before must still be known then."""

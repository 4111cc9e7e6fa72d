"""The bounds and defaults of Rota, in one place; every error that names a bound reads it here."""

from typing import Final

SECOND: Final = 1_000_000
"""One second in microseconds, the unit of every instant and duration inside Rota (ADR 2)."""
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

DEFAULT_URL: Final = "sqlite:///rota.db"
APP_NAME: Final = "app"
"""What a program is called that does not say; nobody can tell two such programs apart."""
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
GROUP_HOURS: Final = 24
"""So many hours back a group of dead letters tells when they failed."""
GROUPS_LOOK_AT: Final = {"newest": 1_000, "tenants_most": 20}
"""Of so many of the newest of each group it is counted whose they are, and so many are named."""
CHECKPOINT_BYTES: Final = 64 * 1024
KEEP_SESSIONS: Final = HOUR
KEEP_TALLIES: Final = 7 * DAY
KEEP_STATISTICS: Final = {MINUTE: DAY + 2 * HOUR, HOUR: KEEP_TALLIES}
"""Statistics are kept a day by the minute, and a week by the hour."""
KEEP_AUDIT: Final = 90 * DAY
"""How long it is known who changed what, and which keys there were (S17)."""
KEEP_EFFECTS: Final = KEEP_FAILED
"""As long as a dead letter may be run again: what it had done before must still be known then."""

CRON_CHARS: Final = 256
"""A cron expression is no longer than this (case B179)."""
MISSED_AFTER: Final = MINUTE
"""A slot that is later than this when it can be fired was missed; far above any loop (B089)."""
CATCH_UP: Final = 100
CATCH_UP_MOST: Final = 1_000
CATCH_UP_AGE: Final = DAY
"""Of the slots that were missed so many run at most, none older than this (R6.5)."""
PENDING_MOST: Final = 1_000
COUNTED_SLOTS: Final = 10_000
"""So many skipped slots are counted; of more it is only said that they are more (case B088)."""
KEEP_ACTIONS: Final = 30 * DAY
"""How long it is known what became of an action after it ended."""
KEEP_SLOTS: Final = 30 * DAY
"""How long it is known what became of a slot, and a backfill of it is recognised."""
CONCURRENCY_MOST: Final = 1_000_000

WEIGHT_MOST: Final = 1_000
"""Weights are whole numbers from 1 to this: a greater ratio would be a starving one."""
DEPTH_MOST: Final = 1_000_000
"""A queue or tenant is counted up to twice its `max_depth` about once a second (R1.7)."""
RATE_LEAST: Final = 1 / 86_400
RATE_MOST: Final = 1_000_000
BURST_MOST: Final = 1_000_000
"""Rates of limits are tasks a second, from one a day; a burst is a whole number of tasks (R7.5)."""

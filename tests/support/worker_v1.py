"""Version 1 of the worker protocol as it was first spoken; written down here, and never changed.

`/v1` only grows. What a worker of that version sends is understood by every server since, and what
a server of that version answers by every client since: so both sides can be brought up to date one
after the other, in any order (R8.6).
"""

from typing import Any

ID = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"
SESSION = "0193f29f-0000-7000-8000-000000000001"
AT = "2026-11-30T04:30:00.000000Z"

OPEN = {"request_id", "protocol", "name", "host", "pid", "version", "queues", "kinds", "slots",
        "lease"}  # fmt: skip
CLAIM = {"request", "queues", "slots", "wait_s"}
CLAIM_BY_FEATURE = {"avoid": "avoid", "spare": "spare"}
"""Fields of a claim that a server has to have named among its features."""
BEAT = {"seq", "held", "lease"}
FINISH = {"id", "fence", "outcome", "result", "error", "permanent", "retry_after", "retry_least",
          "until", "after", "reason", "retry", "keep", "seconds"}  # fmt: skip
PROGRESS = {"id", "fence", "done", "total", "checkpoint"}

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("", {"request_id": "w-3-1", "protocol": [1], "name": "w-3", "host": "h", "pid": 4711,
          "version": "js-1.0", "queues": ["sms"], "kinds": ["send_result"], "slots": 50,
          "lease": 30}),
    ("claim", {"request": 1, "queues": ["sms"], "slots": 50, "avoid": [], "spare": 0, "wait_s": 0}),
    ("heartbeat", {"seq": 41, "held": 1, "lease": 30.0}),
    ("progress", {"items": [{"id": ID, "fence": 1, "done": 120, "total": 500,
                             "checkpoint": {"at": 120}}]}),
    ("finish", {"items": [
        {"id": ID, "fence": 1, "outcome": "completed", "result": {"sent": 1}, "keep": True,
         "seconds": 0.5},
        {"id": ID, "fence": 1, "outcome": "failed", "permanent": False, "retry_after": 5,
         "error": {"type": "E", "message": "m", "traceback": "t"},
         "retry": {"type": "exponential", "base": 2, "max_attempts": 5}},
        {"id": ID, "fence": 1, "outcome": "timed_out", "error": {"type": "E"}},
        {"id": ID, "fence": 1, "outcome": "snooze", "until": "2033-01-01T00:00:00Z"},
        {"id": ID, "fence": 1, "outcome": "snooze", "after": "15m"},
        {"id": ID, "fence": 1, "outcome": "cancelled", "reason": "moved away"},
        {"id": ID, "fence": 1, "outcome": "released"},
        {"id": ID, "fence": 1, "outcome": "expired"}]}),
    ("close", {"release": True}),
]  # fmt: skip
"""What a worker of version 1 sends, in this order; "" opens the session."""

TASK: dict[str, Any] = {
    "id": ID, "fence": 7, "attempt": 1, "max_attempts": 5, "kind": "send_result", "queue": "sms",
    "tenant": "board", "priority": 5, "payload": {"student_id": 7}, "headers": None, "timeout": 30,
    "idempotency_key": ID, "run_at": AT, "created_at": AT, "expires_at": None, "schedule": None,
    "slot": None, "last_checkpoint": None, "retry": None, "lost_leases": 0, "snoozes": 0,
    "concurrency_key": None,
}  # fmt: skip

ANSWERS: dict[str, dict[str, Any]] = {
    "": {"session": SESSION, "protocol": 1, "features": ["progress", "hints", "avoid", "spare"],
         "lease": 30.0, "heartbeat_every": 10.0, "margin": 3.0, "state": "active",
         "server_time": AT, "limits": {"claim": 1000, "finish": 1000, "wait": 30}},
    "claim": {"request": 1, "repeated": False, "state": "active", "tasks": [TASK],
              "again_at": None, "spared": False},
    "held": {"tasks": [TASK]},
    "heartbeat": {"seq": 41, "lease_left": 30.0, "state": "active", "server_time": AT,
                  "cancel": [{"id": ID, "fence": 7, "deadline_s": 60.0}], "lost": [],
                  "resync": False},
    "progress": {"items": [{"id": ID, "verdict": "applied"}]},
    "finish": {"items": [{"id": ID, "verdict": "applied", "state": "completed"}]},
    "close": {"released": 0},
}  # fmt: skip
"""What a server of version 1 answers, by the last word of the path."""

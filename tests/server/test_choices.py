"""A mistake in a request is answered with what would have fitted (R8.5)."""

from typing import Any

import pytest

from tests.support.asking import Asker

ACTION = {"do": "cancel", "filter": {"queue": "sms"}}
TASK = {"kind": "send_result", "payload": {"student_id": 1}}
BACKOFF = {**TASK, "retry": {"type": "expo"}}


@pytest.mark.parametrize(
    ("path", "body", "pointer", "words"),
    [
        ("/v1/tasks", {**TASK, "dely": "15m"}, "/dely", "did you mean 'delay'?"),
        ("/v1/tasks", {**TASK, "x" * 100: 1}, "/" + "x" * 100, "is not known here"),
        ("/v1/tasks", BACKOFF, "/retry/type", "there are exponential, linear, fixed"),
        ("/v1/tasks", {**TASK, "retry": {"bas": 1}}, "/retry/bas", "did you mean 'base'?"),
        ("/v1/actions", {**ACTION, "do": "kill"}, "/do", "there are cancel, retry, "),
        (
            "/v1/actions",
            {"do": "retry", "filter": {"sate": "x"}},
            "/filter/sate",
            "did you mean 'state'?",
        ),
    ],
)
async def test_a_body_that_nearly_fits(
    asker: Asker, path: str, body: Any, pointer: str, words: str
) -> None:
    """Bodies: the field is named by its pointer, and in the prose with dots."""
    told = await asker.ask("POST", path, body)
    (error,) = told.json["errors"]
    assert (told.status, error["pointer"]) == (422, pointer)
    assert words in error["detail"]
    assert told.json["detail"].startswith(pointer[1:].replace("/", ".") + ": ")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("view=ful", "there are summary, full"),
        ("order=created", "there are -created, rank, run_at, started_at, -finished_at"),
    ],
)
async def test_a_query_that_nearly_fits(asker: Asker, query: str, words: str) -> None:
    """Queries: the words that a parameter may have."""
    told = await asker.ask("GET", f"/v1/tasks?{query}")
    assert told.status == 422
    assert told.json["errors"][0]["detail"].endswith(words)

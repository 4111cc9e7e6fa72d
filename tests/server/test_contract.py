"""What a caller was promised is kept: `/v1` only grows (R8.5, http §5)."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rota.server.openapi import document
from rota.server.routes import table
from tests.support.contract import broken, contract, kept

DOCUMENT = document(table())
Change = Callable[[dict[str, Any]], object]


def test_nothing_that_was_promised_is_gone() -> None:
    """What is only added is written down by python -m tests.support.contract."""
    assert broken(kept(), contract(DOCUMENT)) == []


def test_what_is_new_is_promised_from_now_on() -> None:
    assert broken(contract(DOCUMENT), kept()) == [], "python -m tests.support.contract"


def of(doc: dict[str, Any], path: str, method: str = "post") -> Any:
    """An operation of the document."""
    return doc["paths"][path][method]


def shape(doc: dict[str, Any], name: str) -> Any:
    """A shape of the document."""
    return doc["components"]["schemas"][name]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["paths"].pop("/v1/kinds"), "kinds_list is gone"),
        (lambda d: of(d, "/v1/tasks").update(operationId="tasks_add"), "tasks_submit is gone"),
        (lambda d: of(d, "/v1/tasks")["x-rota-roles"].remove("submit"), "roles submit no more"),
        (lambda d: of(d, "/v1/tasks", "get")["parameters"].pop(0), "takes query tag: str no more"),
        (
            lambda d: of(d, "/v1/tasks", "get")["parameters"][0].update(required=True),
            "needs query tag now",
        ),
        (lambda d: of(d, "/v1/tasks")["responses"].pop("200"), "gives 200 application/json"),
        (
            lambda d: shape(d, "Submission")["required"].append("queue"),
            "#Submission: needs queue now",
        ),
        (
            lambda d: shape(d, "Submission")["properties"].pop("tags"),
            "#Submission: takes tags: [str] no more",
        ),
        (lambda d: shape(d, "Submitted")["required"].remove("id"), "#Submitted: has id: str"),
        (
            lambda d: shape(d, "Submitted")["properties"].update(id={"type": ["string", "null"]}),
            "#Submitted: has id: str no more",
        ),
    ],
    ids=[
        "a route", "its name", "a role", "a parameter", "a need", "an answer", "a field's need",
        "a field", "a field of an answer", "what a field may be",
    ],
)  # fmt: skip
def test_what_would_break_a_caller_is_named(change: Change, words: str) -> None:
    """Each of these once broke somebody's client."""
    other = copy.deepcopy(DOCUMENT)
    change(other)
    assert any(words in one for one in broken(contract(DOCUMENT), contract(other)))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["paths"].update({"/v1/new": {"get": {**of(d, "/v1/kinds", "get")}}}),
        lambda d: shape(d, "Submitted")["properties"].update(more={"type": "string"}),
        lambda d: shape(d, "Submission")["properties"].update(more={"type": "string"}),
        lambda d: of(d, "/v1/tasks")["x-rota-roles"].append("worker"),
        lambda d: shape(d, "Submitted")["properties"].update(run_at={"type": "string"}),
    ],
    ids=["a route", "a field of an answer", "a field", "a role", "less that a field may be"],
)
def test_what_is_added_breaks_nobody(change: Change) -> None:
    """Requests may say more, and answers too."""
    other = copy.deepcopy(DOCUMENT)
    change(other)
    if "/v1/new" in other["paths"]:
        of(other, "/v1/new", "get")["operationId"] = "new_list"
        of(other, "/v1/kinds", "get")["operationId"] = "kinds_list"
    assert broken(contract(DOCUMENT), contract(other)) == []

"""The OpenAPI document says what the routes say, and its examples work (R8.5)."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from rota.access import Role
from rota.server.openapi import document
from rota.server.problems import Problem
from rota.server.route import Route
from rota.server.routes import table
from tests.support import http_page
from tests.support.asking import Asker
from tests.support.openapi_dump import FILE, dump

ROUTES = {route.name: route for route in table() if route.document}
WITH_EXAMPLE = {name: route for name, route in ROUTES.items() if route.example is not UNSET}
DOCUMENT = document(table())


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_document_is_kept_as_it_is() -> None:
    """A change is seen in a review: python -m tests.support.openapi_dump writes it anew."""
    assert FILE.read_text(encoding="utf-8") == dump()


def test_the_reference_lists_every_route_and_every_problem() -> None:
    """python -m tests.support.http_page writes its tables anew."""
    page = http_page.FILE.read_text(encoding="utf-8")
    assert page == http_page.filled(page)


def test_every_route_for_callers_is_in_it_and_no_other() -> None:
    shown = {(path, method.upper()) for path, method, _ in operations()}
    assert shown == {(route.path, route.method) for route in ROUTES.values()}
    assert not any(path.startswith("/v1/backend") for path in DOCUMENT["paths"])


def test_operations_have_ids_of_their_own_that_read_noun_and_verb() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))
    assert all("_" in name and name.isidentifier() and name.islower() for name in ids)


def test_who_may_call_is_said_of_every_operation() -> None:
    for path, _, operation in operations():
        roles = operation["x-rota-roles"]
        assert roles is None or set(roles) <= set(Role), path
        assert (roles is None) == (operation.get("security") == []), path


def test_every_operation_answers_problems_that_are_described() -> None:
    known = {str(status) for status, _ in Problem.codes().values()}
    for path, _, operation in operations():
        answers = operation["responses"]
        assert {"400", "422", "500", "503"} <= answers.keys(), path
        assert {status for status in answers if status >= "400"} <= known, path
        for code in (c for answer in answers.values() for c in answer.get("x-rota-codes", ())):
            assert isinstance(code, str), path


def test_bodies_are_strict_and_unions_are_open() -> None:
    text = json.dumps(DOCUMENT)
    assert '"oneOf"' not in text
    for path, _, operation in operations():
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        schema = schema.get("items", schema)
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            shape = DOCUMENT["components"]["schemas"][name]
            assert shape.get("additionalProperties") is False, path


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for item in value.values() for found in references(item)]
        return [r for item in value for r in references(item)] if isinstance(value, list) else []

    for reference in set(references(DOCUMENT)):
        at: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]
        assert at


def test_the_batch_takes_lines_as_well() -> None:
    content = DOCUMENT["paths"]["/v1/tasks/batch"]["post"]["requestBody"]["content"]
    assert content.keys() == {"application/json", "application/x-ndjson"}
    assert content["application/x-ndjson"]["schema"]["type"] == "string"


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_is_of_the_type_that_the_route_takes(name: str) -> None:
    route = WITH_EXAMPLE[name]
    msgspec.json.decode(msgspec.json.encode(route.example), type=route.takes)


def test_every_route_that_takes_a_body_has_an_example() -> None:
    assert [name for name, r in ROUTES.items() if r.takes is not None and r.example is UNSET] == []


NOT_SENT = {"login_create"}
"""What has tests of its own because it needs a secret."""


@pytest.mark.parametrize("name", sorted(WITH_EXAMPLE.keys() - NOT_SENT))
async def test_an_example_works(asker: Asker, name: str) -> None:
    route: Route = WITH_EXAMPLE[name]
    path = route.path
    for part in path.split("/"):
        if part.startswith("{"):
            path = path.replace(part, "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44")
    key = "worker" if route.roles == frozenset({Role.WORKER}) else "admin"
    told = await asker.using(key).ask(route.method, path, route.example)
    # What is in the path is not there; all else that is answered is what the example is for.
    fits = {404, 410} if "{" in route.path else {route.status}
    assert told.status in fits or told.status < 300, told.json


async def test_the_document_is_for_whoever_has_a_key(asker: Asker) -> None:
    for key in Role:
        told = await asker.using(key.value).ask("GET", "/openapi.json")
        assert (told.status, told.json["openapi"]) == (200, "3.1.0")
    assert (await asker.using(None).ask("GET", "/openapi.json")).status == 401

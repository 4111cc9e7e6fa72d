"""The OpenAPI document, made from the table of routes: what it says is what is checked (R8.5)."""

from collections.abc import Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import UNSET

from rota import __version__
from rota.server.openapi_shared import (
    PROBLEM,
    SECURITY,
    headers,
    headers_of,
    parameters_of,
    problems,
)
from rota.server.route import Route

_REF = "#/components/schemas/{name}"
_NDJSON = "application/x-ndjson"

Schema = dict[str, Any]


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the document of all routes that are for callers."""
    shown = [route for route in routes if route.document]
    schemas = _Schemas(shown)
    paths: dict[str, dict[str, Any]] = {}
    for route in shown:
        operation = _operation(route, schemas)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rota",
            "version": __version__,
            "description": "A durable, fair, distributed task scheduler. Rules that hold for "
            "every call are in docs/reference/http.md. Fields may be added to answers; requests "
            "are strict.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {"session": []}],
        "tags": [{"name": tag} for tag in sorted({route.tag for route in shown})],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted({**schemas.components, "Problem": PROBLEM}.items())),
            "responses": problems(),
            "headers": headers(),
            "securitySchemes": SECURITY,
        },
    }


class _Schemas:
    """The schemas of all types that routes take and answer."""

    def __init__(self, routes: Sequence[Route]) -> None:
        types = [kind for route in routes for kind in _types_of(route)]
        found, components = msgspec.json.schema_components(types, ref_template=_REF)
        names = {name: _readable(name) for name in components}
        if len(set(names.values())) != len(names):
            raise ValueError(f"two schemas are called alike: {sorted(names)}")
        self.components = {names[name]: _open(shape, names) for name, shape in components.items()}
        shown = [_open(schema, names) for schema in found]
        self._by_type = list(zip(types, shown, strict=True))

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type, or of any of several."""
        parts = _parts(kind)
        if len(parts) > 1:
            return {"anyOf": [self.of(part) for part in parts]}
        return next(schema for known, schema in self._by_type if known is kind)

    def fields(self, kind: Any) -> tuple[dict[str, Schema], set[str]]:
        """Return the fields of a struct, and which must be there."""
        schema = self.components[self.of(kind)["$ref"].rpartition("/")[2]]
        return schema["properties"], set(schema["required"])


def _readable(name: str) -> str:
    """Return the name of a schema for people: `TaskPage` for a page of tasks."""
    whole, _, part = name.rpartition(".")[2].removesuffix("_").partition("_")
    return f"{part}{whole}"


def _open(value: Any, names: dict[str, str]) -> Any:
    """Return a schema with readable names; an object of any content says that it is one."""
    if isinstance(value, list):
        return [_open(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    shape = {key: _open(item, names) for key, item in value.items()}
    if isinstance(reference := shape.get("$ref"), str):
        shape["$ref"] = _REF.format(name=names[reference.rpartition("/")[2]])
    if shape.get("type") == "object" and not shape.keys() & {"properties", "additionalProperties"}:
        shape["additionalProperties"] = True
    if "title" in shape and isinstance(shape["title"], str):
        shape["title"] = _readable(shape["title"].replace("[", "_").replace("]", "_"))
    return shape


def _types_of(route: Route) -> list[Any]:
    named = (kind for kind in (route.takes, route.query, route.answers) if kind is not None)
    return [part for kind in named for part in _parts(kind)]


def _parts(kind: Any) -> tuple[Any, ...]:
    # Of several structs msgspec would have to know which one it reads; we only ever write them.
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "x-rota-roles": None if route.roles is None else sorted(route.roles),
        "parameters": _parameters(route, schemas),
        "responses": _responses(route, schemas),
    }
    if route.roles is None:
        operation["security"] = []
    if route.takes is not None:
        operation["requestBody"] = _body(route, schemas)
    if not operation["parameters"]:
        del operation["parameters"]
    return operation


def _parameters(route: Route, schemas: _Schemas) -> list[dict[str, Any]]:
    found = parameters_of(route)
    if route.query is not None:
        fields, required = schemas.fields(route.query)
        found += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in fields.items()
        ]
    return found


def _body(route: Route, schemas: _Schemas) -> dict[str, Any]:
    schema = schemas.of(route.takes)
    content: dict[str, Any] = {}
    for media in route.media:
        if media == _NDJSON:
            content[media] = {
                "schema": {"type": "string", "description": "One item as JSON in each line."},
                "x-rota-item": schema.get("items", schema),
            }
            if route.example is not UNSET:
                content[media]["example"] = _lines(route.example)
        else:
            content[media] = {"schema": schema}
            if route.example is not UNSET:
                content[media]["example"] = route.example
    return {"required": not _may_be_left_out(route.takes), "content": content}


def _lines(items: Any) -> str:
    return "".join(f"{msgspec.json.encode(item).decode()}\n" for item in items)


def _may_be_left_out(takes: Any) -> bool:
    try:
        msgspec.json.decode(b"{}", type=takes)
    except msgspec.ValidationError:
        return False
    return True


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    done = {"description": _DONE.get(route.status, "Done."), **_content(route, schemas)}
    if route.status in (201, 202):
        done["headers"] = {"Location": {"$ref": "#/components/headers/Location"}}
    found: dict[str, Any] = {str(route.status): done}
    codes: dict[str, list[str]] = {}
    for status, code in route.codes:
        if status < 300 or (status == 503 and route.roles is None):  # the latter: readiness
            found[str(status)] = done | {"description": _DONE.get(status, "Done.")}
        else:
            codes.setdefault(str(status), []).append(code)
    for usual in _may_come(route):
        found.setdefault(usual, {"$ref": f"#/components/responses/{usual}"})
    for unusual, special in codes.items():
        found[unusual] = {
            "description": f"Also: {', '.join(special)}.",
            "content": {"application/problem+json": {"schema": _REF_PROBLEM}},
            "headers": headers_of(int(unusual)),
            "x-rota-codes": special,
        }
    return dict(sorted(found.items()))


def _content(route: Route, schemas: _Schemas) -> dict[str, Any]:
    if route.stream:
        return {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
    if route.status == 204:
        return {}
    schema = {} if route.answers is None else schemas.of(route.answers)
    return {"content": {route.gives: {"schema": schema}}}


def _may_come(route: Route) -> list[str]:
    statuses = ["400", "405", "421", "422", "429", "500", "503"]
    if route.roles is not None:
        statuses += ["401", "403"]
    if "{" in route.path:
        statuses.append("404")
    if route.takes is not None:
        statuses += ["408", "413", "415"]
    if route.audit is not None:
        statuses += ["409", "507"]
    if "If-Match" in route.headers:
        statuses.append("412")
    return statuses


_DONE = {
    200: "As it is now.",
    201: "Made.",
    202: "Begun; see Location.",
    204: "Done.",
    207: "Some were refused; see the items.",
}
_REF_PROBLEM = {"$ref": "#/components/schemas/Problem"}

"""What the operations of the OpenAPI document share: problems, headers, how keys are shown."""

from typing import Any

from rota.server.problems import Problem
from rota.server.route import Route

SECURITY: dict[str, Any] = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key: rota_… (rota keys create).",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-rota",
        "description": "A dashboard's log-in; changes also need the header Rota-CSRF.",
    },
}

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "What is wrong (RFC 9457); `code` is stable, prose is not.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "pattern": "^urn:rota:problem:"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "retry_after_s": {"type": "number"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "in": {"enum": ["body", "query", "header", "path"]},
                    "pointer": {"type": "string"},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
                "required": ["in", "pointer", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail", "instance", "request_id"],
}

_SHARED = {
    400: "It cannot be read.",
    401: "A valid key is needed.",
    403: "The key may not do this.",
    404: "There is nothing here, or it is not yours.",
    405: "The method does not fit; see Allow.",
    408: "The body came too slowly.",
    409: "It stands in the way of something else.",
    412: "It has another version by now.",
    413: "It is too large.",
    415: "The body has another type, none, or is encoded.",
    421: "The host is not this server.",
    422: "A field does not fit; `errors` says which.",
    429: "Too much, or too often; see Retry-After.",
    500: "Something went wrong inside.",
    503: "The store is away, or the server stops; see Retry-After.",
    507: "The store's disk is full.",
}

_OF_STATUS = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After",)}
_OF_STATUS[503] = ("Retry-After",)

_OF_REQUEST = {
    "Idempotency-Key": "Makes a repeat of the same request safe for 24 hours.",
    "If-Match": 'The version that is to be changed, as `ETag` has it: "4".',
    "Last-Event-ID": "The last event that was seen; what came after it is sent first.",
}


def problems() -> dict[str, Any]:
    """Return the answers that any operation may give, by status, with their codes."""
    codes: dict[int, list[str]] = {}
    for code, (status, _) in Problem.codes().items():
        codes.setdefault(status, []).append(code)
    return {
        str(status): {
            "description": text,
            "content": {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            },
            "headers": headers_of(status),
            "x-rota-codes": sorted(codes.get(status, ())),
        }
        for status, text in _SHARED.items()
    }


def headers_of(status: int) -> dict[str, Any]:
    """Return the headers that an answer of a status has besides those that all have."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in _OF_STATUS.get(status, ())}


def headers() -> dict[str, Any]:
    """Return the headers of answers."""
    texts = {
        "Location": "Where it is.",
        "Retry-After": "Come back in so many seconds.",
        "Allow": "The methods that fit.",
        "WWW-Authenticate": "How a key is shown.",
    }
    return {
        name: {"description": text, "required": True, "schema": {"type": "string"}}
        for name, text in texts.items()
    }


def parameters_of(route: Route) -> list[dict[str, Any]]:
    """Return the parameters of a route's path, and the headers that it takes."""
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 128},
        }
        for name in names
    ]
    for name in route.headers:
        schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        found.append(
            {
                "name": name,
                "in": "header",
                "required": False,
                "description": _OF_REQUEST.get(name, ""),
                "schema": schema,
            }
        )
    return found

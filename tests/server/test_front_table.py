"""The table of routes finds each of them (ADR 20)."""

import pytest

from rota.access import Role
from rota.server.route import Answer, Call, Route, roles
from rota.server.routes import table
from rota.server.table import Table


async def nothing(call: Call) -> Answer:
    return Answer({})


def route() -> Route:
    return Route(
        method="GET", path="/v1/x/{id}", name="x_get", summary="", run=nothing,
        roles=roles(Role.READ), tag="tests",
    )  # fmt: skip


def test_no_route_is_in_the_table_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        Table([route(), route()])


def test_every_route_of_the_server_finds_itself() -> None:
    whole = Table(table())
    for one in whole.routes:
        path = "/".join("x" if part.startswith("{") else part for part in one.path.split("/"))
        assert whole.find(one.method, path).ready.route is one

"""Writes what docs/reference/http.md lists: routes and problems, from the tables in the code.

python -m tests.support.http_page
"""

from collections.abc import Iterator
from pathlib import Path

from rota.server.problems import Problem
from rota.server.routes import table

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "http.md"


def routes() -> Iterator[str]:
    """Yield the lines of the table of routes."""
    yield "| call | roles | | operation |"
    yield "|---|---|---|---|"
    for route in sorted(table(), key=lambda one: (one.tag, one.path, one.method)):
        if route.document:
            roles = "anyone" if route.roles is None else ", ".join(sorted(route.roles))
            call = f"`{route.method} {route.path}`"
            yield f"| {call} | {roles} | {route.summary} | `{route.name}` |"


def problems() -> Iterator[str]:
    """Yield the lines of the table of problems."""
    for code, (status, title) in sorted(Problem.codes().items(), key=lambda one: (one[1], one[0])):
        yield f"| `{code}` | {status} | {title} |"


def filled(page: str) -> str:
    """Return the page with both tables as they are now."""
    for name, lines in (("routes", routes()), ("problems", problems())):
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        before, _, rest = page.partition(begin)
        after = rest.partition(end)[2]
        page = "".join((before, begin, *(f"{line}\n" for line in lines), end, after))
    return page


if __name__ == "__main__":
    FILE.write_text(filled(FILE.read_text(encoding="utf-8")), encoding="utf-8")

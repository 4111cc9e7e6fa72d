"""The dashboard: the one page at every address that it shows, and the files that it is made of."""

from msgspec import structs

from rota.server.built import built
from rota.server.login import PAGE_HEADERS
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route
from rota.server.table import NOWHERE

UNBUILT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Rota</title>
</head>
<body>
<h1>Rota</h1>
<p>This server works; its dashboard is not built in this checkout.</p>
<p>To build it: <code>make dashboard</code>, then start the server again.</p>
<p>Meanwhile: <code>rota list --url ADDRESS</code> on the command line,
<a href="/openapi.json">the API</a>, <a href="/healthz">its health</a>.</p>
</body>
</html>
"""
"""Without script or style: the page's own policy would let neither run inline (S6)."""

PAGES = (
    "/",
    "/login",
    "/queues/{queue}",
    "/tasks",
    "/tasks/{id}",
    "/schedules",
    "/schedules/{id}",
    "/schedules/{id}/edit",
    "/dead-letters",
    "/dead-letters/{group}",
    "/tenants",
    "/tenants/{tenant}",
    "/limits",
    "/workers",
    "/workers/{session}",
    "/operations/{id}",
    "/access/{part}",
    "/alerts/{id}",
)
"""The addresses of pages; the same as in web/src/url/routes.ts, which a test holds."""
FILES = ("/boot.js", "/icon.svg", "/icons.svg", "/assets/{file}")


async def show_page(call: Call) -> Answer:
    """Show the one page; at an address that is none it says so, and so does the status."""
    if not built():
        shown = Answer(
            body=UNBUILT.encode(), media="text/html; charset=utf-8", headers=PAGE_HEADERS
        )
    else:
        shown = _sent(call, "/index.html", PAGE_HEADERS)
    if NOWHERE in call.path and shown.status == 200:
        return structs.replace(shown, status=404)
    return shown


async def show_file(call: Call) -> Answer:
    name = call.path.get("file")
    return _sent(call, call.route.path if name is None else f"/assets/{name}", ())


def _sent(call: Call, path: str, headers: tuple[tuple[str, str], ...]) -> Answer:
    file = built().get(path)
    if file is None:
        raise Problem("not_found", "there is no such file in the dashboard")
    own = (
        *headers,
        ("Cache-Control", file.cache),
        ("ETag", file.etag),
        ("Vary", "Accept-Encoding"),
    )
    if call.headers.get("if-none-match") == file.etag:
        return Answer(status=304, headers=own)
    if file.packed is not None and "gzip" in call.headers.get("accept-encoding", ""):
        return Answer(
            body=file.packed, media=file.media, headers=(*own, ("Content-Encoding", "gzip"))
        )
    return Answer(body=file.body, media=file.media, headers=own)


ROUTES = (
    *(
        Route(
            method="GET", path=path, name=f"pages_{number}", summary="Show the dashboard.",
            run=show_page, roles=None, tag="dashboard", document=False, any_query=True,
            gives="text/html",
        )
        for number, path in enumerate(PAGES)
    ),
    *(
        Route(
            method="GET", path=path, name=f"files_{number}", summary="A file of the dashboard.",
            run=show_file, roles=None, tag="dashboard", document=False, gives="text/javascript",
        )
        for number, path in enumerate(FILES)
    ),
)  # fmt: skip

"""`rota login` and `rota logout`: keep a token for a server, and forget it."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rota.cli.asking import ask
from rota.cli.credentials import Credentials, checked, origin, read_token
from rota.cli.options import LOOK, Look
from rota.cli.output import Output
from rota.cli.people import types
from rota.cli.problems import Exit, UsageError
from rota.errors import AccessRefused

ServerUrl = Annotated[str, Parameter(help="The server: http://host:port or https://…")]
TokenFile = Annotated[
    str | None, Parameter(help="A file with the key; without it, stdin or a prompt.")
]


def login(url: ServerUrl, /, *, token_file: TokenFile = None, look: Look = LOOK) -> int:
    """Keep a key for a server, so that commands need no token for it.

    The key is tried first. It goes into a file that only you can read, and from
    there to this server only.

    For instance:

        $ rota login https://rota.internal
        $ rota login http://127.0.0.1:8300 --token-file key.txt
    """
    output = Output(look)
    server = origin(url)
    token = _asked_for(server) if token_file is None else read_token(Path(token_file))
    status, told = ask(server, "/v1/me", token)
    if status in (401, 403):
        raise AccessRefused(f"{server} does not accept this key")
    if status != 200 or not isinstance(told, dict):
        raise UsageError(f"{server} answers {status} to GET /v1/me: is it a server of Rota?")
    credentials = Credentials()
    credentials.put(server, token)
    roles = [str(role) for role in told.get("roles") or ()]
    if look.json:
        output.document({"url": server, "name": told.get("name"), "roles": roles})
    else:
        output.line(f"logged in to {server} as {told.get('name')} ({', '.join(roles)})")
    output.hint(f"The key is kept in {credentials.path}; forget it with: rota logout {server}")
    return Exit.DONE


def logout(url: ServerUrl, /, *, look: Look = LOOK) -> int:
    """Forget the key of a server; the key itself stays good.

    For instance:

        $ rota logout https://rota.internal
    """
    output = Output(look)
    server = origin(url)
    there = Credentials().drop(server)
    if look.json:
        output.document({"url": server, "forgotten": there})
    else:
        output.line(f"forgot the key for {server}" if there else f"no key is kept for {server}")
    return Exit.DONE


def _asked_for(server: str) -> str:
    if sys.stdin.isatty():
        if not types():
            raise UsageError("give the key on stdin, or in a file with --token-file")
        return checked(getpass.getpass(f"Key for {server}: "), "what was typed")
    return checked(sys.stdin.readline(), "stdin")

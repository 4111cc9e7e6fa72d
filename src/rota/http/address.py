"""Which addresses are those of servers, and the backend that stands for one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rota.errors import ConfigurationError

if TYPE_CHECKING:
    from rota.backend import Backend

TOKEN_VARIABLE = "ROTA_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE_VARIABLE = "ROTA_TOKEN_FILE"  # noqa: S105


def is_server(url: str) -> bool:
    """Say whether an address is that of a server.

    >>> is_server("http://localhost:8300"), is_server("sqlite:///rota.db")
    (True, False)
    """
    return url.partition("://")[0].lower() in ("http", "https")


def server_at(url: str, token: str | None) -> "Backend":
    """Return the backend that stands for a server, not yet open."""
    # A program that does not speak to a server has no need of the libraries for it.
    from rota.http.backend import HttpBackend

    return cast("Backend", HttpBackend(url, token or given_token()))


def given_token() -> str | None:
    """Return the token that the environment gives, by the file that has it or itself."""
    if file := os.environ.get(TOKEN_FILE_VARIABLE):
        try:
            return Path(file).read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"${TOKEN_FILE_VARIABLE}: {error}") from None
    return os.environ.get(TOKEN_VARIABLE)

"""Tokens for servers: where a command finds one, and where `rota login` keeps them (S1, S11).

A token belongs to one address and is sent to that alone. What a file in a strange folder sets can
redirect a command, never a token.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from rota import key_text
from rota.cli.problems import UsageError
from rota.cli.settings import OWN_FILE, Setting, config_folder
from rota.errors import AccessRefused

TOKEN_VARIABLE = "ROTA_TOKEN"  # noqa: S105 - the name of the variable, not a token
TOKEN_FILE_VARIABLE = "ROTA_TOKEN_FILE"  # noqa: S105 - the same
OWN_WORDS = ("--url", "ROTA_URL", OWN_FILE)
"""Where an address is set by the person who gives the token; any other file may be anybody's."""

KEPT = "rota login"

_PORTS = {"http": 80, "https": 443}


def is_server(url: str) -> bool:
    """Say whether an address is that of a server, and not of a store.

    >>> is_server("https://rota.internal"), is_server("sqlite:///a.db")
    (True, False)
    """
    return url.partition("://")[0].lower() in _PORTS


def origin(url: str) -> str:
    """Return what a token belongs to: scheme, host and port of an address, written one way.

    >>> origin("HTTP://Host:80/x"), origin("https://host:8300/")
    ('http://host', 'https://host:8300')
    """
    refused = UsageError("the address of a server is http://host:port or https://host:port")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise refused from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname or parts.username is not None:
        raise refused
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host}{'' if port in (None, _PORTS[scheme]) else f':{port}'}"


class Credentials:
    """The tokens that were kept, by address; in a file that only its owner can read."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.path = config_folder(environ) / "credentials.json"

    def get(self, url: str) -> str | None:
        """Return the token that is kept for an address."""
        return self._read().get(origin(url))

    def put(self, url: str, token: str) -> None:
        """Keep a token for an address, in the place of an older one."""
        self._write(self._read() | {origin(url): token})

    def drop(self, url: str) -> bool:
        """Forget the token of an address; say whether there was one."""
        kept = self._read()
        there = kept.pop(origin(url), None) is not None
        if there:
            self._write(kept)
        return there

    def _read(self) -> dict[str, str]:
        try:
            with self.path.open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    raise UsageError(
                        f"others can read {self.path}, so its tokens are not secret: make new "
                        f"ones, and: chmod 600 {self.path}"
                    )
                return msgspec.json.decode(file.read(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"{self.path} cannot be read ({error}); remove it and log in again"
            ) from None

    def _write(self, kept: Mapping[str, str]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        # Never readable by others, not even for a moment; and whole or not there at all.
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(msgspec.json.encode(dict(sorted(kept.items()))))
        fresh.replace(self.path)


def find_token(
    url: str,
    source: str | None,
    token_file: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Setting | None:
    """Return the token for the address of a server, from the first place that has one.

    The places: the file named by `--token-file`, by `ROTA_TOKEN_FILE`, the variable `ROTA_TOKEN`,
    then what `rota login` has kept for this address. The first three go with an address that was
    given by `--url`, `ROTA_URL` or the person's own `config.toml`, or by the program itself
    (`source` None) and no other.
    """
    given = _given(token_file, environ)
    if given is not None and (source is None or source in OWN_WORDS):
        return given
    kept = Credentials(environ).get(url)
    if kept is not None:
        return Setting(kept, KEPT)
    if given is not None:
        raise AccessRefused(
            f"the server is set by {source}, and a token from {given.source} goes only to one "
            f"that is given by --url or ROTA_URL; or: rota login {origin(url)}"
        )
    return None


def token_for(url: str, source: str | None, token_file: str | None = None) -> str:
    """Return the token for a server; `AccessRefused` says how to get one."""
    found = find_token(url, source, token_file)
    if found is None:
        raise AccessRefused(
            f"no key is known for {origin(url)}; run: rota login {origin(url)} "
            "(or set ROTA_TOKEN_FILE)"
        )
    return found.value


def _given(token_file: str | None, environ: Mapping[str, str]) -> Setting | None:
    if token_file is not None:
        return Setting(read_token(Path(token_file)), "--token-file")
    if path := environ.get(TOKEN_FILE_VARIABLE):
        return Setting(read_token(Path(path)), TOKEN_FILE_VARIABLE)
    if token := environ.get(TOKEN_VARIABLE):
        return Setting(checked(token, TOKEN_VARIABLE), TOKEN_VARIABLE)
    return None


def read_token(path: Path) -> str:
    """Return the token in a file; `UsageError` names the file and never what is in it."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the token file {path} cannot be read: {why}") from None
    return checked(text, str(path))


def checked(text: str, place: str) -> str:
    """Return a token without blanks around it; `UsageError` if it is none or mistyped."""
    token = text.strip()
    if key_text.read(token) is None:
        raise UsageError(f"{place} holds no key (rota_…), or one that was copied wrongly")
    return token


def masked_token(token: str) -> str:
    """Return a token as it can be shown: which key it is, never its secret."""
    written = key_text.read(token)
    return "…" if written is None else f"rota_{written.id}_…"

"""Where a command finds the store and the app: option, environment, file, in this order."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from rota.config import URL_VARIABLE
from rota.errors import ConfigurationError
from rota.registry import did_you_mean

APP_VARIABLE = "ROTA_APP"
FILE = "rota.toml"
PROJECT = "pyproject.toml"
OWN_FILE = "config.toml"
NAMES = ("url", "app")


class Setting(Struct, frozen=True):
    """A value, where it was found, and the folder of the file that it was found in."""

    value: str
    source: str
    folder: Path | None = None


class Settings(Struct, frozen=True):
    """What is known before an app is loaded; None is not set anywhere."""

    url: Setting | None = None
    app: Setting | None = None


def find_settings(
    *,
    url: str | None = None,
    app: str | None = None,
    environ: Mapping[str, str] = os.environ,
    here: Path | None = None,
) -> Settings:
    """Return the settings, each from the first place that has it.

    The places: the option, `ROTA_URL` and `ROTA_APP`, then `rota.toml` or `[tool.rota]` in
    `pyproject.toml`, from here upward to the root of the repository. Where none of them sets
    either, the person's own `rota/config.toml` does: what holds everywhere must not send the
    commands of a project elsewhere than its app.
    """
    file = _from_file(here or Path.cwd())
    found = Settings(
        url=_first("--url", url, URL_VARIABLE, environ) or file.get("url"),
        app=_first("--app", app, APP_VARIABLE, environ) or file.get("app"),
    )
    if found != Settings():
        return found
    own = config_folder(environ) / OWN_FILE
    return Settings(**_checked(own, _table(own) or {}))


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a person's own files are kept: `$XDG_CONFIG_HOME/rota`."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "rota"


def _first(
    option: str, given: str | None, variable: str, environ: Mapping[str, str]
) -> Setting | None:
    if given is not None:
        return Setting(given, option)
    value = environ.get(variable)
    return Setting(value, variable) if value else None


def _from_file(here: Path) -> dict[str, Setting]:
    for folder in (here, *here.parents):
        for name in (FILE, PROJECT):
            table = _table(folder / name)
            if table is not None:
                return _checked(folder / name, table)
        if (folder / ".git").exists():
            break
    return {}


def _table(file: Path) -> Mapping[str, Any] | None:
    """Return Rota's settings in a file, or None if it has none."""
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        if file.name == PROJECT:
            return None  # whose file it is will say so; it may have nothing for us
        raise ConfigurationError(f"{file} is not TOML: {error}") from None
    if file.name != PROJECT:
        return content
    tools = content.get("tool")
    return tools.get("rota") if isinstance(tools, dict) else None


def _checked(file: Path, table: Mapping[str, Any]) -> dict[str, Setting]:
    found = {}
    for name, value in table.items():
        if name not in NAMES:
            hint = did_you_mean(name, NAMES) or f"; there are {' and '.join(NAMES)}"
            raise ConfigurationError(f"{file}: {name!r} is not a setting{hint}")
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{file}: {name} must be text, not {value!r}")
        at = file.parent
        found[name] = Setting(_anchored(value, at) if name == "url" else value, file.name, at)
    return found


def _anchored(url: str, folder: Path) -> str:
    """Return a file's address as seen from its settings file, whatever folder we are in."""
    path = sqlite_path(url)
    return url if path is None else f"sqlite:///{folder / path}"


def sqlite_path(url: str) -> Path | None:
    """Return the file that an address names, or None if it is not one of SQLite.

    >>> sqlite_path("sqlite:///var/a.db"), sqlite_path("postgresql://db/a")
    (PosixPath('var/a.db'), None)
    """
    rest = url.removeprefix("sqlite:///")
    return Path(rest) if rest not in (url, "") else None

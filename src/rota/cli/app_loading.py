"""Finds an app by `module:attribute`, and says exactly what is wrong when it cannot."""

import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from rota.app import Rota
from rota.errors import ConfigurationError, RotaError
from rota.registry import did_you_mean

_NAME = r"[^\W\d]\w*"
_PATH = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME}(?:\.{_NAME})*)")


def load_app(path: str, folders: Sequence[Path] = ()) -> Rota:
    """Return the app at `module:attribute`; `ConfigurationError` says what to change.

    Modules are looked for in the current folder first, then in `folders`.
    """
    module_name, attribute = check_path(path)
    for folder in reversed((Path.cwd(), *folders)):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    found: object = _module(module_name)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConfigurationError(
                f"{path}: {_called(found)} has no attribute {name!r}{_others(found, name)}"
            )
        found = getattr(found, name)
    if not isinstance(found, Rota):
        raise ConfigurationError(
            f"{path} is of type {type(found).__name__}, not a Rota(…)"
            f"{_others(sys.modules[module_name], '')}"
        )
    return found


def check_path(path: str) -> tuple[str, str]:
    """Return the module and the attribute that a path names; `ConfigurationError` if it is none."""
    match = _PATH.fullmatch(path)
    if match is None or match[1].endswith(".py"):
        raise ConfigurationError(f"{path!r} is no app; {_suggestion(path)}")
    return match[1], match[2]


def _suggestion(path: str) -> str:
    if path.endswith(".py") or ".py:" in path or "/" in path:
        file, _, attribute = path.partition(":")
        module = file.removesuffix(".py").strip("./").replace("/", ".")
        return f"write it as {module}:{attribute or 'app'}"
    if ":" not in path:
        return f"write module:attribute, for instance {path or 'app'}:app"
    return "write module:attribute, for instance app:app"


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise _broken(name, error) from error
        raise ConfigurationError(
            f"there is no module {missing!r} in {Path.cwd()}; "
            "go to the folder that holds it, or set PYTHONPATH"
        ) from None
    except RotaError:
        raise
    except (Exception, SystemExit) as error:
        raise _broken(name, error) from error


def _broken(name: str, error: BaseException) -> ConfigurationError:
    return ConfigurationError(
        f"module {name!r} fails when it is imported: {type(error).__name__}: {error}"
    )


def _called(found: object) -> str:
    return f"module {found.__name__!r}" if isinstance(found, ModuleType) else repr(found)


def _others(found: object, wanted: str) -> str:
    names = [name for name, value in vars(found).items() if isinstance(value, Rota)]
    if not names:
        return did_you_mean(wanted, vars(found)) or "; it holds no Rota(…)"
    return f"; its apps: {', '.join(names)}"

"""`rota config show`: which settings a command would use, and where each comes from."""

import os

from rota.cli.credentials import Credentials, find_token, is_server, masked_token
from rota.cli.logs import FORMAT_VARIABLE
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.settings import Setting, find_settings
from rota.config import DEFAULT_URL
from rota.errors import AccessRefused
from rota.store import masked

DEFAULT = "default"


def config_show(*, common: Common = COMMON) -> None:
    """Show each setting with its source; passwords and keys are masked.

    The code of the app is not run: its own address is not among what is shown.

    For instance:

        $ rota config show
        $ rota config show --url https://rota.internal
    """
    output = Output(common)
    rows = _rows(common)
    if common.json:
        output.document({name: {"value": value, "source": source} for name, value, source in rows})
    elif output.terminal:
        output.table(("SETTING", "VALUE", "FROM"), [[n, v or "-", s] for n, v, s in rows])
    else:
        for name, value, source in rows:
            output.fields((name, value or "", source))


def _rows(common: Common) -> list[tuple[str, str | None, str]]:
    found = find_settings(url=common.url, app=common.app)
    if found.url is not None:
        url = found.url
    elif found.app is not None:
        url = Setting("", "the app")
    else:
        url = Setting(DEFAULT_URL, DEFAULT)
    rows: list[tuple[str, str | None, str]] = [
        ("url", masked(url.value) or None, _source(url)),
        ("app", None if found.app is None else found.app.value, _source(found.app)),
        ("token", *_token(url, common)),
        ("log_format", os.environ.get(FORMAT_VARIABLE) or "text", _variable(FORMAT_VARIABLE)),
        ("credentials", str(Credentials().path), DEFAULT),
    ]
    return rows


def _token(url: Setting, common: Common) -> tuple[str | None, str]:
    if not is_server(url.value):
        return None, "not needed"
    try:
        token = find_token(url.value, url.source, common.token_file)
    except AccessRefused as error:
        return None, f"withheld: {error}"
    return (None, "rota login") if token is None else (masked_token(token.value), token.source)


def _source(setting: Setting | None) -> str:
    if setting is None:
        return "not set"
    return str(setting.source if setting.folder is None else setting.folder / setting.source)


def _variable(name: str) -> str:
    return name if os.environ.get(name) else DEFAULT

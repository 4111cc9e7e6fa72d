"""Opens the app that a command works on: the one that is set, or a bare one at an address."""

import asyncio
import logging

from rota.app import Rota
from rota.cli.app_loading import load_app
from rota.cli.credentials import is_server, token_for
from rota.cli.logs import set_up_logs
from rota.cli.options import Common
from rota.cli.problems import NoStoreYet
from rota.cli.settings import Setting, Settings, find_settings, sqlite_path
from rota.config import APP_NAME, DEFAULT_URL
from rota.errors import ConfigurationError
from rota.store import masked

log = logging.getLogger("rota.cli")


def open_app(
    common: Common, *, kinds: bool = False, makes: bool = False, reads: bool = False
) -> Rota:
    """Return an app at the address that is set; close it after use.

    `kinds` asks for the kinds of the app that is set, if one is: otherwise its code is run only
    for its address. Where there is no store, only a command that `makes` one makes it, or an app
    with kinds unless it only `reads`: an empty store in the wrong folder would hide a mistake. One
    that is not about kinds makes it only at an address that somebody chose: a key that lies
    elsewhere opens nothing.
    """
    set_up_logs(common)
    settings = find_settings(url=common.url, app=common.app)
    app = chosen_app(settings, common.token_file) if kinds or settings.url is None else None
    chosen = app is not None or settings.url is not None
    made = makes and (kinds or chosen)
    if reads or not (made or (kinds and app is not None)):
        require_store(app.url if app else settings.url.value if settings.url else DEFAULT_URL)
    if app is None:
        app = bare_app(settings.url, common.token_file)
    reach(app)
    return app


def chosen_app(settings: Settings, token_file: str | None = None) -> Rota | None:
    """Return the app that is set, at the address that is set or else its own; None without one."""
    if settings.app is None:
        return None
    own = load(settings.app)
    warn_of_other_address(own, settings.url)
    return at_address(own, settings.url, token_file)


def bare_app(url: Setting | None, token_file: str | None = None, *, name: str = APP_NAME) -> Rota:
    """Return an app without kinds at the address that is set, with the token for it."""
    if url is None or not is_server(url.value):
        return Rota(url.value if url else None, name=name)
    return Rota(url.value, name=name, token=token_for(url.value, url.source, token_file))


def at_address(own: Rota, url: Setting | None, token_file: str | None = None) -> Rota:
    """Return an app with the same kinds at the address that is set, or the app itself."""
    if url is None or url.value == own.url:
        if not is_server(own.url) or own.token is not None:
            return own
        url = Setting(own.url, "") if url is None else url
    if not is_server(url.value):
        return own.at(url.value)
    return own.at(url.value, token=token_for(url.value, url.source or None, token_file))


def warn_of_other_address(own: Rota, url: Setting | None) -> None:
    """Say that the program itself uses another store than the one that is set beside it."""
    if url is None or url.source == "--url" or own.url in (url.value, DEFAULT_URL):
        return
    log.warning(
        "the store is %s by %s; the app itself uses %s", masked(url.value), url.source,
        masked(own.url),
    )  # fmt: skip


def load(setting: Setting) -> Rota:
    """Return the app of a setting; an error says where the setting comes from."""
    try:
        return load_app(setting.value, [setting.folder] if setting.folder else [])
    except ConfigurationError as error:
        if setting.source == "--app":
            raise
        raise ConfigurationError(f"{error} (the app is set by {setting.source})") from error


def require_store(url: str) -> None:
    """Raise `NoStoreYet` if the address is that of a SQLite file that is not there."""
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise NoStoreYet(
            f"there is no store at {masked(url)} yet; name another with --url or --app, "
            "or make it with: rota migrate"
        )


def reach(app: Rota) -> None:
    """Open the app's store once, to know at once that it is there and ready."""

    # The app itself would wait half a minute for a store that is away. A person at a terminal
    # who mistyped an address wants to know now.
    async def knock() -> None:
        backend = app.connect()
        try:
            await backend.open()
        finally:
            await backend.close()

    asyncio.run(knock())

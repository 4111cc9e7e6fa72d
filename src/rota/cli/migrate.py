"""`rota migrate`: brings the store's schema up to date."""

from rota.app import Rota
from rota.cli.credentials import is_server
from rota.cli.logs import set_up_logs
from rota.cli.opening import chosen_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.settings import find_settings
from rota.store import masked


def migrate(*, common: Common = COMMON) -> None:
    """Bring the store's schema up to date.

    Prints each migration that it applied. Any number of processes may call it at
    once: each migration is applied once. A SQLite file is made and migrated by
    whatever uses it first.

    For instance:

        $ rota migrate --url postgresql://rota@db/rota
    """
    set_up_logs(common)
    output = Output(common)
    settings = find_settings(url=common.url, app=common.app)
    app = chosen_app(settings) if settings.url is None else None
    url = app.url if app else settings.url.value if settings.url else ""
    if is_server(url):
        raise UsageError("a server's store is migrated where it lies: give --url of the store")
    with app or Rota(settings.url.value if settings.url else None) as target:
        applied = target.migrate()
        output.hint(f"The store is {masked(target.url)}")
    if common.json:
        output.document({"applied": applied})
        return
    for name in applied:
        output.line(f"applied {name}")
    if not applied:
        output.line("up to date")

"""`rota doctor`: says what is not as it should be, and what to do about it."""

import asyncio

from rota.app import Rota
from rota.backend import Backend
from rota.cli.credentials import is_server
from rota.cli.logs import set_up_logs
from rota.cli.opening import bare_app, chosen_app, require_store
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.problems import Exit
from rota.cli.settings import find_settings
from rota.clock import SystemClock, new_rng, wall
from rota.diagnosis import Diagnosis, Finding, Severity
from rota.diagnosis_views import view
from rota.engine import Engine
from rota.errors import SchemaOutOfDate
from rota.store import masked, store_for

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "bright_black"}


def doctor(*, common: Common = COMMON) -> int:
    """Say what is not as it should be, and what to do about it.

    It looks at the store, the workers and what waits for them. Nothing is changed,
    and it costs little whatever the backlog. Notes alone are healthy.

    Exit 0 if healthy, 1 with findings, 6 if the store cannot be reached.

    For instance:

        $ rota doctor
        $ rota doctor --url https://rota.internal
        $ rota doctor --json | jq -e .ok
    """
    set_up_logs(common)
    output = Output(common)
    settings = find_settings(url=common.url, app=common.app)
    app = chosen_app(settings, common.token_file) if settings.url is None else None
    with app or bare_app(settings.url, common.token_file) as target:
        require_store(target.url)
        found = asyncio.run(_examined(target))
    if common.json:
        output.document(view(found))
    elif output.terminal:
        _tell(output, found)
    else:
        for finding in found.findings:
            output.fields((finding.severity, finding.code, finding.what, finding.remedy))
    return Exit.DONE if found.healthy else Exit.FAILED


async def _examined(app: Rota) -> Diagnosis:
    backend: Backend
    if is_server(app.url):
        backend = app.connect()
    else:
        # Not as the app does it, which would bring a file's schema up to date: a look does not.
        backend = Engine(store_for(app.url), SystemClock(), new_rng())
    try:
        await backend.open()
        return await backend.diagnose()
    except SchemaOutOfDate as error:
        behind = Finding(Severity.ERROR, "migrations", str(error), "rota migrate")
        return Diagnosis(wall(), masked(app.url), (behind,))
    finally:
        await backend.close()


def _tell(output: Output, found: Diagnosis) -> None:
    for finding in found.findings:
        word = output.styled(f"{finding.severity:<8}", COLOURS[finding.severity])
        output.line(f"{word} {finding.what}")
        output.line(f"         {output.styled(finding.remedy, 'bold')}")
    if found.healthy:
        output.line(f"healthy: {found.store}{_many(', ', len(found.findings), 'note')}")
    else:
        bad = sum(finding.severity is not Severity.NOTE for finding in found.findings)
        output.hint(f"{found.store}{_many(': ', bad, 'finding')}")


def _many(before: str, number: int, noun: str) -> str:
    return f"{before}{number} {noun}{'s' if number > 1 else ''}" if number else ""

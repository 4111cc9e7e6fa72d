"""`rota version`: what is installed."""

import platform

from rota import __version__
from rota.cli.options import LOOK, Look
from rota.cli.output import Output


def version(*, look: Look = LOOK) -> None:
    """Print the version.

    For instance:

        $ rota version
    """
    output = Output(look)
    if look.json:
        output.document({"version": __version__, "python": platform.python_version()})
    else:
        output.line(f"rota {__version__}, Python {platform.python_version()}")

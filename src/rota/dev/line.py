"""The line between the parent of `rota dev` and the child that runs the code."""

import os
from typing import Final

CHILD: Final = "ROTA_DEV_CHILD"
"""Set for a child: the number of the file on which it tells its parent how far it is."""

LOADED: Final = b"loaded\n"
"""The child has imported the app and waits to be told to go on."""

GO: Final = b"go\n"
"""The parent lets the child serve: the one before it has let go of the port."""
CODE: Final = b"code\n"
"""The parent asks the child to print a new link to log in with."""


def child_file() -> int | None:
    """Return the file on which this process tells its parent, None if it is no child."""
    text = os.environ.get(CHILD, "")
    return int(text) if text.isdecimal() else None

"""A caller's own connection: what is done on it is part of the caller's transaction (R1.3, R3.5).

A connection is borrowed for the few statements of one piece of work. It is never committed, rolled
back or closed here: what was done exists when the caller commits, and never if not. No driver is
imported that the caller has not imported.
"""

from rota.transactions.do import ado, do
from rota.transactions.home import Home
from rota.transactions.inside import Inside

__all__ = ["Home", "Inside", "ado", "do"]

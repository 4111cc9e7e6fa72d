"""The store in one SQLite file: nothing to install, several processes on one machine.

Work is handed to SQLite as JSON and comes back as JSON, one statement a batch. SQLite then runs
without Python's lock from the first row to the last; a statement a row would give the lock up and
wait for it again at every row, beside whatever else the process is doing.
"""

from rota.store.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]

"""How verbs are done on SQLite: by the writer's thread, or by a reader's."""

import os
from pathlib import Path

from rota.errors import StoreError
from rota.store.sqlite.readers import Readers
from rota.store.sqlite.writer import Writer


class Verbs:
    """The base of the parts of the store."""

    path: Path
    _writer: Writer | None
    _readers: Readers | None
    _process: int

    @property
    def _write(self) -> Writer:
        if self._writer is None or self._process != os.getpid():
            raise self._not_open()
        return self._writer

    @property
    def _read(self) -> Readers:
        if self._readers is None or self._process != os.getpid():
            raise self._not_open()
        return self._readers

    def _not_open(self) -> StoreError:
        # A fork takes neither the threads along nor the right to use the connections.
        return StoreError(f"the store {self.path} is not open in this process; open() it first")

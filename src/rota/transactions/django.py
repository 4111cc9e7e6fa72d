"""Connections of Django: `django.db.connection` and `django.db.connections[alias]`."""

from typing import Any

from rota.errors import ConfigurationError
from rota.transactions.borrowed import Dialect, Rows, Values, needed, percent

_DIALECTS: dict[str, Dialect] = {"postgresql": "postgres", "sqlite": "sqlite"}


class DjangoConnection:
    """A Django `DatabaseWrapper`; it begins a transaction by `atomic` alone."""

    begins = None

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        if connection.vendor not in _DIALECTS:
            raise ConfigurationError(
                f"Rota's tasks lie in PostgreSQL or SQLite; this connection is to "
                f"{connection.display_name}"
            )
        self.dialect = _DIALECTS[connection.vendor]

    def run(self, sql: str, values: Values) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.execute(percent(sql), needed(sql, values))
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

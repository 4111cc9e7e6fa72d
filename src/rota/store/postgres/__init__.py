"""The store on PostgreSQL 14 or newer, through asyncpg."""

from rota.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]

"""The engine: the one place where policy meets the store."""

from rota.engine.engine import Engine

__all__ = ["Engine"]

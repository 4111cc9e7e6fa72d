"""Cron expressions: read, refused, and followed on local times without a zone (R6.1)."""

from rota.policy.cron.expression import Expression, parse

__all__ = ["Expression", "parse"]

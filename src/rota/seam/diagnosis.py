"""The part of the seam that is about how everything is doing."""

from typing import Protocol

from rota.diagnosis import Diagnosis as Found


class Diagnosis(Protocol):
    """What whoever stands before a store may ask of how it is doing."""

    async def diagnose(self) -> Found:
        """Say what is not as it should be, and what to do about it."""
        ...

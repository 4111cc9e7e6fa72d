"""Waiting for a sign, but not for ever."""

import asyncio


async def within(seconds: float, sign: asyncio.Event) -> bool:
    """Wait for a sign, at most so many seconds; say whether it came."""
    try:
        async with asyncio.timeout(seconds):
            return await sign.wait()
    except TimeoutError:
        return False

"""Calls hooks: what one does wrong is logged and changes nothing."""

import asyncio
import inspect
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from rota.hooks import Hook
from rota.node.resources import Aside

log = logging.getLogger("rota.worker")

HOOK_SECONDS = 10.0
"""Nobody waits longer for a hook; one that hangs must not hold up reports."""


async def call_hooks(hooks: Sequence[Hook], aside: Aside[Any], *told: Any) -> None:
    """Call each hook: async ones on this event loop, plain ones aside."""
    for hook in hooks:
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                if inspect.iscoroutinefunction(hook):
                    await hook(*told)
                else:
                    await aside(partial(hook, *told))
        except TimeoutError:
            log.error("the hook %s took longer than %g s; going on", name_of(hook), HOOK_SECONDS)
        except (Exception, SystemExit, KeyboardInterrupt):
            log.exception("the hook %s failed", name_of(hook))


def name_of(hook: Hook) -> str:
    """Return what to call a hook in the log."""
    return getattr(hook, "__qualname__", repr(hook))

"""Leaves out what a key without `payloads` may not read: contents, and what may quote them."""

from msgspec import structs

from rota.model import AttemptError, DeadLetterGroup, Task
from rota.schedule import Schedule

NO_PAYLOAD = '{"masked":true}'
"""The payload of a schedule's work as such a key reads it."""


def mask_task(task: Task) -> Task:
    """Return a task without payload, result, checkpoint, headers and the texts of its errors."""
    return structs.replace(
        task,
        payload=None,
        result=None,
        checkpoint=None,
        headers={},
        errors=tuple(map(_mask_error, task.errors)),
    )


def _mask_error(error: AttemptError) -> AttemptError:
    return structs.replace(error, message="", traceback="")


def mask_group(group: DeadLetterGroup) -> DeadLetterGroup:
    """Return a group of dead letters without what their errors say."""
    return structs.replace(group, shape="")


def mask_schedule(schedule: Schedule) -> Schedule:
    """Return a schedule without the payload and headers of its tasks."""
    return structs.replace(
        schedule, work=structs.replace(schedule.work, payload=NO_PAYLOAD, headers=None)
    )


def unmask_schedule(changed: Schedule, stored: Schedule) -> Schedule:
    """Return a schedule that was read masked and changed, with what its reader did not see."""
    if changed.work.payload != NO_PAYLOAD:
        return changed
    unseen = {"payload": stored.work.payload, "headers": stored.work.headers}
    return structs.replace(changed, work=structs.replace(changed.work, **unseen))

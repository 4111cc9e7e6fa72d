"""Ends what a worker has started when the worker itself cannot: it was killed, or it crashed."""

import logging
import os
import subprocess
from collections.abc import Iterator

from rota.resource import Resource

log = logging.getLogger("rota.worker")

# It reads which process groups live, and kills those that are left when the pipe's other end is
# gone, however that happened. Only the worker's own end ends it: who stops a whole service tells
# every process of it.
GUARD = """
trap '' TERM INT HUP
groups=' '
while read -r word group; do
    case $word in
        watch) groups="$groups $group" ;;
        forget)
            left=' '
            for one in $groups; do
                [ "$one" = "$group" ] || left="$left $one"
            done
            groups=$left
            ;;
    esac
done
for group in $groups; do
    kill -9 "-$group" 2>/dev/null
done
"""


class Guard:
    """A small process beside a worker that kills process groups which outlive it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Kill this process group if the worker ends before it is told to forget it."""
        self._tell("watch", group)

    def forget(self, group: int) -> None:
        """Leave a group alone that has ended: its number may soon be another's."""
        self._tell("forget", group)

    def close(self) -> None:
        """Kill what is still watched, and end."""
        self._process.communicate()

    def _tell(self, word: str, group: int) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        try:
            os.write(pipe.fileno(), f"{word} {group}\n".encode())
        except OSError as error:
            log.warning("the guard of commands is gone (%s); they may outlive this worker", error)


def _open() -> Iterator[Guard]:
    opened = Guard()
    try:
        yield opened
    finally:
        opened.close()


guard: Guard = Resource(_open)  # type: ignore[assignment]  # a worker hands out what it yields
"""The guard of the worker that runs a handler."""

"""Which queues a worker takes: by name, by a pattern such as `mail.*`, or all but some, `!bulk`."""

from collections.abc import Iterable

EXCEPT = "!"
ANY = "*"


def is_pattern(word: str) -> bool:
    """Say whether a word may stand for several queues."""
    return ANY in word


def matches(pattern: str, queue: str) -> bool:
    """Say whether a queue fits a pattern, in which `*` stands for any characters, or for none.

    >>> matches("mail.*", "mail.bulk"), matches("mail.*", "mail"), matches("*.eu", "sms.eu")
    (True, False, True)
    """
    first, *parts = pattern.split(ANY)
    if not parts:
        return pattern == queue
    last = parts.pop()
    if len(queue) < len(first) + len(last) or not queue.startswith(first):
        return False
    at, end = len(first), len(queue) - len(last)
    # The leftmost place of each part leaves most for the others, so nothing has to be tried twice.
    for part in parts:
        found = queue.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return queue.endswith(last)


def excluded(words: Iterable[str], queue: str) -> bool:
    """Say whether an exclusion among the words takes this queue away from patterns."""
    return any(matches(word[1:], queue) for word in words if word.startswith(EXCEPT))


def takes(words: Iterable[str], queue: str) -> bool:
    """Say whether whoever takes these queues, as a session names them, takes this one.

    An exclusion takes away from patterns, never from what is named.

    >>> takes(["sms", "*", "!bulk"], "bulk"), takes(["sms", "*", "!bulk"], "mail")
    (False, True)
    """
    words = tuple(words)
    if queue in words:
        return True
    fits = any(is_pattern(word) and matches(word, queue) for word in words if word[0] != EXCEPT)
    return fits and not excluded(words, queue)

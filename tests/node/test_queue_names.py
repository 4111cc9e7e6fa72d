"""What `--queue` may say, and which pool takes which queue (R7.6)."""

import pytest

from rota.errors import ConfigurationError
from rota.node.queue_names import plan_queues

TABLE = [
    (["sms"], {"sms": 100, "mail": None}),
    (["sms", "mail"], {"sms": 100, "mail": 100}),
    (["sms=50", "transcode=2"], {"sms": 50, "transcode": 2, "mail": None}),
    (["sms=50", "mail"], {"sms": 50, "mail": 100, "bulk": None}),
    (["mail.*=5"], {"mail.a": 5, "mail": None}),
    (["!bulk"], {"sms": 100, "bulk": None}),
    (["!bulk", "!slow.*"], {"sms": 100, "bulk": None, "slow.x": None}),
    (["sms=50", "!bulk"], {"sms": 50, "mail": 100, "bulk": None}),
    (["*", "transcode=2"], {"sms": 100, "transcode": 2}),
    (["mail.*=5", "!mail.bulk"], {"mail.a": 5, "mail.bulk": None, "sms": None}),
    (["mail.bulk=1", "mail.*=5", "!*.bulk"], {"mail.bulk": 1, "mail.a": 5, "mail.a.bulk": None}),
    (["*=50", "mail.*=2"], {"sms": 50, "mail.a": 2}),
    (["mail.*=2", "*=50"], {"sms": 50, "mail.a": 2}),
]


@pytest.mark.parametrize(("words", "expected"), TABLE, ids=[" ".join(words) for words, _ in TABLE])
def test_each_queue_has_one_pool_or_none(words: list[str], expected: dict[str, int | None]) -> None:
    plan = plan_queues(words, 100)

    at = {queue: plan.pool_of(queue) for queue in expected}
    slots = {queue: None if pool is None else plan.pools[pool].slots for queue, pool in at.items()}

    assert slots == expected


@pytest.mark.parametrize(
    ("words", "shown", "slots"),
    [
        (["sms=50", "mail"], ("mail", "sms"), 150),
        (["!bulk"], ("*", "!bulk"), 100),
        (["a=1", "b=2"], ("a", "b"), 3),
    ],
)
def test_a_session_shows_names_patterns_exclusions_and_all_slots(
    words: list[str], shown: tuple[str, ...], slots: int
) -> None:
    plan = plan_queues(words, 100)

    assert (plan.words, plan.slots) == (shown, slots)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sms=0"], "queue sms=0: .* from 1 to 100,000, not '0'"),
        (["sms=many"], "queue sms=many: .* not 'many'"),
        (["sms="], "queue sms=: .* not ''"),
        (["sms=1=2"], "queue sms=1=2: .* not '1=2'"),
        (["sms=1234567"], "queue sms=1234567: "),
        (["=5"], "queue =5: '' is neither a queue's name"),
        ([""], "queue : '' is neither"),
        (["a b"], "queue a b: 'a b' is neither"),
        (["a?*"], "queue a\\?\\*: 'a\\?\\*' is neither"),
        (["!"], "queue !: '' is neither"),
        (["!!a"], "queue !!a: '!a' is neither"),
        (["!bulk=3"], "queue !bulk=3: what is not taken has no slots"),
        (["sms", "sms"], "queue sms: it is given twice"),
        (["sms", "sms=3"], "queue sms: it is given twice"),
        (["mail.*=1", "mail.*=3"], r"queue mail.\*: it is given twice"),
        (["!bulk", "!bulk"], "queue !bulk: it is given twice"),
        (["*", "bulk", "!bulk"], "queue !bulk: it is taken as well"),
        (["sms", "!bulk"], "queue !bulk: there is nothing to take it away from but the names sms"),
    ],
)
def test_what_cannot_be_is_refused_by_its_word(words: list[str], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        plan_queues(words, 100)

"""Retryable errors are told from permanent ones, and servers are obeyed (R4.2)."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from rota.clock import instant
from rota.config import SECOND
from rota.errors import ConfigurationError
from rota.rules import Verdicts, retry_after

NOW = 1_800_000_000 * SECOND


def about(error: BaseException) -> bool | None:
    """A rule: what says `never` is permanent, what says `again` is not, else no opinion."""
    return {"never": True, "again": False}.get(str(error))


def broken(error: BaseException) -> bool:
    """A rule that fails."""
    raise RuntimeError("the rule is wrong")


@pytest.mark.parametrize(
    ("retry_on", "fail_on", "error", "permanent"),
    [
        ((), (), ValueError(), False),
        ((), ValueError, ValueError(), True),
        ((), (KeyError, ValueError), ValueError(), True),
        ((), (LookupError,), KeyError(), True),
        ((), ValueError, TypeError(), False),
        (ConnectionError, (), ConnectionResetError(), False),
        (ConnectionError, (), ValueError(), True),
        (OSError, ConnectionError, ConnectionError(), True),
        ((), about, ValueError("never"), True),
        ((), about, ValueError("again"), False),
        ((), about, ValueError("else"), False),
        (KeyError, about, ValueError("again"), False),
        (lambda error: not about(error), (), ValueError("never"), True),
        (lambda error: None, (), ValueError(), False),
        ((KeyError, lambda error: None), (), ValueError(), True),
        ((), broken, ValueError(), False),
        ((), (broken, about), ValueError("never"), True),
    ],
)
def test_errors_are_told_apart(
    retry_on: Any, fail_on: Any, error: Exception, permanent: bool
) -> None:
    assert Verdicts(retry_on, fail_on).permanent(error) is permanent


@pytest.mark.parametrize("rule", ["ValueError", 3, int, (ValueError, "x")])
def test_what_is_no_rule_is_refused(rule: Any) -> None:
    with pytest.raises(ConfigurationError, match="retry_on"):
        Verdicts(retry_on=rule)


def response(**headers: Any) -> SimpleNamespace:
    """A response as HTTP clients have it."""
    return SimpleNamespace(headers={name.replace("_", "-"): v for name, v in headers.items()})


class Told(Exception):
    """An error with attributes."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__("told")
        for name, value in attributes.items():
            setattr(self, name, value)


class Unwilling(Exception):
    """Raises where it is asked."""

    @property
    def response(self) -> Any:
        """There is none."""
        raise RuntimeError("no response was set")


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (ValueError(), None),
        (Told(retry_after=7), 7 * SECOND),
        (Told(retry_after=1.5), 1_500_000),
        (Told(retry_after=timedelta(minutes=1)), 60 * SECOND),
        (Told(retry_after="7"), 7 * SECOND),
        (Told(retry_after=None), None),
        (Told(retry_after="soon"), None),
        (Told(retry_after=-5), None),
        (Told(retry_after=object()), None),
        (Told(response=response(Retry_After="120")), 120 * SECOND),
        (Told(response=response(retry_after="120")), 120 * SECOND),
        (Told(response=response(Retry_After=b"120")), 120 * SECOND),
        (Told(headers={"Retry-After": "120"}), 120 * SECOND),
        (Told(response=response(Other="1")), None),
        (Told(response=None), None),
        (Told(response=response(Retry_After="Fri, 15 Jan 2027 08:01:00 GMT")), 60 * SECOND),
        (Told(response=response(Retry_After="Fri, 15 Jan 2027 07:00:00 GMT")), 0),
        (Told(response=response(Retry_After="Fri, 99 Jan 2027")), None),
        (Told(retry_after="nan"), None),
        (Unwilling(), None),
        (Told(retry_after="9" * 400), None),
    ],
)
def test_a_servers_retry_after_is_read(error: Exception, wait: int | None) -> None:
    """R4.2: seconds or an HTTP date; what cannot be read counts as nothing."""
    assert instant(NOW).isoformat() == "2027-01-15T08:00:00+00:00"
    assert retry_after(error, NOW) == wait

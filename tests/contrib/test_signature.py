"""Signatures of Standard Webhooks 1.0: genuine, fresh, and of this very body (S5)."""

from collections.abc import Callable

import pytest

from rota.contrib._signature import WINDOW, BadSignature, key_of, sign, verify
from rota.errors import ConfigurationError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="
NOW = 1_614_265_330
BODY = b'{"test": 2432232314}'


def test_it_is_the_signature_of_the_standard() -> None:
    """The example that Standard Webhooks gives to those who implement it."""
    headers = sign([SECRET], "msg_p5jXN8AQM9LWM0D4loKWxJek", NOW, BODY)

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": str(NOW),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_receiver_can_tell_by_either_of_two_secrets() -> None:
    """After a rotation, for a day."""
    headers = sign([OTHER, SECRET], "m1", NOW, BODY)

    assert verify(SECRET, headers, BODY, NOW) == verify(OTHER, headers, BODY, NOW) == "m1"


CHANGES: dict[str, Callable[[dict[str, str]], dict[str, str]]] = {
    "other id": lambda h: h | {"webhook-id": "m2"},
    "other time": lambda h: h | {"webhook-timestamp": str(NOW + 1)},
    "no time": lambda h: h | {"webhook-timestamp": ""},
    "time in other digits": lambda h: h | {"webhook-timestamp": "\u0661"},
    "no signature": lambda h: h | {"webhook-signature": ""},
    "other version": lambda h: (
        h | {"webhook-signature": h["webhook-signature"].replace("v1,", "v0,")}
    ),
    "not ASCII": lambda h: h | {"webhook-signature": "v1,\u00e9"},
    "no headers": lambda h: {},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_refused(change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with pytest.raises(BadSignature):
        verify(SECRET, change(sign([SECRET], "m1", NOW, BODY)), BODY, NOW)


def test_another_body_or_secret_is_refused() -> None:
    headers = sign([SECRET], "m1", NOW, BODY)
    for secret, body in [(OTHER, BODY), (SECRET, BODY + b" ")]:
        with pytest.raises(BadSignature, match="no signature"):
            verify(secret, headers, body, NOW)


@pytest.mark.parametrize(
    ("later", "fresh"),
    [(0, True), (WINDOW, True), (-WINDOW, True), (WINDOW + 1, False), (-WINDOW - 1, False)],
)
def test_a_replay_outside_the_window_is_refused(later: int, fresh: bool) -> None:
    """S5"""
    headers = sign([SECRET], "m1", NOW, BODY)
    if fresh:
        assert verify(SECRET, headers, BODY, NOW + later) == "m1"
        return
    with pytest.raises(BadSignature, match="too long ago"):
        verify(SECRET, headers, BODY, NOW + later)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", "whsec_c2hvcnQ=", SECRET[6:]])
def test_a_secret_that_is_none_or_could_be_guessed_is_refused(secret: str) -> None:
    """S12"""
    with pytest.raises(ConfigurationError, match="base64 of at least 16 bytes"):
        key_of(secret)

"""PLAIN: who is let in, and what the others read."""

from __future__ import annotations

import pytest

from barnabas.broker.core.sasl.plain import PlainSaslServer, users_of
from barnabas.broker.core.sasl.server import SaslAuthenticationError

USERS = {"alice": "secret", "béa": "pässword"}
WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "user"),
    [("\0alice\0secret", "alice"), ("alice\0alice\0secret", "alice"), ("\0béa\0pässword", "béa")],
)
def test_a_user_with_the_password_is_let_in(token, user):
    server = PlainSaslServer(USERS)
    assert server.evaluate(token.encode()) == b""
    assert (server.user, server.lifetime_ms) == (user, None)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0c", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\xff\0a\0b", "Invalid SASL/PLAIN response: expected UTF-8"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0secreT", WRONG),
        (b"\0mallory\0secret", WRONG),
        (b"bob\0alice\0wrong", WRONG),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_others_are_refused_with_kafkas_words(token, message):
    server = PlainSaslServer(USERS)
    with pytest.raises(SaslAuthenticationError) as refused:
        server.evaluate(token)
    assert (str(refused.value), server.user) == (message, None)


def test_an_empty_password_lets_nobody_in():
    with pytest.raises(SaslAuthenticationError, match="password not specified"):
        PlainSaslServer({"alice": ""}).evaluate(b"\0alice\0")


def test_users_are_the_options_with_kafkas_prefix():
    options = {"username": "broker", "password": "own", "user_alice": "secret", "user_": "x"}
    assert users_of(options) == {"alice": "secret", "": "x"}

"""OAUTHBEARER: the client's message, the error that it is told, and who is let in."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.sasl.bearer_tokens import BearerToken, TokenError
from barnabas.broker.core.sasl.oauthbearer import OAuthBearerSaslServer
from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError

REFUSED = {"expired": TokenError("it has expired"), "weak": TokenError("it is weak", "[read, write]")}


def validate(token):
    if token in REFUSED:
        raise REFUSED[token]
    return BearerToken("a,l=ice", 5_000)


def server():
    return OAuthBearerSaslServer(validate)


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer t\x01\x01",
        b"n,,\x01auth=bearer  t.o-k_en\x01\x01",
        b"n,a=a=2Cl=3Dice,\x01auth=BEARER t\x01\x01",
        b"n,,\x01extension=value\twith blanks\x01auth=Bearer t\x01\x01",
    ],
)
def test_a_client_with_a_good_token_is_let_in(message):
    machine = server()
    assert machine.evaluate(message) == b""
    assert (machine.user, machine.lifetime_ms) == ("a,l=ice", 5_000)


def test_a_token_within_the_clock_skew_has_no_lifetime_left():
    machine = OAuthBearerSaslServer(lambda _: BearerToken("alice", -10))
    machine.evaluate(b"n,,\x01auth=Bearer t\x01\x01")
    assert machine.lifetime_ms == 0


@pytest.mark.parametrize(
    ("token", "json", "reason"),
    [
        (b"expired", '{"status":"invalid_token"}', "it has expired"),
        (b"weak", '{"status":"insufficient_scope", "scope":"[read, write]"}', "it is weak"),
    ],
)
def test_a_refused_token_is_told_why_and_then_fails(token, json, reason):
    machine = server()
    assert machine.evaluate(b"n,,\x01auth=Bearer " + token + b"\x01\x01") == json.encode()
    assert machine.user is None
    with pytest.raises(SaslAuthenticationError) as refused:
        machine.evaluate(b"\x01")
    assert (str(refused.value), refused.value.reason) == (json, f"{json}: {reason}")


def test_a_client_may_send_a_better_token_than_the_refused_one():
    machine = server()
    machine.evaluate(b"n,,\x01auth=Bearer expired\x01\x01")
    assert machine.evaluate(b"n,,\x01auth=Bearer t\x01\x01") == b""
    assert machine.user == "a,l=ice"


def test_another_authorization_id_is_refused():
    with pytest.raises(
        SaslAuthenticationError, match=r"id \(b\nob\) that is different .* \(a,l=ice\)"
    ) as refused:
        server().evaluate(b"n,a=b\nob,\x01auth=Bearer t\x01\x01")
    assert "bob" not in refused.value.reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "first message$"),
        (b"\x01", "first message$"),
        (b"\xff", "first message$"),
        (b"y,,\x01auth=Bearer t\x01\x01", "first message$"),
        (b"n,,\x01auth=Bearer t\x01", "first message$"),
        (b"n,a=x=y,\x01auth=Bearer t\x01\x01", "first message$"),
        (b"n,,\x01x1=y\x01auth=Bearer t\x01\x01", "first message$"),
        (b"n,,\x01\x01", "'auth' not specified"),
        (b"n,,\x01key=value\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Basic t\x01\x01", "auth=Bearer and a token"),
        (b"n,,\x01auth=Bearer\x01\x01", "auth=Bearer and a token"),
        (b"n,,\x01auth=Bearer a+b\x01\x01", "auth=Bearer and a token"),
    ],
)
def test_another_message_is_refused_without_a_text_for_the_client(message, reason):
    with pytest.raises(SaslError, match=reason) as refused:
        server().evaluate(message)
    assert not isinstance(refused.value, SaslAuthenticationError)


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda rest: b"n,,\x01auth=Bearer " + rest))
def test_any_message_is_one_or_refused(message):
    with contextlib.suppress(SaslError):
        server().evaluate(message)

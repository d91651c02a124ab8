"""The state machine of a connection's authentication."""

from __future__ import annotations

import pytest

from barnabas.broker.core.sasl.authentication import Mechanism, Reply, SaslAuthentication, SaslState
from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import KafkaPrincipal

HANDSHAKE, VERSIONS, AUTHENTICATE, METADATA = 17, 18, 36, 3
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED


class Steps:
    """A mechanism of two steps: any token, and then the user's name."""

    def __init__(self, lifetime_ms=None):
        self.user = None
        self.lifetime_ms = lifetime_ms
        self.asked = False

    def evaluate(self, response):
        if response == b"secret":
            raise SaslError("nobody may read this")
        if response == b"text":
            raise SaslAuthenticationError("a text for the client")
        if self.asked:
            self.user = response.decode()
            return b"welcome"
        self.asked = True
        return b"challenge"


def authentication(max_reauth_ms=0, lifetime_ms=None):
    return SaslAuthentication(
        {"STEPS": Mechanism(lambda: Steps(lifetime_ms), max_reauth_ms), "OTHER": Mechanism(Steps)}
    )


def log_in(machine, user=b"alice", now_ms=0):
    assert machine.handshake("STEPS", 1, now_ms) == Reply()
    assert machine.token(b"hello", now_ms) == Reply(token=b"challenge")
    return machine.token(user, now_ms)


def test_a_client_logs_in():
    machine = authentication()
    assert machine.enabled == ("STEPS", "OTHER")
    assert machine.refusal_of(VERSIONS) is None
    machine.versions_answered()
    assert machine.refusal_of(HANDSHAKE) is None
    assert machine.handshake("STEPS", 1, 0) == Reply()
    assert machine.refusal_of(AUTHENTICATE) is None
    assert not machine.is_complete
    assert machine.token(b"hello", 0) == Reply(token=b"challenge")
    assert machine.principal is None
    assert machine.token(b"alice", 0) == Reply(token=b"welcome")
    assert machine.is_complete
    assert machine.principal == KafkaPrincipal("User", "alice")
    assert not machine.is_expired(10**12)
    assert not machine.may_reauthenticate(10**12)


ALLOWED = {
    SaslState.HANDSHAKE_OR_VERSIONS_REQUEST: {VERSIONS, HANDSHAKE},
    SaslState.HANDSHAKE_REQUEST: {HANDSHAKE},
    SaslState.AUTHENTICATE: {AUTHENTICATE},
    SaslState.REAUTH_BAD_MECHANISM: {AUTHENTICATE},
    SaslState.COMPLETE: set(),
    SaslState.FAILED: set(),
}


@pytest.mark.parametrize("state", SaslState)
def test_each_state_serves_its_requests_and_fails_by_any_other(state):
    for api_key in (*range(-1, 70), 2**15 - 1):
        machine = authentication()
        machine.state = state
        refusal = machine.refusal_of(api_key)
        assert (refusal is None) is (api_key in ALLOWED[state])
        assert machine.state is (state if refusal is None else SaslState.FAILED)
        answered = state in {SaslState.AUTHENTICATE, SaslState.REAUTH_BAD_MECHANISM}
        assert refusal is None or refusal.is_answered is answered


def test_tokens_without_requests_follow_handshake_0():
    machine = authentication()
    machine.handshake("STEPS", 0, 0)
    assert machine.expects_token
    machine.token(b"hello", 0)
    assert machine.expects_token
    machine.token(b"alice", 0)
    assert not machine.expects_token
    machine = authentication()
    machine.handshake("STEPS", 1, 0)
    assert not machine.expects_token


@pytest.mark.parametrize("name", ["steps", "GSSAPI", ""])
def test_a_mechanism_that_is_not_enabled_fails(name):
    machine = authentication()
    reply = machine.handshake(name, 1, 0)
    assert (reply.error, reply.failure) == (
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "Unsupported SASL mechanism",
    )
    assert machine.state is SaslState.FAILED


def test_a_client_reads_only_what_it_may():
    machine = authentication()
    machine.handshake("STEPS", 1, 0)
    reply = machine.token(b"secret", 0)
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism STEPS"
    assert (reply.error, reply.message) == (FAILED, text)
    assert reply.failure == f"{text}: nobody may read this"
    machine = authentication()
    machine.handshake("STEPS", 1, 0)
    reply = machine.token(b"text", 0)
    assert (reply.error, reply.message, reply.failure) == (FAILED,) + ("a text for the client",) * 2
    assert machine.state is SaslState.FAILED


@pytest.mark.parametrize(
    ("max_reauth_ms", "credential_ms", "lifetime_ms"),
    [
        (0, None, 0),
        (0, 5_000, 0),
        (9_000, None, 9_000),
        (9_000, 5_000, 5_000),
        (3_000, 5_000, 3_000),
        (9_000, -1, 1),
        (9_000, 0, 1),
        (0, -1, 0),
    ],
)
def test_a_session_ends_with_its_credential_or_before(max_reauth_ms, credential_ms, lifetime_ms):
    machine = authentication(max_reauth_ms, credential_ms)
    assert log_in(machine, now_ms=100).lifetime_ms == lifetime_ms
    assert machine.expires_ms == (100 + lifetime_ms if lifetime_ms else None)
    if lifetime_ms:
        assert not machine.is_expired(100 + lifetime_ms)
        assert machine.is_expired(101 + lifetime_ms)


def test_a_client_authenticates_again():
    machine = authentication(max_reauth_ms=5_000)
    log_in(machine, now_ms=100)
    assert not machine.may_reauthenticate(1_099)
    assert machine.is_complete
    assert machine.may_reauthenticate(1_100)
    assert not machine.is_complete
    assert machine.attempt == "re-authentication"
    assert log_in(machine, now_ms=1_100).lifetime_ms == 5_000
    assert (machine.is_complete, machine.expires_ms) == (True, 6_100)


def test_a_client_stays_who_it_is():
    machine = authentication(max_reauth_ms=5_000)
    log_in(machine)
    assert machine.may_reauthenticate(2_000)
    reply = log_in(machine, user=b"bob", now_ms=2_000)
    assert reply.error is FAILED
    assert reply.message == "Cannot change principals during re-authentication from User:alice: User:bob"
    assert machine.state is SaslState.FAILED


def test_a_client_keeps_its_mechanism():
    machine = authentication(max_reauth_ms=5_000)
    log_in(machine)
    assert machine.may_reauthenticate(2_000)
    assert machine.handshake("OTHER", 0, 2_000) == Reply()
    assert machine.expects_token
    reply = machine.token(b"hello", 2_000)
    assert reply.error is FAILED
    assert "must not change during re-authentication; it was STEPS" in reply.message

"""SCRAM: the exchange of RFC 7677, exchanges with a slow client, and refusals."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

import pytest

from barnabas.broker.core.sasl.scram import ScramSaslServer, StandIns
from barnabas.broker.core.sasl.server import SaslAuthenticationError, SaslError
from barnabas.cluster.model.scram import ScramMechanism, credential_of

SHA_256, SHA_512 = ScramMechanism
SALT = b"salt of alice"


def server(mechanism=SHA_256, name="alice", password="secret", iterations=4096, nonce="server"):
    salted = mechanism.salted_password(password, SALT, iterations)
    credential = credential_of(mechanism, SALT, iterations, salted)
    credentials = {name: credential}
    return ScramSaslServer(mechanism, credentials, nonce, StandIns(mechanism, credentials, b"key"))


def proven(mechanism, password, bare, server_first, unproven):
    """The client's final message, computed as RFC 5802 writes it."""
    fields = dict(part.split("=", 1) for part in server_first.split(","))
    name = {SHA_256: "sha256", SHA_512: "sha512"}[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.new(salted, b"Client Key", name).digest()
    message = f"{bare},{server_first},{unproven}".encode()
    signature = hmac.new(hashlib.new(name, client_key).digest(), message, name).digest()
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_key = hmac.new(salted, b"Server Key", name).digest()
    expected = b"v=" + b64encode(hmac.new(server_key, message, name).digest())
    return f"{unproven},p={b64encode(proof).decode()}".encode(), expected


def exchange(scram, *, mechanism=SHA_256, name="alice", password="secret", header="n,,", extensions=""):
    bare = f"n={name},r=client{extensions}"
    first = scram.evaluate(f"{header}{bare}".encode()).decode()
    unproven = f"c={b64encode(header.encode()).decode()},r={first.split(',')[0][2:]}"
    final, expected = proven(mechanism, password, bare, first, unproven)
    return scram.evaluate(final) == expected


def test_the_example_of_rfc_7677():
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = SHA_256.salted_password("pencil", salt, 4096)
    nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    credentials = {"user": credential_of(SHA_256, salt, 4096, salted)}
    scram = ScramSaslServer(SHA_256, credentials, nonce, StandIns(SHA_256, credentials, b""))
    assert scram.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert scram.evaluate(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == (b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert scram.user == "user"


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("header", ["n,,", "n,a=alice,"])
@pytest.mark.parametrize("extensions", ["", ",tokenauth=false,x=y"])
def test_a_user_with_the_password_is_let_in(mechanism, header, extensions):
    scram = server(mechanism)
    assert exchange(scram, mechanism=mechanism, header=header, extensions=extensions)
    assert (scram.user, scram.lifetime_ms) == ("alice", None)


def test_a_name_may_have_commas_and_equal_signs():
    scram = server(name="a,b=c")
    assert exchange(scram, name="a=2Cb=3Dc")
    assert scram.user == "a,b=c"


@pytest.mark.parametrize(("name", "password"), [("alice", "wrong"), ("mallory", "secret")])
def test_a_wrong_password_and_an_unknown_user_fail_at_the_same_step(name, password):
    scram = server()
    with pytest.raises(SaslError) as refused:
        exchange(scram, name=name, password=password)
    assert not isinstance(refused.value, SaslAuthenticationError)
    assert scram.user is None


def test_an_unknown_user_has_the_same_salt_at_each_try():
    answers = {server().evaluate(b"n,,n=mallory,r=client") for _ in range(2)}
    others = {server().evaluate(b"n,,n=oscar,r=client")}
    assert len(answers) == 1
    assert answers != others


def stored(user, salt=SALT, iterations=4096):
    return credential_of(SHA_256, salt, iterations, user.encode())


@pytest.mark.parametrize("length", [1, 24, 32, 33, 100])
def test_unknown_users_resemble_the_first_one_on_every_broker(length):
    known = {"bob": stored("bob"), "alice": stored("alice", bytes(length), 8192)}
    one, other = StandIns(SHA_256, known, b"1"), StandIns(SHA_256, dict(reversed(known.items())), b"2")
    stand_in = one.of("mallory")
    assert stand_in == other.of("mallory")
    assert (len(stand_in.salt), stand_in.iterations) == (length, 8192)
    assert stand_in.salt != one.of("oscar").salt


def test_the_first_user_is_looked_for_again_when_users_come_or_go():
    known = {"bob": stored("bob")}
    stand_ins = StandIns(SHA_256, known, b"key")
    of_bob = stand_ins.of("mallory")
    known["carol"] = stored("carol")
    assert stand_ins.of("mallory") == of_bob
    known["alice"] = stored("alice")
    assert stand_ins.of("mallory") != of_bob
    del known["alice"]
    assert stand_ins.of("mallory") == of_bob
    known["bob"] = stored("bob with another password")
    assert stand_ins.of("mallory") != of_bob


def test_without_any_user_the_salt_has_the_usual_length():
    stand_in = StandIns(SHA_256, {}, b"key").of("mallory")
    assert (len(stand_in.salt), stand_in.iterations) == (24, 4096)
    assert stand_in != StandIns(SHA_256, {}, b"another key").of("mallory")


def test_the_key_of_a_stand_in_lets_nobody_in():
    # Even who guesses the secret behind it cannot use it as a password of an unknown user.
    scram = server()
    scram._credentials = {"mallory": scram._stand_ins.of("mallory")}
    with pytest.raises(SaslError):
        exchange(scram, name="mallory")


@pytest.mark.parametrize(
    "first", [b"", b"\xff", b"y,,n=alice,r=c", b"n,,n=al=ice,r=c", b"n,,n=alice,r=", b"n,,n=alice"]
)
def test_a_malformed_first_message_is_refused(first):
    with pytest.raises(SaslError):
        server().evaluate(first)


def test_nobody_acts_for_another():
    with pytest.raises(SaslAuthenticationError, match="different from username"):
        server().evaluate(b"n,a=bob,n=alice,r=c")


def test_a_credential_of_few_iterations_is_not_used():
    with pytest.raises(SaslError, match="fewer than 4096"):
        server(iterations=1000).evaluate(b"n,,n=alice,r=c")


@pytest.mark.parametrize(
    "final",
    [
        b"",
        b"c=biws,r=clientserver",
        b"c=biws,r=client,p=AAAA",  # CVE-2024-56128: another nonce
        b"c=eSws,r=clientserver,p=AAAA",  # another channel binding
        b"c=biws,r=clientserver,p=AAAAA",  # no base64
        b"c=biws,r=clientserver,p=AAAA",  # too short
    ],
)
def test_a_malformed_final_message_is_refused(final):
    scram = server()
    scram.evaluate(b"n,,n=alice,r=client")
    with pytest.raises(SaslError):
        scram.evaluate(final)

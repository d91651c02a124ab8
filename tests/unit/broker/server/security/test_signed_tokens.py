"""Signed tokens: keys, algorithms, and what a token must say."""

from __future__ import annotations

import base64
import contextlib
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.sasl.bearer_tokens import TokenError
from barnabas.broker.server.security.signed_tokens import (
    MAX_KEYS,
    KeySet,
    KeySetError,
    SignedOptions,
    parse_keys,
    signed_token,
)

RSA = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
P256 = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def row(key, algorithm, **fields):
    """A public key as an issuer publishes it."""
    made = jwt.algorithms.get_default_algorithms()[algorithm].to_jwk(key.public_key(), as_dict=True)
    made.pop("key_ops", None)
    return {**made, **fields}


ROWS = (row(RSA, "RS256", kid="rsa"), row(P256, "ES256", kid="ec"), row(ED, "EdDSA", kid="ed", use="sig"))
KEYS = KeySet(parse_keys(json.dumps({"keys": ROWS}).encode()))
OPTIONS = SignedOptions("https://issuer/keys")


def claims(**more):
    now = int(time.time())
    return {"sub": "alice", "iat": now, "exp": now + 600, **more}


def signed(payload, key=RSA, algorithm="RS256", kid="rsa", **headers):
    named = headers if kid is None else {"kid": kid, **headers}
    return jwt.encode(payload, key, algorithm, headers=named)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [
        (RSA, "RS256", "rsa"),
        (RSA, "RS512", "rsa"),
        (RSA, "PS384", "rsa"),
        (P256, "ES256", "ec"),
        (ED, "EdDSA", "ed"),
    ],
)
def test_a_token_of_the_issuer_is_valid(key, algorithm, kid):
    token = signed_token(signed(claims(), key, algorithm, kid), OPTIONS, KEYS)
    assert token.principal == "alice"
    assert 0 < token.lifetime_ms <= 600_000


def hmac_with_the_public_key():
    """The attack that makes a verifier take a public key for a shared one."""
    numbers = json.dumps(ROWS[0]).encode()
    return jwt.encode(claims(), base64.b64encode(numbers), "HS256", headers={"kid": "rsa"})


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        signed(claims(), OTHER),
        signed(claims(), RSA, kid="other"),
        signed(claims(), RSA, kid=None),
        signed(claims(), RSA, kid="ec"),
        hmac_with_the_public_key(),
        jwt.encode(claims(), None, "none", headers={"kid": "rsa"}),
        signed(claims())[:-4] + "AAAA",
        signed(claims(exp=1)),
        signed(claims(exp="soon")),
        signed(claims(iat=time.time() + 600)),
        signed(claims(nbf=time.time() + 600)),
        signed({"sub": "alice", "exp": time.time() + 600}),
        signed({"sub": "alice", "iat": 1}),
        signed({"iat": 1, "exp": time.time() + 600}),
        signed(claims(sub=7)),
        signed(claims(sub=" ")),
        signed(claims(), crit=["x"]),
    ],
)
def test_any_other_token_is_invalid_and_not_repeated(token):
    with pytest.raises(TokenError) as refused:
        signed_token(token, OPTIONS, KEYS)
    assert refused.value.status == "invalid_token"
    assert "alice" not in str(refused.value)


def test_clocks_may_differ_as_much_as_allowed():
    late = signed(claims(exp=int(time.time()) - 60))
    assert signed_token(late, SignedOptions("u", skew_s=600), KEYS).lifetime_ms < 0
    with pytest.raises(TokenError):
        signed_token(late, SignedOptions("u", skew_s=0), KEYS)


def test_audience_issuer_and_the_claim_of_the_principal_are_as_set():
    options = SignedOptions("u", audience=("kafka", "k2"), issuer="https://issuer", principal_claim="name")
    good = {"aud": ["other", "k2"], "iss": "https://issuer", "name": "bob"}
    assert signed_token(signed(claims(**good)), options, KEYS).principal == "bob"
    for wrong in ({"aud": "other"}, {"aud": None}, {"iss": "https://evil"}, {"name": ""}):
        with pytest.raises(TokenError):
            signed_token(signed(claims(**{**good, **wrong})), options, KEYS)
    for missing in good:
        with pytest.raises(TokenError):
            signed_token(signed(claims(**{k: v for k, v in good.items() if k != missing})), options, KEYS)
    assert signed_token(signed(claims(aud="any", iss="any")), OPTIONS, KEYS).principal == "alice"


def test_the_only_key_needs_no_id_and_an_unknown_one_is_reported():
    asked = []
    keys = KeySet(parse_keys(json.dumps({"keys": [row(RSA, "RS256")]}).encode()), lambda: asked.append(1))
    assert signed_token(signed(claims(), kid=None), OPTIONS, keys).principal == "alice"
    assert not asked
    with pytest.raises(TokenError, match="no key that is known"):
        signed_token(signed(claims(), kid="new"), OPTIONS, keys)
    assert asked
    with pytest.raises(TokenError):
        signed_token(signed(claims()), OPTIONS, KeySet())


def test_a_key_serves_the_algorithms_of_its_kind_or_the_one_that_it_names():
    keys = parse_keys(json.dumps({"keys": [*ROWS, row(OTHER, "RS256", kid="one", alg="PS256")]}).encode())
    assert {name: key.algorithms[0] for name, key in keys.items()} == {
        "rsa": "RS256",
        "ec": "ES256",
        "ed": "EdDSA",
        "one": "PS256",
    }
    assert [len(key.algorithms) for key in keys.values()] == [6, 1, 1, 1]


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [7],
        [{"kty": "oct", "k": "c2VjcmV0"}],
        [{**ROWS[0], "use": "enc"}],
        [{**ROWS[0], "kid": 7}],
        [{**ROWS[0], "kty": []}],
        [{**ROWS[0], "alg": "HS256"}],
        [{**ROWS[0], "n": "!"}],
        [{"kty": "RSA"}],
        [{**ROWS[1], "crv": "secp256k1"}],
        [{**ROWS[2], "crv": "P-256"}],
        [ROWS[0]] * (MAX_KEYS + 1),
        {"kid": ROWS[0]},
    ],
)
def test_a_set_without_a_usable_key_is_refused(keys):
    with pytest.raises(KeySetError, match="expected"):
        parse_keys(json.dumps({"keys": keys}).encode())


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"7", b"\xff", b"[" * 100_000, b'{"keys": 7}'])
def test_a_text_that_is_no_set_is_refused(text):
    with pytest.raises(KeySetError, match="expected"):
        parse_keys(text)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789-_.", max_size=80))
def test_any_text_is_a_token_or_refused(text):
    with contextlib.suppress(TokenError):
        signed_token(text, OPTIONS, KEYS)

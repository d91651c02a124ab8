"""Unsecured tokens: what they must have, and that no text does harm."""

from __future__ import annotations

import contextlib
import json
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.sasl.bearer_tokens import (
    BearerToken,
    TokenError,
    UnsecuredOptions,
    unsecured_options,
    unsecured_token,
)

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000
DEFAULTS = UnsecuredOptions()


def encoded(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def token(header=None, /, **claims):
    return f"{encoded({'alg': 'none'} if header is None else header)}.{encoded(claims)}."


def good(**claims):
    return token(**{"sub": "alice", "exp": NOW_S + 60, **claims})


def checked(text, options=DEFAULTS):
    return unsecured_token(text, options, NOW_MS)


@pytest.mark.parametrize(
    ("claims", "lifetime_ms"),
    [
        ({}, 60_000),
        ({"iat": NOW_S}, 60_000),
        ({"exp": NOW_S + 1.5}, 1_500),
        ({"exp": NOW_S + 0.001}, 1),
        ({"aud": ["kafka"], "iat": 0}, 60_000),
    ],
)
def test_a_good_token_names_its_principal_and_how_long_it_lasts(claims, lifetime_ms):
    assert checked(good(**claims)) == BearerToken("alice", lifetime_ms)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no unsecured JWS"),
        ("a.b", "no unsecured JWS"),
        (good() + "c2lnbmF0dXJl", "third part is empty"),
        (f"{encoded(b'?')}.{encoded({})}.", "header of the token is no JSON"),
        (f"{encoded([])}.{encoded({})}.", "header of the token is no JSON object"),
        (f"{encoded(b'[' * 100_000)}.{encoded({})}.", "header of the token is no JSON"),
        ("a.a.", "header of the token is no JSON in base64url"),
        (token({}), "another algorithm"),
        (token({"alg": "HS256"}), "another algorithm"),
        (f"{encoded({'alg': 'none'})}.{encoded('x')}.", "claims of the token is no JSON object"),
        (token(exp=NOW_S + 60), "names the principal"),
        (good(sub=""), "names the principal"),
        (good(sub=" "), "names the principal"),
        (good(sub=7), "names the principal"),
        (token(sub="alice"), "no claim exp"),
        (good(exp="soon"), "claim exp .* no number"),
        (good(exp=True), "claim exp .* no number"),
        (good(exp=10**400), "claim exp .* no number"),
        (good(exp=float("nan")), "claim exp .* no number"),
        (good(exp=NOW_S), "expired"),
        (good(exp=NOW_S - 1), "expired"),
        (good(iat="x"), "claim iat .* no number"),
        (good(iat=NOW_S + 0.001), "in the future"),
    ],
)
def test_any_other_token_is_invalid(text, reason):
    with pytest.raises(TokenError, match=reason) as refused:
        checked(text)
    assert (refused.value.status, refused.value.scope) == ("invalid_token", None)


def test_clocks_may_differ_as_much_as_allowed():
    options = UnsecuredOptions(skew_ms=1000)
    assert checked(good(exp=NOW_S - 0.5), options) == BearerToken("alice", -500)
    assert checked(good(iat=NOW_S + 1), options).principal == "alice"
    with pytest.raises(TokenError, match="expired"):
        checked(good(exp=NOW_S - 1), options)
    with pytest.raises(TokenError, match="before it was issued"):
        checked(good(exp=NOW_S + 0.5, iat=NOW_S + 0.5), options)


def test_the_claims_have_the_names_of_the_options():
    options = UnsecuredOptions("name", "rights", ("read", "write"))
    claims = {"name": "bob", "rights": ["write", " read ", "more", 7]}
    assert checked(good(**claims), options).principal == "bob"


@pytest.mark.parametrize("scope", [None, "write", "read write", [], ["read"], 7])
def test_a_scope_that_lacks_something_is_insufficient(scope):
    with pytest.raises(TokenError, match="required scope") as refused:
        checked(good(scope=scope), UnsecuredOptions(required_scope=("read", "write")))
    assert (refused.value.status, refused.value.scope) == ("insufficient_scope", "[read, write]")


def test_a_text_is_one_element_of_a_scope():
    assert checked(good(scope=" read "), UnsecuredOptions(required_scope=("read",))).principal == "alice"


def test_the_options_are_those_of_the_jaas_entry():
    assert unsecured_options({}) == DEFAULTS
    assert unsecured_options(
        {
            "unsecuredValidatorPrincipalClaimName": "name",
            "unsecuredValidatorScopeClaimName": "rights",
            "unsecuredValidatorRequiredScope": "read  write",
            "unsecuredValidatorAllowableClockSkewMs": "1000",
            "unsecuredLoginStringClaim_sub": "admin",
        }
    ) == UnsecuredOptions("name", "rights", ("read", "write"), 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unsecuredValidatorPrincipalClaimName", " "),
        ("unsecuredValidatorScopeClaimName", ""),
        ("unsecuredValidatorAllowableClockSkewMs", "-1"),
        ("unsecuredValidatorAllowableClockSkewMs", "soon"),
        ("unsecuredValidatorAllowableClockSkewMs", "2147483648"),
    ],
)
def test_a_bad_option_is_named(name, value):
    with pytest.raises(ValueError, match=f"^{name} to be"):
        unsecured_options({name: value})


@given(st.text(max_size=80) | st.from_regex(r"[\w-]{0,40}\.[\w-]{0,40}\.", fullmatch=True))
def test_any_text_is_a_token_or_refused(text):
    with contextlib.suppress(TokenError):
        checked(text)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists), st.text(max_size=5))
def test_any_claims_are_those_of_a_token_or_refused(value, name):
    with contextlib.suppress(TokenError):
        checked(good(**{name: value, "scope": value, "iat": value}), UnsecuredOptions(required_scope=("a",)))

"""The settings of OAUTHBEARER: signed or unsecured tokens, and nothing by default."""

from __future__ import annotations

import pytest

from barnabas.broker.config import oauth
from barnabas.broker.config.broker_config import parse
from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions
from barnabas.broker.server.security.signed_tokens import SignedOptions
from barnabas.cluster.model.configs.declarations import ConfigError

MODULES = "org.apache.kafka.common.security.oauthbearer"
HERE, SHORT = "listener.name.own.oauthbearer.", "listener.name.own."
UNSECURED = f"{MODULES}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED = f"{MODULES}.secured.OAuthBearerValidatorCallbackHandler"
CLASS, URL = "sasl.server.callback.handler.class", "sasl.oauthbearer.jwks.endpoint.url"
GIVEN = {
    "zookeeper.connect": "z",
    "listeners": "GRPC://h:2,OWN://h:4",
    "listener.security.protocol.map": "GRPC:PLAINTEXT,OWN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
}


def tokens(options="", **settings):
    entry = {f"{HERE}sasl.jaas.config": f"{MODULES}.OAuthBearerLoginModule required {options};"}
    given = {HERE + CLASS: settings.pop("handler", ""), HERE + URL: settings.pop("url", "")}
    config, unknown = parse({**GIVEN, **entry, **given, **settings}, hostname="here")
    assert unknown == ()
    return config.security["OWN"].mechanisms["OAUTHBEARER"].tokens


@pytest.mark.parametrize(
    ("options", "handler"),
    [('unsecuredLoginStringClaim_sub="admin"', ""), ("", UNSECURED)],
)
def test_unsecured_tokens_must_be_allowed(options, handler):
    assert tokens(options, handler=handler) == UnsecuredOptions()


def test_unsecured_tokens_have_the_options_of_the_entry():
    assert tokens('unsecuredValidatorRequiredScope="a b"').required_scope == ("a", "b")


@pytest.mark.parametrize("handler", ["", SIGNED, SIGNED.replace(".secured", "")])
def test_keys_mean_signed_tokens(handler):
    assert tokens(url="https://i/keys", handler=handler) == SignedOptions("https://i/keys")


def test_signed_tokens_have_the_settings_of_the_listener():
    settings = {
        f"{SHORT}sasl.oauthbearer.expected.audience": "kafka, other",
        f"{HERE}sasl.oauthbearer.expected.issuer": "https://i",
        "sasl.oauthbearer.clock.skew.seconds": "5",
        f"{HERE}sasl.oauthbearer.sub.claim.name": "name",
        f"{HERE}sasl.oauthbearer.jwks.endpoint.refresh.ms": "60000",
    }
    expected = SignedOptions("file:///keys", 60_000, 5, ("kafka", "other"), "https://i", "name")
    assert tokens(url="file:///keys", **settings) == expected


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({}, "is not set; it must be given for signed tokens .* an option that begins with unsecured"),
        ({"handler": SIGNED}, "is not set; it must be given, because signed tokens need keys"),
        ({"handler": "evil.Handler"}, "callback.handler.class has the value 'evil.Handler'"),
        ({"url": "http://i/keys"}, "'http://i/keys'; it must be an https URL"),
        ({"url": "https://u:secret@i/keys"}, "'.hidden.'; it must be an https URL"),
        ({"url": "https://i/keys", "handler": UNSECURED}, "left out where unsecured tokens"),
        ({"url": "https://i/k", "options": "unsecuredValidatorScopeClaimName=s"}, "left out where unsecured"),
        (
            {"options": "unsecuredValidatorAllowableClockSkewMs='-1'"},
            "unsecuredValidatorAllowableClockSkewMs to be",
        ),
        ({"url": "https://i/keys", "sasl.oauthbearer.clock.skew.seconds": "-1"}, "at least 0"),
    ],
)
def test_any_other_combination_ends_the_start(settings, error):
    with pytest.raises(ConfigError, match=error):
        tokens(**settings)


def test_signed_tokens_need_the_extra(monkeypatch):
    monkeypatch.setattr(oauth.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"pip install 'barnabas\[oauth\]'"):
        tokens(url="https://i/keys")

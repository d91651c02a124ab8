"""The tokens that OAUTHBEARER takes on a listener: unsecured or signed ones.

Without keys, and without a setting that allows unsecured tokens, the broker does not start: a validator that
takes unsecured tokens by default lets everybody in (CVE-2026-33557). Sources:
``OAuthBearerUnsecuredValidatorCallbackHandler`` of release 2.8, ``OAuthBearerValidatorCallbackHandler`` of
release 3.1; KIP-255, KIP-768.
"""

from __future__ import annotations

import importlib.util

from barnabas.broker.config.listener_values import ListenerValues
from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions, unsecured_options
from barnabas.broker.server.security.key_source import URLS, is_allowed
from barnabas.broker.server.security.mechanisms import OAUTHBEARER
from barnabas.broker.server.security.signed_tokens import SignedOptions
from barnabas.cluster.model.configs.declarations import HIDDEN, ConfigError
from barnabas.cluster.model.jaas import MODULES, JaasEntry

_CLASS, _URL = "sasl.server.callback.handler.class", "sasl.oauthbearer.jwks.endpoint.url"
_UNSECURED_CLASS = f"{MODULES}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_SIGNED_CLASSES = (
    f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{MODULES}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
_UNSECURED, _VALIDATOR = "unsecured", "unsecuredValidator"


def token_options(own: ListenerValues, jaas: JaasEntry) -> SignedOptions | UnsecuredOptions:
    """Return what tokens must have.

    Raises:
        ConfigError: A setting or option is bad, or it is not said which tokens are taken.
    """
    handler, url = own.of_mechanism(OAUTHBEARER, _CLASS), own.of_mechanism(OAUTHBEARER, _URL)
    handler_key, url_key = own.key(OAUTHBEARER, _CLASS), own.key(OAUTHBEARER, _URL)
    if handler not in {None, _UNSECURED_CLASS, *_SIGNED_CLASSES}:
        raise ConfigError(handler_key, str(handler), f"{_UNSECURED_CLASS} or {_SIGNED_CLASSES[0]}")
    if url is None:
        if handler in _SIGNED_CLASSES:
            raise ConfigError(url_key, None, f"given, because signed tokens need keys: {URLS}")
        if handler is None and not any(name.startswith(_UNSECURED) for name in jaas.options):
            raise ConfigError(
                url_key,
                None,
                f"given for signed tokens ({URLS}); for unsecured ones, which anybody can make, the JAAS "
                f"entry must have an option that begins with {_UNSECURED}",
            )
        return _unsecured(own, jaas)
    if handler == _UNSECURED_CLASS or any(name.startswith(_VALIDATOR) for name in jaas.options):
        raise ConfigError(url_key, str(url), "left out where unsecured tokens are taken")
    if not is_allowed(str(url)):
        raise ConfigError(url_key, HIDDEN if "@" in str(url) else str(url), URLS)
    if importlib.util.find_spec("jwt") is None:
        expected = "left out where PyJWT is not installed: pip install 'barnabas[oauth]'"
        raise ConfigError(url_key, str(url), expected)
    return _signed(own, str(url))


def _unsecured(own: ListenerValues, jaas: JaasEntry) -> UnsecuredOptions:
    try:
        return unsecured_options(jaas.options)
    except ValueError as error:
        expected = f"a JAAS entry, with {error}"
        raise ConfigError(own.key(OAUTHBEARER, "sasl.jaas.config"), HIDDEN, expected) from None


def _signed(own: ListenerValues, url: str) -> SignedOptions:
    def value(name: str) -> object:
        return own.of_mechanism(OAUTHBEARER, f"sasl.oauthbearer.{name}")

    audience, issuer = value("expected.audience"), value("expected.issuer")
    return SignedOptions(
        url,
        int(str(value("jwks.endpoint.refresh.ms"))),
        int(str(value("clock.skew.seconds"))),
        audience if isinstance(audience, tuple) else (),
        None if issuer is None else str(issuer),
        str(value("sub.claim.name")),
    )

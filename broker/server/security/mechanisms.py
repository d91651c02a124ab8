"""The SASL mechanisms of a listener, with the secrets and random numbers that they need."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import partial

from barnabas.broker.core.sasl.authentication import Mechanism
from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions, unsecured_token
from barnabas.broker.core.sasl.oauthbearer import OAuthBearerSaslServer
from barnabas.broker.core.sasl.plain import PlainSaslServer, users_of
from barnabas.broker.core.sasl.scram import ScramSaslServer, StandIns
from barnabas.broker.core.sasl.server import SaslServer
from barnabas.broker.server.security.listener_security import MechanismSettings
from barnabas.broker.server.security.signed_tokens import KeySet, SignedOptions, now_ms, signed_token
from barnabas.cluster.model.jaas import OAUTHBEARER_MODULE, PLAIN_MODULE, SCRAM_MODULE
from barnabas.cluster.model.scram import BY_NAME, ScramCredential, ScramMechanism

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"

LOGIN_MODULES: Mapping[str, str] = {
    PLAIN: PLAIN_MODULE,
    **dict.fromkeys(BY_NAME, SCRAM_MODULE),
    OAUTHBEARER: OAUTHBEARER_MODULE,
}
"""The served mechanisms, and the login module that the JAAS entry of each must name."""

_NONCE_BYTES = 24
_KEY_BYTES = 32

ScramCredentials = Mapping[ScramMechanism, Mapping[str, ScramCredential]]
"""The credentials of all users, by mechanism and user."""


def mechanisms_of(
    settings: Mapping[str, MechanismSettings],
    credentials: ScramCredentials,
    keys: Mapping[SignedOptions, KeySet],
) -> dict[str, Mechanism]:
    """Return the mechanisms of a listener.

    Args:
        settings: Those that are enabled, by name.
        credentials: The SCRAM credentials; changed by others while the broker runs.
        keys: The keys of signed tokens, for each of the options in ``settings``; changed likewise.
    """
    return {
        name: Mechanism(_beginning(name, each, credentials, keys), each.max_reauth_ms)
        for name, each in settings.items()
    }


def _beginning(
    name: str,
    settings: MechanismSettings,
    credentials: ScramCredentials,
    keys: Mapping[SignedOptions, KeySet],
) -> Callable[[], SaslServer]:
    if name == PLAIN:
        return partial(PlainSaslServer, users_of(settings.jaas.options))
    match settings.tokens:
        case UnsecuredOptions() as options:
            return lambda: OAuthBearerSaslServer(lambda token: unsecured_token(token, options, now_ms()))
        case SignedOptions() as signed:
            own_keys = keys[signed]
            return lambda: OAuthBearerSaslServer(lambda token: signed_token(token, signed, own_keys))
    mechanism = BY_NAME[name]
    own = credentials[mechanism]
    stand_ins = StandIns(mechanism, own, secrets.token_bytes(_KEY_BYTES))
    return lambda: ScramSaslServer(mechanism, own, secrets.token_urlsafe(_NONCE_BYTES), stand_ins)

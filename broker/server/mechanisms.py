"""The SASL mechanisms of a listener, with the secrets and random numbers that they need."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import partial

from barnabas.broker.core.sasl.authentication import Mechanism
from barnabas.broker.core.sasl.plain import PlainSaslServer, users_of
from barnabas.broker.core.sasl.scram import ScramSaslServer
from barnabas.broker.core.sasl.server import SaslServer
from barnabas.broker.server.listener_security import MechanismSettings
from barnabas.cluster.model.jaas import PLAIN_MODULE, SCRAM_MODULE
from barnabas.cluster.model.scram import BY_NAME, ScramCredential, ScramMechanism

PLAIN = "PLAIN"

LOGIN_MODULES: Mapping[str, str] = {
    PLAIN: PLAIN_MODULE,
    **dict.fromkeys(BY_NAME, SCRAM_MODULE),
}
"""The served mechanisms, and the login module that the JAAS entry of each must name."""

_NONCE_BYTES = 24
_KEY = secrets.token_bytes(32)

ScramCredentials = Mapping[ScramMechanism, Mapping[str, ScramCredential]]
"""The credentials of all users, by mechanism and user."""


def mechanisms_of(
    settings: Mapping[str, MechanismSettings], credentials: ScramCredentials
) -> dict[str, Mechanism]:
    """Return the mechanisms of a listener.

    Args:
        settings: Those that are enabled, by name.
        credentials: The SCRAM credentials; changed by others while the broker runs.
    """
    return {
        name: Mechanism(_beginning(name, each, credentials), each.max_reauth_ms)
        for name, each in settings.items()
    }


def _beginning(
    name: str, settings: MechanismSettings, credentials: ScramCredentials
) -> Callable[[], SaslServer]:
    if name == PLAIN:
        return partial(PlainSaslServer, users_of(settings.jaas.options))
    mechanism = BY_NAME[name]
    own = credentials[mechanism]
    return lambda: ScramSaslServer(mechanism, own, secrets.token_urlsafe(_NONCE_BYTES), _KEY)

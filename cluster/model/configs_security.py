"""The settings of client listeners' security; each may be prefixed with ``listener.name.<listener>.``.

Sources: ``BrokerSecurityConfigs``, ``SslConfigs`` and ``SaslConfigs`` of release 2.8. GSSAPI, the default of
Kafka's ``sasl.enabled.mechanisms``, is not served.
"""

from __future__ import annotations

from barnabas.cluster.model.configs import Config, Type, at_least
from barnabas.cluster.model.configs_ssl import SSL_CONFIGS

SECURITY_CONFIGS = (
    Config("sasl.enabled.mechanisms", Type.LIST, ("GSSAPI",), "The SASL mechanisms that a listener offers."),
    Config("sasl.jaas.config", Type.PASSWORD, None, "The JAAS entry of a mechanism of a listener."),
    Config(
        "connections.max.reauth.ms",
        Type.LONG,
        0,
        "How long a client may stay without authenticating again, ms; 0 for ever.",
    ),
    Config(
        "connection.failed.authentication.delay.ms",
        Type.INT,
        100,
        "How long the answer to a failed authentication is delayed, ms.",
        at_least(0),
    ),
    Config(
        "sasl.server.max.receive.size",
        Type.INT,
        524288,
        "The largest request or token before a client is authenticated, bytes.",
    ),
    *SSL_CONFIGS,
)
"""The declarations of the settings."""

PER_MECHANISM = frozenset({"sasl.jaas.config", "connections.max.reauth.ms"})
"""The settings that may also be prefixed with ``listener.name.<listener>.<mechanism>.``."""

LISTENER_PREFIX = "listener.name."
"""The start of the names of settings of one listener."""

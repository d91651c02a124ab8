"""The settings of client listeners' security; each may be prefixed with ``listener.name.<listener>.``.

Sources: ``BrokerSecurityConfigs``, ``SslConfigs`` and ``SaslConfigs`` of release 2.8; KIP-768 for
``sasl.oauthbearer.*``. GSSAPI, the default of Kafka's ``sasl.enabled.mechanisms``, is not served.
"""

from __future__ import annotations

from barnabas.cluster.model.configs.declarations import Config, ConfigError, Type, at_least
from barnabas.cluster.model.configs.ssl import SSL_CONFIGS, STORE_CONFIGS

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
    Config(
        "sasl.server.callback.handler.class",
        Type.STRING,
        None,
        "Kafka's validator of OAUTHBEARER tokens, of unsecured or signed ones; no class is loaded.",
    ),
    Config(
        "sasl.oauthbearer.jwks.endpoint.url",
        Type.STRING,
        None,
        "The URL of the keys that sign OAUTHBEARER tokens (https, or a file).",
    ),
    Config(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Type.LONG,
        3_600_000,
        "The interval at which the keys of OAUTHBEARER tokens are read again, ms.",
        at_least(1000),
    ),
    Config(
        "sasl.oauthbearer.clock.skew.seconds",
        Type.INT,
        30,
        "The most that the clocks of token issuer and broker may differ, seconds.",
        at_least(0),
    ),
    Config(
        "sasl.oauthbearer.expected.audience",
        Type.LIST,
        None,
        "The audiences of which a signed token must name one.",
    ),
    Config("sasl.oauthbearer.expected.issuer", Type.STRING, None, "The issuer of signed tokens."),
    Config("sasl.oauthbearer.sub.claim.name", Type.STRING, "sub", "The claim that names the client."),
    *SSL_CONFIGS,
)
"""The declarations of the settings."""

PER_MECHANISM = frozenset(
    {
        "sasl.jaas.config",
        "connections.max.reauth.ms",
        "sasl.server.callback.handler.class",
        *(config.name for config in SECURITY_CONFIGS if config.name.startswith("sasl.oauthbearer.")),
    }
)
"""The settings that may also be prefixed with ``listener.name.<listener>.<mechanism>.``."""

SASL_PROTOCOLS = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})
"""The security protocols of listeners that authenticate by SASL."""

SSL_PROTOCOLS = frozenset({"SSL", "SASL_SSL"})
"""The security protocols of listeners that use TLS."""

LISTENER_PREFIX = "listener.name."
"""The start of the names of settings of one listener."""

LISTENER_LIMITS = (
    Config("max.connections", Type.INT, None, "The most connections of a listener.", at_least(1)),
    Config(
        "max.connection.creation.rate",
        Type.INT,
        None,
        "The most new connections of a listener per second.",
        at_least(1),
    ),
)
"""The settings of a listener that change while the broker runs."""


OF_LISTENER = frozenset(config.name for config in (*SECURITY_CONFIGS, *LISTENER_LIMITS))
"""The names that may follow ``listener.name.<listener>.`` directly."""


def is_setting_of_listener(name: str) -> bool:
    """Return whether ``name`` may follow ``listener.name.<listener>.``."""
    _, _, behind_mechanism = name.partition(".")
    return name in OF_LISTENER or behind_mechanism in PER_MECHANISM


def listener_limit(name: str) -> Config | None:
    """Return the declaration of a limit with a listener's prefix; None for any other setting."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener = name.removeprefix(LISTENER_PREFIX)
    return next((limit for limit in LISTENER_LIMITS if listener.endswith(f".{limit.name}")), None)


def listener_store(name: str) -> str | None:
    """Return the name without the prefix of a setting of a listener's stores; None for any other setting."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener = name.removeprefix(LISTENER_PREFIX)
    return next((each for each in STORE_CONFIGS if listener.endswith(f".{each}")), None)


def check_listener_limit(name: str, text: str) -> None:
    """Check a setting for which there is a `listener_limit`, and no other.

    Raises:
        ConfigError: It has a bad value.
    """
    limit = listener_limit(name)
    if limit is None:
        return
    try:
        limit.parse(text)
    except ConfigError as error:
        raise ConfigError(name, error.value, error.allowed) from None

"""The settings of TLS, which Kafka calls SSL; each may be prefixed with ``listener.name.<listener>.``.

Source: ``SslConfigs`` and ``BrokerSecurityConfigs`` of release 2.8; KIP-371, KIP-651. What Kafka leaves to
Java's security providers is not declared: ``ssl.provider``, ``ssl.engine.factory.class`` and the like.
"""

from __future__ import annotations

from barnabas.cluster.model.configs.declarations import Config, Type, one_of

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
"""The served versions of TLS, oldest first; Java has switched the older ones off, too."""

SSL_CONFIGS = (
    Config("ssl.keystore.type", Type.STRING, "JKS", "The format of the key store: PKCS12 or PEM."),
    Config("ssl.keystore.location", Type.STRING, None, "The file of the key store."),
    Config("ssl.keystore.password", Type.PASSWORD, None, "The password of a key store that is not PEM."),
    Config("ssl.keystore.key", Type.PASSWORD, None, "The private key itself, PKCS#8 as PEM."),
    Config(
        "ssl.keystore.certificate.chain",
        Type.PASSWORD,
        None,
        "The certificates of ssl.keystore.key themselves as PEM, the key's own first.",
    ),
    Config(
        "ssl.key.password",
        Type.PASSWORD,
        None,
        "The password of the private key; that of the key store if not set, unless it is PEM.",
    ),
    Config("ssl.truststore.type", Type.STRING, "JKS", "The format of the trust store: PKCS12 or PEM."),
    Config("ssl.truststore.location", Type.STRING, None, "The file of the trusted certificates."),
    Config("ssl.truststore.password", Type.PASSWORD, None, "The password of a trust store that is not PEM."),
    Config("ssl.truststore.certificates", Type.PASSWORD, None, "The trusted certificates themselves as PEM."),
    Config(
        "ssl.client.auth",
        Type.STRING,
        "none",
        "Whether clients must have a certificate: required, requested or none.",
        one_of("required", "requested", "none"),
    ),
    Config(
        "ssl.principal.mapping.rules",
        Type.STRING,
        "DEFAULT",
        "The rules by which the subject of a certificate becomes the name of a user (KIP-371).",
    ),
    Config(
        "ssl.enabled.protocols",
        Type.LIST,
        TLS_VERSIONS,
        "The versions of TLS that a listener accepts.",
        one_of(*TLS_VERSIONS),
    ),
    Config(
        "ssl.protocol",
        Type.STRING,
        "TLSv1.3",
        "Checked alone: ssl.enabled.protocols decides what a listener accepts.",
        one_of("TLS", *TLS_VERSIONS),
    ),
    Config("ssl.cipher.suites", Type.LIST, (), "The accepted cipher suites by Java's names; all if empty."),
    Config(
        "ssl.endpoint.identification.algorithm",
        Type.STRING,
        "https",
        "Whether a broker that connects to another checks its name: https, or empty for no check.",
        one_of("https", "HTTPS", ""),
    ),
)
"""The declarations of the settings."""

STORE_CONFIGS = tuple(
    config.name
    for config in SSL_CONFIGS
    if config.name.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))
)
"""The settings of key and trust stores."""

LIVE_STORE_CONFIGS = frozenset(name for name in STORE_CONFIGS if name.endswith((".location", ".type")))
"""The store settings that change while the broker runs.

The others are secrets, which must not be in ZooKeeper.
"""

"""The settings of the connection to ZooKeeper (``KafkaConfig`` of release 2.8), and one of ours.

Settings of TLS that are not given fall back to the system properties of ZooKeeper's client in ``KAFKA_OPTS``
(`cluster.zk.client.client_settings`), and then to the defaults here.
"""

from __future__ import annotations

from barnabas.cluster.model.configs.declarations import REQUIRED, Config, Rule, Type, at_least, not_empty

LOGIN_CONFIG = "java.security.auth.login.config"
"""The setting, and Java's system property, that names the JAAS file."""

TLS_PROTOCOLS = ("TLSv1.2", "TLSv1.3")


def _refused(what: str) -> Rule:
    return Rule(lambda value: value is False, f"false: {what} is not supported")


_PROTOCOLS = Rule(
    lambda value: set(value if isinstance(value, tuple) else (value,)) <= set(TLS_PROTOCOLS) and value != (),
    f"any of {', '.join(TLS_PROTOCOLS)}",
)

ZOOKEEPER_SECURITY_CONFIGS = (
    Config(
        "zookeeper.set.acl",
        Type.BOOLEAN,
        default=False,
        doc="Whether only brokers may change the nodes that brokers create, and read those with secrets.",
    ),
    Config(
        LOGIN_CONFIG,
        Type.STRING,
        None,
        "The JAAS file whose section Client has the login to ZooKeeper; by default that of KAFKA_OPTS.",
        ours=True,
    ),
    Config(
        "zookeeper.ssl.client.enable",
        Type.BOOLEAN,
        default=False,
        doc="Whether the connection to ZooKeeper uses TLS.",
    ),
    Config(
        "zookeeper.clientCnxnSocket",
        Type.STRING,
        None,
        "Ignored; a class of ZooKeeper's client in Java, which Kafka needs for TLS.",
    ),
    Config(
        "zookeeper.ssl.keystore.location",
        Type.STRING,
        None,
        "The file with the client's key and certificates towards ZooKeeper.",
    ),
    Config(
        "zookeeper.ssl.keystore.password",
        Type.PASSWORD,
        None,
        "The password of that file, and of the key in it.",
    ),
    Config(
        "zookeeper.ssl.keystore.type",
        Type.STRING,
        None,
        "PKCS12 or PEM; by default, the file's extension decides.",
    ),
    Config(
        "zookeeper.ssl.truststore.location",
        Type.STRING,
        None,
        "The file with the certificates of the authorities that sign ZooKeeper's.",
    ),
    Config("zookeeper.ssl.truststore.password", Type.PASSWORD, None, "The password of that file."),
    Config(
        "zookeeper.ssl.truststore.type",
        Type.STRING,
        None,
        "PKCS12 or PEM; by default, the file's extension decides.",
    ),
    Config(
        "zookeeper.ssl.protocol",
        Type.STRING,
        "TLSv1.2",
        "The version of TLS if zookeeper.ssl.enabled.protocols is not set.",
        _PROTOCOLS,
    ),
    Config(
        "zookeeper.ssl.enabled.protocols",
        Type.LIST,
        None,
        "The versions of TLS that may be used; by default zookeeper.ssl.protocol.",
        _PROTOCOLS,
    ),
    Config(
        "zookeeper.ssl.cipher.suites",
        Type.LIST,
        None,
        "The cipher suites that may be used, by Java's names; by default those of OpenSSL.",
    ),
    Config(
        "zookeeper.ssl.endpoint.identification.algorithm",
        Type.STRING,
        "HTTPS",
        "HTTPS, in any case, to check ZooKeeper's host name against its certificate; no check if another.",
    ),
    Config(
        "zookeeper.ssl.crl.enable",
        Type.BOOLEAN,
        default=False,
        doc="Whether lists of revoked certificates are checked; not supported.",
        rule=_refused("the check of lists of revoked certificates"),
    ),
    Config(
        "zookeeper.ssl.ocsp.enable",
        Type.BOOLEAN,
        default=False,
        doc="Whether certificates are checked by OCSP; not supported.",
        rule=_refused("the check of certificates by OCSP"),
    ),
)
"""The declarations of the settings of security."""

ZOOKEEPER_CONFIGS = (
    Config(
        "zookeeper.connect",
        Type.STRING,
        REQUIRED,
        "host:port[,host:port...][/chroot] of ZooKeeper.",
        not_empty(),
    ),
    Config(
        "zookeeper.session.timeout.ms",
        Type.INT,
        18000,
        "The session timeout with ZooKeeper, ms.",
        at_least(1),
    ),
    Config(
        "zookeeper.connection.timeout.ms",
        Type.INT,
        None,
        "How long the start waits for ZooKeeper, ms; by default zookeeper.session.timeout.ms.",
        at_least(1),
    ),
    Config(
        "zookeeper.connection.wait",
        Type.BOOLEAN,
        default=False,
        doc="Whether the start tries again after that time, until ZooKeeper answers or the process is ended.",
        ours=True,
    ),
    Config(
        "zookeeper.max.in.flight.requests",
        Type.INT,
        10,
        "The most unanswered requests to ZooKeeper.",
        at_least(1),
    ),
    *ZOOKEEPER_SECURITY_CONFIGS,
)
"""The declarations of all settings."""

"""The security of ZooKeeper sessions, by Kafka's settings, Java's system properties and a JAAS file.

Kafka gets the system properties from the environment variable ``KAFKA_OPTS``, and so do we. Sources:
``JaasUtils``, ``KafkaServer.initZkClient`` and ``KafkaConfig.ZkSslConfigToSystemPropertyMap`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from barnabas.cluster.model.configs.zookeeper import LOGIN_CONFIG
from barnabas.cluster.model.jaas import JaasEntry, JaasError, parse_jaas_file
from barnabas.cluster.zk.client.client_tls import ENABLE, HOST_CHECK, KEYSTORE, ClientTls
from barnabas.cluster.zk.client.security import Login, ZooKeeperSecurity

OPTIONS_VARIABLE = "KAFKA_OPTS"
"""The environment variable with options for Java, such as ``-Djava.security.auth.login.config=FILE``."""

SET_ACL = "zookeeper.set.acl"
SASL_CLIENT = "zookeeper.sasl.client"
LOGIN_SECTION = "zookeeper.sasl.clientconfig"
LOGIN_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
"""The login module of DIGEST-MD5, the only mechanism that is served."""

SYSTEM_PROPERTIES: Mapping[str, str] = MappingProxyType(
    {
        "zookeeper.ssl.client.enable": "zookeeper.client.secure",
        "zookeeper.clientCnxnSocket": "zookeeper.clientCnxnSocket",
        "zookeeper.ssl.keystore.location": "zookeeper.ssl.keyStore.location",
        "zookeeper.ssl.keystore.password": "zookeeper.ssl.keyStore.password",
        "zookeeper.ssl.keystore.type": "zookeeper.ssl.keyStore.type",
        "zookeeper.ssl.truststore.location": "zookeeper.ssl.trustStore.location",
        "zookeeper.ssl.truststore.password": "zookeeper.ssl.trustStore.password",
        "zookeeper.ssl.truststore.type": "zookeeper.ssl.trustStore.type",
        "zookeeper.ssl.protocol": "zookeeper.ssl.protocol",
        "zookeeper.ssl.enabled.protocols": "zookeeper.ssl.enabledProtocols",
        "zookeeper.ssl.cipher.suites": "zookeeper.ssl.ciphersuites",
        "zookeeper.ssl.endpoint.identification.algorithm": "zookeeper.ssl.hostnameVerification",
        "zookeeper.ssl.crl.enable": "zookeeper.ssl.crl",
        "zookeeper.ssl.ocsp.enable": "zookeeper.ssl.ocsp",
    }
)
"""The system property of ZooKeeper's client behind each setting of TLS."""

_UNSET = "default:"


class ZooKeeperSecurityError(ValueError):
    """Settings of the security towards ZooKeeper that contradict each other, or a bad JAAS file."""


def system_properties(options: str) -> dict[str, str]:
    """Return the system properties ``-Dname=value`` in options for Java; the last one of a name counts."""
    pairs = (word[2:].partition("=") for word in options.split() if word.startswith("-D"))
    return {name: value for name, _, value in pairs}


def security_of(given: Mapping[str, str], environment: Mapping[str, str]) -> ZooKeeperSecurity:
    """Return the security of the sessions of a process.

    Args:
        given: The text of the settings that were given, by name.
        environment: The environment variables.

    Raises:
        ConfigError: A setting is invalid.
        ZooKeeperSecurityError: The JAAS file is invalid, or nodes should get ACLs although there is no login.
    """
    properties = system_properties(environment.get(OPTIONS_VARIABLE, ""))
    if LOGIN_CONFIG in given:
        properties[LOGIN_CONFIG] = given[LOGIN_CONFIG]
    client = ClientTls.of({**_from_java(properties), **given})
    values, login = client.values, login_of(properties)
    tls = client if values[ENABLE] else None
    if tls is not None:
        tls.context()  # a bad store ends the start; later ones are tried again
    set_acl = bool(values[SET_ACL])
    has_certificate = tls is not None and values[KEYSTORE] is not None
    if set_acl and login is None and not has_certificate:
        raise ZooKeeperSecurityError(
            f"{SET_ACL} is true, but ZooKeeper client TLS configuration identifying at least {ENABLE} and "
            f"{KEYSTORE} was not present and the verification of the JAAS login file failed "
            f"{login_context(properties)}"
        )
    return ZooKeeperSecurity(login, set_acl, None if tls is None else tls.dialling(), has_certificate)


def login_of(properties: Mapping[str, str]) -> Login | None:
    """Return the login that the JAAS file of the system properties has; None without a file or section.

    Raises:
        ZooKeeperSecurityError: The file or the section is bad, or the system properties forbid the login. The
            message has no password.
    """
    file, context = properties.get(LOGIN_CONFIG), login_context(properties)
    if not file:
        return None
    failed = f"Exception while loading Zookeeper JAAS login context {context}:"
    try:
        sections = parse_jaas_file(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooKeeperSecurityError(f"{failed} cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ZooKeeperSecurityError(f"{failed} {file} must be UTF-8") from None
    except JaasError as error:
        raise ZooKeeperSecurityError(f"{failed} {file} must have {error}") from None
    section = properties.get(LOGIN_SECTION, "Client")
    entries = sections.get(section)
    if entries is None:
        return None
    if properties.get(SASL_CLIENT, "true").lower() != "true":
        raise ZooKeeperSecurityError(
            f"Exception while determining if ZooKeeper is secure {context}: the JAAS file has a section "
            f"{section}, but {SASL_CLIENT} disables SASL"
        )
    if len(entries) != 1:
        raise ZooKeeperSecurityError(f"{failed} section {section} must have one login module")
    return _login(entries[0], f"{failed} section {section} must have")


def _login(entry: JaasEntry, must_have: str) -> Login:
    if entry.module != LOGIN_MODULE:
        raise ZooKeeperSecurityError(f"{must_have} {LOGIN_MODULE}, not {entry.module}")
    username, password = entry.options.get("username"), entry.options.get("password")
    if not username or not password:
        raise ZooKeeperSecurityError(f"{must_have} options username and password")
    return Login(username, password)


def login_context(properties: Mapping[str, str]) -> str:
    """Return the system properties of the login, as Kafka's errors show them."""
    shown = {
        LOGIN_CONFIG: properties.get(LOGIN_CONFIG, "null"),
        SASL_CLIENT: properties.get(SASL_CLIENT, f"{_UNSET}true"),
        LOGIN_SECTION: properties.get(LOGIN_SECTION, f"{_UNSET}Client"),
    }
    return f"[{', '.join(f'{name}={value}' for name, value in shown.items())}]"


def _from_java(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the text of the settings that system properties stand for."""
    return {
        setting: _setting(setting, properties[name])
        for setting, name in SYSTEM_PROPERTIES.items()
        if name in properties
    }


def _setting(name: str, value: str) -> str:
    """Return the text of the setting that is equivalent to the ``value`` of its system property."""
    if name == HOST_CHECK:
        return "HTTPS" if value == "true" else ""
    if name.endswith(".enable"):
        return str(value == "true").lower()
    return value

"""The security of an embedded ZooKeeper: its users and TLS, and their form in its files."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.cluster.model.configs.zookeeper import LOGIN_CONFIG
from barnabas.cluster.model.jaas import parse_jaas_file

JAAS_FILE = "jaas.conf"
"""The file in a server's directory with its users and the login of brokers. Its owner alone may read it."""

_LOGIN_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_PROVIDERS = "org.apache.zookeeper.server.auth"
_NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"
_CLIENT_SOCKET = "org.apache.zookeeper.ClientCnxnSocketNetty"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The TLS of a server, which then has no port without TLS.

    Attributes:
        keystore: The server's key and certificates, ``.pem`` or ``.p12``. The extension matters.
        truststore: The authorities that sign the certificates of clients.
        keystore_password: The password of the key store, or of the key in PEM; empty if it has none.
        truststore_password: The password of the trust store; empty if it has none.
        client_auth: Whether clients must have a certificate (``need``), may have one (``want``), or are not
            asked for any (``none``).
    """

    keystore: Path
    truststore: Path
    keystore_password: str = field(default="", repr=False)
    truststore_password: str = field(default="", repr=False)
    client_auth: str = "need"


@dataclass(frozen=True, slots=True)
class ServerSecurity:
    """The security of a server.

    Attributes:
        users: The passwords of users who may log in by SASL DIGEST-MD5; empty for no SASL. Brokers log in as
            the first one, because znodes belong to the user that created them. Names may have letters, digits
            and ``_.-$``.
        requires_login: Whether sessions without a login are closed at their first request
            (``enforce.auth.schemes=sasl``). Without it they may read and change what znodes' ACLs permit.
        tls: TLS; None for a port without it.
    """

    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    requires_login: bool = False
    tls: ServerTls | None = None


BROKERS_USER = "kafka"
"""The user whose password `kept_login` makes."""

_PASSWORD_BYTES = 24

UNSECURED = ServerSecurity()
"""The security with which everybody may connect, and do what znodes' ACLs permit."""


def kept_login(directory: Path) -> dict[str, str]:
    """Return the brokers' user and its password: those in a server's directory, else new ones.

    Raises:
        OSError, JaasError: The file that is there cannot be read.
    """
    file = directory / JAAS_FILE
    if not file.exists():
        return {BROKERS_USER: secrets.token_urlsafe(_PASSWORD_BYTES)}
    options = parse_jaas_file(file.read_text(encoding="utf-8"))["Client"][0].options
    return {options["username"]: options["password"]}


def server_security(
    directory: Path, keystore: Path | None, truststore: Path | None, *, secure: bool
) -> ServerSecurity:
    """Return the security of a server by the options of ``barnabas zookeeper``.

    Args:
        directory: The server's directory. If it has a JAAS file, a login is required in any case.
        keystore: The server's key and certificate, PEM without a password; None for no TLS.
        truststore: The authorities of clients' certificates, PEM.
        secure: Whether clients must log in.

    Raises:
        ValueError: One of the stores is missing, or not PEM, or the JAAS file cannot be read.
    """
    if (keystore is None) != (truststore is None):
        raise ValueError("--keystore and --truststore go together")
    tls = None
    if keystore is not None and truststore is not None:
        for store in (keystore, truststore):
            if store.suffix != ".pem" or not store.is_file():
                raise ValueError(f"{store} is not a file, or its name does not end with .pem")
        tls = ServerTls(keystore.resolve(), truststore.resolve())
    if not secure and not (directory / JAAS_FILE).exists():
        return ServerSecurity(tls=tls)
    try:
        users = kept_login(directory)
    except (OSError, KeyError, IndexError, ValueError) as error:
        raise ValueError(f"no login of brokers in {directory / JAAS_FILE}: {error}") from error
    return ServerSecurity(users, requires_login=True, tls=tls)


def render_security(security: ServerSecurity) -> str:
    """Return the lines of ``zoo.cfg``."""
    settings: dict[str, object] = {}
    if security.users:
        settings["authProvider.sasl"] = f"{_PROVIDERS}.SASLAuthenticationProvider"
    if security.requires_login:
        settings |= {"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"}
    if security.tls is not None:
        settings |= {
            "serverCnxnFactory": _NETTY,
            "authProvider.x509": f"{_PROVIDERS}.X509AuthenticationProvider",
            # Kafka's clients use 1.2 by default, ZooKeeper 3.9 only 1.3.
            "ssl.enabledProtocols": "TLSv1.2,TLSv1.3",
            "ssl.clientAuth": security.tls.client_auth,
            "ssl.keyStore.location": security.tls.keystore,
            "ssl.keyStore.password": security.tls.keystore_password,
            "ssl.trustStore.location": security.tls.truststore,
            "ssl.trustStore.password": security.tls.truststore_password,
        }
    return "".join(f"{key}={value}\n" for key, value in settings.items() if value != "")


def client_settings(security: ServerSecurity, jaas_file: Path) -> dict[str, str]:
    """Return the settings with which brokers connect to a server, and secure their nodes if they log in.

    Brokers get the server's own certificate, unless other settings name another.
    """
    settings: dict[str, str] = {}
    if security.users:
        settings[LOGIN_CONFIG] = str(jaas_file)
    if security.tls is not None:
        settings |= {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": _CLIENT_SOCKET,
            "zookeeper.ssl.keystore.location": str(security.tls.keystore),
            "zookeeper.ssl.keystore.password": security.tls.keystore_password,
            "zookeeper.ssl.truststore.location": str(security.tls.truststore),
            "zookeeper.ssl.truststore.password": security.tls.truststore_password,
        }
    if security.users or (security.tls is not None and security.tls.client_auth != "none"):
        settings["zookeeper.set.acl"] = "true"
    return {name: text for name, text in settings.items() if text}


def render_users(users: Mapping[str, str]) -> str:
    """Return the content of the JAAS file: for the server all users, for its clients the first one."""
    options = "\n".join(f"    user_{name}={_quoted(password)}" for name, password in users.items())
    username, password = next(iter(users.items()))
    login = f"    username={_quoted(username)}\n    password={_quoted(password)}"
    sections = {"Server": options, "Client": login}
    return "".join(
        f"{name} {{\n    {_LOGIN_MODULE} required\n{section};\n}};\n" for name, section in sections.items()
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

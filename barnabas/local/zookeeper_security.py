"""The security of an embedded ZooKeeper: who may connect, and what its files say of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

JAAS_FILE = "jaas.conf"
"""The file in a server's directory with its users and the login of brokers. Its owner alone may read it."""

_LOGIN_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_SASL_PROVIDER = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"


@dataclass(frozen=True, slots=True)
class ServerSecurity:
    """The security of a server.

    Attributes:
        users: The passwords of users who may log in by SASL DIGEST-MD5; empty for no SASL. Brokers log in as
            the first one, because znodes belong to the user that created them. Names may have letters, digits
            and ``_.-$``.
        requires_login: Whether sessions without a login are closed at their first request
            (``enforce.auth.schemes=sasl``). Without it they may read and change what znodes' ACLs permit.
    """

    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    requires_login: bool = False


UNSECURED = ServerSecurity()
"""Everybody may connect, and do what znodes' ACLs permit."""


def render_security(security: ServerSecurity) -> str:
    """Return the lines of ``zoo.cfg``."""
    settings: dict[str, str] = {}
    if security.users:
        settings["authProvider.sasl"] = _SASL_PROVIDER
    if security.requires_login:
        settings |= {"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"}
    return "".join(f"{key}={value}\n" for key, value in settings.items())


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

"""The security of a ZooKeeper session: the login, TLS, and the ACLs of the nodes that it creates."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Login:
    """A user of SASL DIGEST-MD5.

    Attributes:
        username: The name, which ZooKeeper's ACLs have as ``sasl:<name>``.
        password: The password, which is not shown.
    """

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ZooKeeperSecurity:
    """The security of a session.

    Attributes:
        login: The user to authenticate as on each connection; None for no SASL.
        set_acl: Whether the nodes that the session creates get Kafka's ACLs (``zookeeper.set.acl``); else
            they are open to everybody.
        tls: Returns the TLS context for a new connection, and raises an ``OSError`` if it cannot; None for a
            connection without TLS.
        has_certificate: Whether the client has a certificate, by which ZooKeeper may know it (``x509``).
    """

    login: Login | None = None
    set_acl: bool = False
    tls: Callable[[], ssl.SSLContext] | None = None
    has_certificate: bool = False


UNSECURED = ZooKeeperSecurity()
"""The security without login and TLS, whose nodes are open to everybody."""

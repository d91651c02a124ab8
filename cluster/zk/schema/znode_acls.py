"""The ACLs of znodes, which the path alone decides.

Source: ``ZkData`` of release 2.8 (``defaultAcls``, ``SecureRootPaths``, ``SensitiveRootPaths``).
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.cluster.zk.schema import paths

READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16
ALL = READ | WRITE | CREATE | DELETE | ADMIN


class ZnodeAcl(NamedTuple):
    """An entry of a znode's ACL: the permissions of one identity.

    Attributes:
        permissions: The sum of ``READ``, ``WRITE``, ``CREATE``, ``DELETE`` and ``ADMIN``.
        scheme: The kind of identity, such as ``world``, ``sasl`` or ``x509``. ZooKeeper replaces ``auth`` by
            the authenticated identities of the session, and refuses it if there are none.
        id: The identity; empty for ``auth``.
    """

    permissions: int
    scheme: str
    id: str


_CREATOR = ZnodeAcl(ALL, "auth", "")

OPEN = (ZnodeAcl(ALL, "world", "anyone"),)
"""The ACL with which everybody may do everything (``ZooDefs.Ids.OPEN_ACL_UNSAFE``)."""

PRIVATE = (_CREATOR,)
"""The ACL with which only the creator may do anything (``ZooDefs.Ids.CREATOR_ALL_ACL``)."""

READABLE = (_CREATOR, ZnodeAcl(READ, "world", "anyone"))
"""The ACL with which the creator may do everything, and everybody may read."""

CONSUMERS = "/consumers"
"""The node of consumers of release 0.8, which write below it without a login."""

SENSITIVE_ROOTS = ("/config/users", "/config/brokers", "/delegation_token/tokens")
"""The prefixes of paths with secrets. Kafka compares text, so ``/config/users2`` is sensitive too."""

SECURE_ROOTS = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    paths.CONTROLLER,
    paths.CONTROLLER_EPOCH,
    paths.ISR_CHANGE_NOTIFICATION,
    paths.PRODUCER_ID_BLOCK,
    paths.LOG_DIR_EVENT_NOTIFICATION,
    "/delegation_token",
    "/kafka-acl-extended",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended/prefixed",
    "/kafka-acl-extended-changes",
)
"""The nodes whose subtrees ``zookeeper-security-migration.sh`` secures, in Kafka's order."""

FURTHER_ROOTS = (paths.FEATURE, "/barnabas")
"""The nodes that only Barnabas secures, if they exist: one that release 2.8 forgets, and our own."""


def default_acl(path: str, *, secure: bool) -> tuple[ZnodeAcl, ...]:
    """Return the ACL with which a node is created.

    Args:
        path: The node's path below the chroot.
        secure: Whether ``zookeeper.set.acl`` is set.
    """
    if not secure or path == CONSUMERS:
        return OPEN
    return PRIVATE if path.startswith(SENSITIVE_ROOTS) else READABLE

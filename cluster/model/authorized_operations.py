"""The operations that a client may perform on a resource, as the bits of an int32 (KIP-430).

Source: ``AclEntry.supportedOperations`` and ``AuthHelper.authorizedOperations`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum, unique
from types import MappingProxyType

NOT_ASKED = -2147483648
"""What an answer holds if the client did not ask for its operations."""


@unique
class AclOperation(IntEnum):
    """An operation that an ACL allows or denies; its value is its bit."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


@unique
class ResourceKind(Enum):
    """What operations are performed on."""

    TOPIC = "Topic"
    GROUP = "Group"
    CLUSTER = "Cluster"


_Op = AclOperation

SUPPORTED: Mapping[ResourceKind, frozenset[AclOperation]] = MappingProxyType(
    {
        ResourceKind.TOPIC: frozenset(
            {
                _Op.READ,
                _Op.WRITE,
                _Op.CREATE,
                _Op.DESCRIBE,
                _Op.DELETE,
                _Op.ALTER,
                _Op.DESCRIBE_CONFIGS,
                _Op.ALTER_CONFIGS,
            }
        ),
        ResourceKind.GROUP: frozenset({_Op.READ, _Op.DESCRIBE, _Op.DELETE}),
        ResourceKind.CLUSTER: frozenset(
            {
                _Op.CREATE,
                _Op.CLUSTER_ACTION,
                _Op.DESCRIBE_CONFIGS,
                _Op.ALTER_CONFIGS,
                _Op.IDEMPOTENT_WRITE,
                _Op.ALTER,
                _Op.DESCRIBE,
            }
        ),
    }
)
"""The operations that there are for each kind of resource."""


def authorized_operations(kind: ResourceKind, *, is_asked: bool) -> int:
    """The bits of all operations on a resource: without an authorizer everybody may perform each.

    `NOT_ASKED` if the client did not ask.
    """
    return sum(1 << operation for operation in SUPPORTED[kind]) if is_asked else NOT_ASKED

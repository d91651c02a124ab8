"""The operations that a client may perform on a resource, as the bits of an int32 (KIP-430).

Source: ``AclEntry.supportedOperations`` and ``AuthHelper.authorizedOperations`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.cluster.model.acls import AclOperation, ResourceType

NOT_ASKED = -2147483648
"""The value in an answer to a client that did not ask for its operations."""


_Op = AclOperation

SUPPORTED: Mapping[ResourceType, frozenset[AclOperation]] = MappingProxyType(
    {
        ResourceType.TOPIC: frozenset(
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
        ResourceType.GROUP: frozenset({_Op.READ, _Op.DESCRIBE, _Op.DELETE}),
        ResourceType.CLUSTER: frozenset(
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
        ResourceType.TRANSACTIONAL_ID: frozenset({_Op.DESCRIBE, _Op.WRITE}),
        ResourceType.DELEGATION_TOKEN: frozenset({_Op.DESCRIBE}),
    }
)
"""The operations that there are for each type of resource."""


def authorized_operations(kind: ResourceType, *, is_asked: bool) -> int:
    """Return the bits of all operations on a resource, as without an authorizer, when everybody may do all.

    Returns `NOT_ASKED` if the client did not ask.
    """
    return sum(1 << operation for operation in SUPPORTED[kind]) if is_asked else NOT_ASKED

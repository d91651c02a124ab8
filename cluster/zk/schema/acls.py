"""The paths and bodies of ACLs and of the notifications of their changes.

Literal patterns and prefixed ones have trees and notifications of their own.
Source: ``ZkAclStore``, ``ResourceZNode``, ``LiteralAclChangeStore`` and ``ExtendedAclChangeEvent`` of Kafka
2.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from barnabas.cluster.model.acls import (
    RESOURCE_TYPES,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk.schema.body import Body, ZnodeDecodeError, encode_json, is_text

_ROOTS = MappingProxyType(
    {PatternType.LITERAL: "/kafka-acl", PatternType.PREFIXED: "/kafka-acl-extended/prefixed"}
)

ACL_CHANGES = MappingProxyType(
    {PatternType.LITERAL: "/kafka-acl-changes", PatternType.PREFIXED: "/kafka-acl-extended-changes"}
)
"""The parent of the notifications of changed ACLs, for each type of pattern."""

ACL_CHANGE_PREFIX = "acl_changes_"
"""The name of a notification without its number."""

_VERSION = 1


def acl_type(type_: ResourceType, pattern: PatternType) -> str:
    """Return the path of the parent of all resources of a type."""
    return f"{_ROOTS[pattern]}/{type_.title}"


def acl_resource(resource: ResourcePattern) -> str:
    """Return the path of a resource's ACLs; names are not encoded."""
    return f"{acl_type(resource.type, resource.pattern)}/{resource.name}"


ACL_PATHS = (
    *(acl_type(type_, pattern) for pattern in _ROOTS for type_ in RESOURCE_TYPES),
    *ACL_CHANGES.values(),
)
"""The paths that a broker with an authorizer creates at its start if they are missing, with their parents."""


def encode_acls(entries: Iterable[AccessControlEntry]) -> bytes:
    """Encode the ACLs of a resource."""
    acls = [
        {
            "principal": entry.principal,
            "permissionType": entry.permission.title,
            "operation": entry.operation.title,
            "host": entry.host,
        }
        for entry in sorted(entries)
    ]
    return encode_json({"version": _VERSION, "acls": acls})


def decode_acls(path: str, content: bytes) -> frozenset[AccessControlEntry]:
    """Decode the ACLs of a resource; an empty body has none.

    Raises:
        ZnodeDecodeError: The body is not readable. Kafka treats it as empty, which may open the resource.
    """
    if not content:
        return frozenset()
    body = Body(path, content)
    if body.version != _VERSION:
        raise body.error("version 1")
    return frozenset(_entry(body, fields) for fields in body.objects("acls"))


def _entry(body: Body, fields: dict[str, Any]) -> AccessControlEntry:
    texts = [fields.get(key) for key in ("principal", "host", "operation", "permissionType")]
    if not all(map(is_text, texts)):
        raise body.error("principal, permissionType, operation and host of each ACL")
    principal, host, operation, permission = map(str, texts)
    try:
        entry = AccessControlEntry(
            principal, host, AclOperation.named(operation), AclPermission.named(permission)
        )
    except ValueError as error:
        raise body.error(f"ACLs of Kafka, but {error}") from None
    if AclOperation.ANY is entry.operation or AclPermission.ANY is entry.permission:
        raise body.error("ACLs of Kafka, in which Any occurs in filters only")
    return entry


def encode_acl_change(resource: ResourcePattern) -> bytes:
    """Encode a notification that the ACLs of a resource have changed."""
    if resource.pattern is PatternType.LITERAL:
        return f"{resource.type.name}:{resource.name}".encode()
    return encode_json(
        {
            "version": _VERSION,
            "resourceType": resource.type.name,
            "name": resource.name,
            "patternType": resource.pattern.name,
        }
    )


def decode_acl_change(path: str, content: bytes, pattern: PatternType) -> ResourcePattern:
    """Decode a notification among those of a type of pattern."""
    try:
        if pattern is PatternType.LITERAL:
            kind, separator, name = content.decode().partition(":")
            if not separator:
                raise ZnodeDecodeError(path, content, "a resource type, a colon and a name")
            return ResourcePattern(ResourceType.named(kind), name, pattern)
        body = Body(path, content)
        if body.version > _VERSION:
            raise body.error("version 1")
        named = PatternType.named(body.text("patternType"))
        return ResourcePattern(ResourceType.named(body.text("resourceType")), body.text("name"), named)
    except ZnodeDecodeError:
        raise
    except ValueError as error:
        raise ZnodeDecodeError(path, content, f"a changed resource, but {error}") from None

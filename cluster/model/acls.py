"""ACLs: rules that allow or deny an operation on resources to a principal from a host.

Sources: ``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``, ``ResourcePatternFilter``
and ``AccessControlEntryFilter`` of Kafka 2.8; KIP-11, KIP-290.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, unique
from functools import cache
from typing import Any, NamedTuple, Self


class _Code(IntEnum):
    """A number of the protocol that znodes and logs write as a name."""

    __hash__ = int.__hash__  # that of an enumeration is four times as slow

    @property
    def title(self) -> str:
        """The name in Pascal case, such as ``ClusterAction``."""
        return "".join(map(str.capitalize, self.name.split("_")))

    @classmethod
    def named(cls, text: str) -> Self:
        """Return the member whose name ``text`` is, in Pascal case or in capitals.

        Raises:
            ValueError: There is none.
        """
        found: Self | None = _by_name(cls).get(text)
        if found is None:
            raise ValueError(f"{text!r} is none of {', '.join(member.title for member in cls)}")
        return found


@cache
def _by_name(kind: type[_Code]) -> Mapping[str, Any]:
    """Return the members by both spellings of their names; an ACL is decoded in a tenth of the time so."""
    return {name: member for member in kind for name in (member.title, member.name)}


@unique
class AclOperation(_Code):
    """An operation that an ACL allows or denies; its value is its bit in authorized operations (KIP-430)."""

    ANY = 1
    ALL = 2
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
class ResourceType(_Code):
    """The types of resources; ``ANY`` occurs in filters only."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6


@unique
class PatternType(_Code):
    """The ways in which a pattern names resources; ``ANY`` and ``MATCH`` occur in filters only."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


@unique
class AclPermission(_Code):
    """The effects of an ACL; ``ANY`` occurs in filters only."""

    ANY = 1
    DENY = 2
    ALLOW = 3


RESOURCE_TYPES = tuple(kind for kind in ResourceType if kind is not ResourceType.ANY)
"""The types that resources have."""

CLUSTER_NAME = "kafka-cluster"
"""The only name of a resource of type ``CLUSTER``."""

WILDCARD = "*"
"""The name of a literal pattern for every resource, and the host that means every host."""

WILDCARD_PRINCIPAL = "User:*"
"""The principal of an ACL for everybody."""


class ResourcePattern(NamedTuple):
    """The resources of an ACL: one by its name, all (literal ``*``), or all whose names have a prefix."""

    type: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        pattern = self.pattern.name
        return f"ResourcePattern(resourceType={self.type.name}, name={self.name}, patternType={pattern})"


CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
"""The cluster as a resource."""


class AccessControlEntry(NamedTuple):
    """One ACL of a resource.

    Attributes:
        principal: ``type:name``, or ``User:*``.
        host: An address as Java writes it, or ``*``.
        operation: The operation, or ``ALL``.
        permission: ``ALLOW`` or ``DENY``.
    """

    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission


class AclBinding(NamedTuple):
    """An ACL and its resource."""

    resource: ResourcePattern
    entry: AccessControlEntry


class AclFilter(NamedTuple):
    """A filter of ACLs; None and ``ANY`` match everything.

    Principal and host are compared as text: ``User:*`` finds the ACLs of that principal alone.
    """

    type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    def matches(self, binding: AclBinding) -> bool:
        """Return whether the filter matches an ACL."""
        entry = binding.entry
        return (
            self.matches_resource(binding.resource)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (AclPermission.ANY, entry.permission)
        )

    def matches_resource(self, resource: ResourcePattern) -> bool:
        """Return whether the filter matches ACLs of a resource.

        A filter of pattern ``MATCH`` finds all patterns that concern the resource ``name``.
        """
        if self.type not in (ResourceType.ANY, resource.type):
            return False
        if self.pattern not in (PatternType.ANY, PatternType.MATCH, resource.pattern):
            return False
        if self.name is None or self.name == resource.name:
            return True
        if self.pattern is not PatternType.MATCH:
            return False
        if resource.pattern is PatternType.PREFIXED:
            return self.name.startswith(resource.name)
        return resource.name == WILDCARD

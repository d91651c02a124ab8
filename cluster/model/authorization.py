"""The decision whether a principal may perform an operation on a resource.

Source: ``AclAuthorizer`` of Kafka 2.8 (``authorizeAction``, ``matchingAcls``, ``authorizeByResourceType``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from barnabas.cluster.model.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.principal import KafkaPrincipal

_Op = AclOperation

_IMPLYING = {
    _Op.DESCRIBE: (_Op.READ, _Op.WRITE, _Op.DELETE, _Op.ALTER),
    _Op.DESCRIBE_CONFIGS: (_Op.ALTER_CONFIGS,),
}
"""The operations that imply another one when an ACL allows them; nothing is implied when one is denied."""


def _bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in set(operations))


_DENYING: dict[AclOperation, int] = {each: _bits(each, _Op.ALL) for each in AclOperation}
_ALLOWING = {operation: _DENYING[operation] | _bits(*_IMPLYING.get(operation, ())) for operation in _DENYING}
"""The bits of the operations that deny and allow an operation."""

_Operations = Mapping[tuple[str, str], tuple[int, int]]
"""The bits of the operations that a resource's ACLs deny and allow, by principal and host of the ACL."""


class Action(NamedTuple):
    """An operation on one resource."""

    operation: AclOperation
    type: ResourceType
    name: str


class Requester(NamedTuple):
    """The principal of a request, and the address that it came from as Java writes it."""

    principal: KafkaPrincipal
    host: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decide besides ACLs.

    Attributes:
        super_users: The principals that may do everything (``super.users``).
        allow_if_none: Whether everybody may do everything with a resource that no ACL concerns
            (``allow.everyone.if.no.acl.found``).
    """

    super_users: frozenset[KafkaPrincipal] = frozenset()
    allow_if_none: bool = False


class Acls:
    """All ACLs of the cluster, indexed so that a decision looks at few of them, however many there are.

    The operations of a resource's ACLs are bits, which are looked up by principal and host. Prefixes are
    looked up by their lengths, which are few; hashing is most of a decision's cost, so only names are hashed.
    """

    def __init__(self) -> None:
        self._entries: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        self._operations: dict[tuple[ResourceType, PatternType], dict[str, _Operations]] = defaultdict(dict)
        self._lengths: dict[ResourceType, Counter[int]] = defaultdict(Counter)
        self._having: dict[ResourceType, dict[AccessControlEntry, set[ResourcePattern]]] = defaultdict(dict)

    def __getitem__(self, resource: ResourcePattern) -> frozenset[AccessControlEntry]:
        return self._entries.get(resource, frozenset())

    def __contains__(self, resource: object) -> bool:
        return resource in self._entries

    def __iter__(self) -> Iterator[ResourcePattern]:
        """Iterate over the resources that have ACLs."""
        return iter(self._entries)

    def __setitem__(self, resource: ResourcePattern, entries: AbstractSet[AccessControlEntry]) -> None:
        """Replace all ACLs of a resource."""
        before, after = self[resource], frozenset(entries)
        having = self._having[resource.type]
        for entry in before - after:
            resources = having[entry]
            resources.remove(resource)
            if not resources:
                del having[entry]
        for entry in after - before:
            having.setdefault(entry, set()).add(resource)
        if resource.pattern is PatternType.PREFIXED and bool(before) != bool(after):
            lengths = self._lengths[resource.type]
            lengths[len(resource.name)] += 1 if after else -1
            if not lengths[len(resource.name)]:
                del lengths[len(resource.name)]
        by_name = self._operations[resource.type, resource.pattern]
        if after:
            self._entries[resource] = after
            by_name[resource.name] = _operations(after)
        else:
            self._entries.pop(resource, None)
            by_name.pop(resource.name, None)

    def lengths(self, type_: ResourceType) -> list[int]:
        """Return the lengths of the prefixes of a type that have ACLs."""
        return list(self._lengths.get(type_, ()))

    def concerning(self, type_: ResourceType, name: str) -> list[_Operations]:
        """Return what the ACLs of each pattern that concerns a resource deny and allow."""
        literal = self._operations[type_, PatternType.LITERAL]
        prefixed = self._operations[type_, PatternType.PREFIXED]
        found = [literal[each] for each in (WILDCARD, name) if each in literal]
        for length in self._lengths.get(type_, ()):
            if length <= len(name) and (operations := prefixed.get(name[:length])):
                found.append(operations)  # noqa: PERF401
        return found

    def having(self, type_: ResourceType, entries: Iterator[AccessControlEntry]) -> set[ResourcePattern]:
        """Return the resources of a type that have one of these ACLs."""
        having = self._having[type_]
        return {resource for entry in entries for resource in having.get(entry, ())}


def _operations(entries: Iterable[AccessControlEntry]) -> _Operations:
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for principal, host, operation, permission in entries:
        asker, bit = (principal, host), 1 << operation
        denied, allowed = found.get(asker, (0, 0))
        found[asker] = (
            (denied, allowed | bit) if permission is AclPermission.ALLOW else (denied | bit, allowed)
        )
    return found


def authorize(acls: Acls, action: Action, requester: Requester, rules: Rules) -> bool:
    """Return whether a requester may perform an action; a matching DENY overrules every ALLOW."""
    if requester.principal in rules.super_users:
        return True
    concerning = acls.concerning(action.type, action.name)
    if not concerning:
        return rules.allow_if_none
    principal, host = str(requester.principal), requester.host
    denied = allowed = 0
    for operations in concerning:
        for asker in (
            (principal, host),
            (principal, WILDCARD),
            (WILDCARD_PRINCIPAL, host),
            (WILDCARD_PRINCIPAL, WILDCARD),
        ):
            if asker in operations:
                more_denied, more_allowed = operations[asker]
                denied |= more_denied
                allowed |= more_allowed
    return not denied & _DENYING[action.operation] and bool(allowed & _ALLOWING[action.operation])


def authorize_by_resource_type(
    acls: Acls, operation: AclOperation, type_: ResourceType, requester: Requester, rules: Rules
) -> bool:
    """Return whether a requester may perform an operation on at least one resource of a type (KIP-679).

    No operation is implied by another here.
    """
    if requester.principal in rules.super_users:
        return True
    operations = (operation, _Op.ALL)
    denied = acls.having(type_, _matching(requester, operations, AclPermission.DENY))
    if ResourcePattern(type_, WILDCARD) in denied:
        return False
    if rules.allow_if_none:
        return True
    allowed = acls.having(type_, _matching(requester, operations, AclPermission.ALLOW))
    return any(not _is_dominated(resource, denied) for resource in allowed)


def _is_dominated(allowed: ResourcePattern, denied: AbstractSet[ResourcePattern]) -> bool:
    """Return whether the denials leave nothing of what a pattern allows."""
    type_, name, pattern = allowed
    if pattern is PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if allowed in denied:
            return True
    return any(
        ResourcePattern(type_, name[:length], PatternType.PREFIXED) in denied
        for length in range(len(name) + 1)
    )


def _matching(
    requester: Requester, operations: tuple[AclOperation, ...], permission: AclPermission
) -> Iterator[AccessControlEntry]:
    """Yield each entry that matches the requester and one of the operations."""
    principals, hosts = (str(requester.principal), WILDCARD_PRINCIPAL), (requester.host, WILDCARD)
    for operation, principal, host in product(operations, principals, hosts):
        yield AccessControlEntry(principal, host, operation, permission)

"""A client that lists, creates and deletes ACLs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.refusals import demand_success

Acls = Mapping[ResourcePattern, frozenset[AccessControlEntry]]
"""The ACLs of each resource that has some."""

_NEWEST = 2
"""The newest version of the requests; the next one has a type of resources that 2.8 does not know."""


class AclClient:
    """A client of the ACLs of a cluster.

    Any broker changes ACLs, and the others learn of it within a second. So all changes, and lists after one,
    go to the same broker, the controller, and a list shows what was changed before it.

    Args:
        admin: A client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin
        self._has_changed = False

    def describe(self, filters: Iterable[AclFilter]) -> Acls:
        """Return the ACLs that match one filter or more.

        Raises:
            Refusal: The broker refused.
            AdminError: No broker answered.
        """
        found: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        for each in filters:
            request = DescribeAclsRequest(
                resource_type_filter=each.type,
                resource_name_filter=each.name,
                pattern_type_filter=each.pattern,
                principal_filter=each.principal,
                host_filter=each.host,
                operation=each.operation,
                permission_type=each.permission,
                max_version=_NEWEST,
            )
            answer = (
                self._admin.ask_controller(request).body if self._has_changed else self._admin.ask(request)
            )
            demand_success(answer)
            for resource in answer.resources:
                pattern = ResourcePattern(
                    ResourceType(resource.resource_type),
                    resource.resource_name,
                    PatternType(resource.pattern_type),
                )
                found[pattern] = found.get(pattern, frozenset()) | {_entry(acl) for acl in resource.acls}
        return found

    def create(self, resource: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
        """Create ACLs of a resource; one that there is already is no error.

        Raises:
            Refusal: The broker refused one of them.
            AdminError: No broker answered.
        """
        creations = [(*resource, *entry) for entry in entries]
        for result in self._change(CreateAclsRequest(creations=creations, max_version=_NEWEST)).results:
            demand_success(result)

    def delete(self, filters: Iterable[AclFilter]) -> None:
        """Delete the ACLs that match one filter or more; there may be none.

        Raises:
            Refusal: The broker refused a filter, or could not delete an ACL.
            AdminError: No broker answered.
        """
        request = DeleteAclsRequest(filters=[tuple(each) for each in filters], max_version=_NEWEST)
        for result in self._change(request).filter_results:
            demand_success(result)
            for acl in result.matching_acls:
                demand_success(acl)

    def _change(self, request: Any) -> Any:
        self._has_changed = True
        return self._admin.ask_controller(request).body


def _entry(acl: Any) -> AccessControlEntry:
    return AccessControlEntry(
        acl.principal, acl.host, AclOperation(acl.operation), AclPermission(acl.permission_type)
    )

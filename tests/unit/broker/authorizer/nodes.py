"""ZooKeeper's nodes of ACLs in memory, with versions, as ``AclStore`` shows them."""

from __future__ import annotations

from barnabas.broker.authorizer.authorizer import AclAuthorizer
from barnabas.cluster.model.acls import AccessControlEntry, AclOperation, AclPermission, ResourcePattern
from barnabas.cluster.model.authorization import Rules
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists
from barnabas.cluster.zk.stores.acls import AclChange, StoredAcls

NOW_MS = 1_700_000_000_000


class FakeNodes:
    """The nodes that all brokers of a test share; ``refuse`` holds errors of the next calls."""

    def __init__(self):
        self.stored = {}
        self.notes = []
        self.refuse = []
        self.created = 0
        self.watches = []

    async def create_paths(self):
        self.created += 1

    async def resources(self):
        return list(self.stored)

    async def read(self, resources):
        if self.refuse:
            raise self.refuse.pop(0)
        return {each: self.stored.get(each, StoredAcls(frozenset(), None)) for each in resources}

    async def write(self, resource, entries, version):
        before = self.stored.get(resource)
        if version is None and before is not None:
            raise NodeExists(str(resource))
        if version is not None and (before is None or before.version != version):
            raise BadVersion(str(resource))
        if entries:
            new = 0 if version is None else version + 1
            self.stored[resource] = StoredAcls(frozenset(entries), new)
        else:
            new = None
            del self.stored[resource]
        self.note(resource)
        return new

    def note(self, resource, created_ms=NOW_MS, error=None):
        number = len(self.notes)
        pattern = resource.pattern
        changed = None if error else resource
        self.notes.append(AclChange(f"/changes/{number}", number, pattern, changed, created_ms, error))
        for watch in self.watches:
            watch()

    async def changes(self, after, *, watch=False):
        return list(self.notes)

    async def delete_change(self, path):
        self.notes = [each for each in self.notes if each.path != path]


def authorizer_on(nodes, rules=None):
    return AclAuthorizer(lambda: nodes, rules or Rules(), lambda: NOW_MS)


def allow(operation, principal="User:ANONYMOUS", host="*"):
    return AccessControlEntry(principal, host, operation, AclPermission.ALLOW)


def grant(nodes, *grants, principal="User:ANONYMOUS", permission=AclPermission.ALLOW):
    """Store ACLs that allow a principal each (operation, type, name), or deny it."""
    for operation, type_, name in grants:
        resource = ResourcePattern(type_, name)
        before = nodes.stored.get(resource, StoredAcls(frozenset(), None)).entries
        entry = AccessControlEntry(principal, "*", AclOperation(operation), permission)
        nodes.stored[resource] = StoredAcls(before | {entry}, 0)

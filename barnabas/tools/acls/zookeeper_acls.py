"""The ACLs of a cluster in ZooKeeper, as ``kafka-acls.sh --authorizer-properties`` changes them.

They can be set so before a broker runs, or when nobody may change them through one. Source:
``AclCommand.AuthorizerService`` and ``AclAuthorizer`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from barnabas.cluster.model.acls import AccessControlEntry, AclBinding, AclFilter, ResourcePattern
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.client.security import ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.stores.acls import AclStore
from barnabas.tools.acls.acl_client import Acls
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.zookeeper.zookeeper_client import in_session

AUTHORIZERS = frozenset(
    {"kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"}
)
"""The authorizers of 2.8, which keep ACLs in the same nodes."""

MAX_UPDATE_RETRIES = 10
"""The most retries of an update whose version a broker has changed (``maxUpdateRetries``)."""

_CONNECT = ("authorizer.zookeeper.url", "zookeeper.connect")

Change = Callable[[frozenset[AccessControlEntry]], frozenset[AccessControlEntry]]


def connect_string(properties: Sequence[str]) -> str:
    """Return the servers that ``--authorizer-properties key=value`` names.

    Raises:
        ToolError: A property is malformed, or no server is named.
    """
    found = {}
    for each in properties:
        name, equals, text = each.partition("=")
        if not equals:
            raise ToolError(f"Invalid command line properties: {each}")
        found[name] = text
    for name in _CONNECT:
        if name in found:
            return found[name]
    raise ToolError(
        'Missing required configuration "zookeeper.connect" which has no default value.',
    )


def demand_known(authorizer: str | None) -> None:
    """Check the class of ``--authorizer``.

    Raises:
        ToolError: It keeps its ACLs elsewhere.
    """
    if authorizer is not None and authorizer not in AUTHORIZERS:
        raise ToolError(
            f"--authorizer {authorizer} is not known, expected one of {', '.join(sorted(AUTHORIZERS))}"
        )


class ZooKeeperAcls:
    """The ACLs in ZooKeeper, with the methods of `AclClient`. Brokers are notified of changes.

    Args:
        connect: The servers of ZooKeeper.
        security: The security of sessions.
    """

    def __init__(self, connect: str, security: ZooKeeperSecurity) -> None:
        self._connect = connect
        self._security = security

    def describe(self, filters: Iterable[AclFilter]) -> Acls:
        """Return the ACLs that match one filter or more.

        Raises:
            ToolError: ZooKeeper refused, or ACLs are not readable.
        """
        wanted = list(filters)

        async def work(session: ZooKeeperSession) -> Acls:
            return matching(await _all(AclStore(session)), wanted)

        return in_session(self._connect, self._security, work)

    def create(self, resource: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
        """Create ACLs of a resource; one that there is already is no error.

        Raises:
            ToolError: ZooKeeper refused, or ACLs are not readable.
        """
        added = frozenset(entries)

        async def work(session: ZooKeeperSession) -> None:
            store = AclStore(session)
            await store.create_paths()
            await update(store, resource, lambda own: own | added)

        in_session(self._connect, self._security, work)

    def delete(self, filters: Iterable[AclFilter]) -> None:
        """Delete the ACLs that match one filter or more; there may be none.

        Raises:
            ToolError: ZooKeeper refused, or ACLs are not readable.
        """
        wanted = list(filters)

        async def work(session: ZooKeeperSession) -> None:
            store = AclStore(session)
            for resource in matching(await _all(store), wanted):
                await update(store, resource, partial(_without, resource, wanted))

        in_session(self._connect, self._security, work)


def matching(found: Acls, filters: Sequence[AclFilter]) -> Acls:
    """Return the ACLs that match one filter or more."""
    kept: Mapping[ResourcePattern, frozenset[AccessControlEntry]] = {
        resource: frozenset(
            entry for entry in entries if any(each.matches(AclBinding(resource, entry)) for each in filters)
        )
        for resource, entries in found.items()
    }
    return {resource: entries for resource, entries in kept.items() if entries}


def _without(
    resource: ResourcePattern, filters: Sequence[AclFilter], own: frozenset[AccessControlEntry]
) -> frozenset[AccessControlEntry]:
    return own - matching({resource: own}, filters).get(resource, frozenset())


async def update(store: AclStore, resource: ResourcePattern, change: Change) -> None:
    """Change the ACLs of a resource, again if a broker changes them meanwhile.

    Raises:
        ToolError: They are not readable, or change all the time.
        ZooKeeperError: ZooKeeper refused.
    """
    for _ in range(1 + MAX_UPDATE_RETRIES):
        stored = (await store.read([resource]))[resource]
        own = _readable(resource, stored.entries, stored.error)
        after = change(own)
        if after == own:
            return
        try:
            await store.write(resource, after, stored.version)
        except (BadVersion, NodeExists, NoNode):
            continue
        return
    raise ToolError(
        f"Failed to update ACLs for {resource} after trying a maximum of {MAX_UPDATE_RETRIES} times",
    )


async def _all(store: AclStore) -> Acls:
    await store.create_paths()
    stored = await store.read(await store.resources())
    return {resource: _readable(resource, each.entries, each.error) for resource, each in stored.items()}


def _readable(
    resource: ResourcePattern, entries: frozenset[AccessControlEntry] | None, error: object
) -> frozenset[AccessControlEntry]:
    if entries is None:
        raise ToolError(f"The ACLs of {resource} cannot be read: {error}")
    return entries

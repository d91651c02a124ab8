"""The authorizer of a broker: decisions by its copy of all ACLs, and changes of ACLs in ZooKeeper.

Source: ``AclAuthorizer`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from itertools import chain

import structlog

from barnabas.broker.authorizer.audit import audit, audit_by_type
from barnabas.cluster.model.acl_filters import FilterIndex
from barnabas.cluster.model.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorization import (
    Acls,
    Action,
    Requester,
    Rules,
    authorize,
    authorize_by_resource_type,
)
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.runtime.collector import exempt_survivors
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.turn import paced, sorted_in_turns, unique
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode, RequestFailed, ZooKeeperError
from barnabas.cluster.zk.stores.acls import AclStore, StoredAcls

_log = structlog.get_logger("kafka.security.authorizer.AclAuthorizer")

CHANGE_EXPIRATION_MS = 15 * 60 * 1000
"""Age at which a notification is deleted, ms (``ZkNodeChangeNotificationListener``)."""

RETRY_S = 0.5
"""Pause before a failed read is repeated, seconds."""

MAX_UPDATE_RETRIES = 10
"""The most retries of an update after a conflict with another broker's change (``maxUpdateRetries``)."""

_UPDATE_PAUSE_S = 0.1

MOST_OF_A_RESOURCE = 10_000
"""The most ACLs of a resource: its znode has at most 1 MB, and an ACL takes some 100 bytes of it."""

_READ_AT_ONCE = 200
"""The most resources whose ACLs are read, and so decoded, in one go."""

_MANY = 1_000
"""The number of new ACLs after which full garbage collections no longer visit them: 10,000 take 25 ms."""

_Entries = frozenset[AccessControlEntry]
_Change = Callable[[_Entries], Awaitable[_Entries]]

_UNREADABLE = frozenset(
    {AccessControlEntry(WILDCARD_PRINCIPAL, WILDCARD, AclOperation.ALL, AclPermission.DENY)}
)
"""The ACLs of a resource whose ACLs cannot be read: only super users may do anything with it."""


class UpdateFailedError(Exception):
    """An error of ACLs that could not be changed."""


class AclAuthorizer:
    """The ACLs of the cluster, as ZooKeeper has them, and the decisions by them.

    Args:
        store: Returns the ACLs in the current ZooKeeper session.
        rules: The settings that decide besides ACLs.
        clock_ms: Returns the milliseconds since 1970.
    """

    def __init__(self, store: Callable[[], AclStore], rules: Rules, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._rules = rules
        self._clock_ms = clock_ms
        self._acls = Acls()
        self._unreadable: set[ResourcePattern] = set()
        self._last = dict.fromkeys((PatternType.LITERAL, PatternType.PREFIXED), -1)
        self._new = 0
        """The number of ACLs read since those before were exempted from garbage collections."""
        self._session_is_new = True
        self._pending = asyncio.Event()
        self._lock = asyncio.Lock()
        """The lock around reading and writing ACLs, so that no older version overwrites a later one."""

    def is_authorized(
        self,
        requester: Requester,
        action: Action,
        request: str,
        *,
        count: int = 1,
        log_allowed: bool = True,
        log_denied: bool = True,
    ) -> bool:
        """Decide an action, and write the decision to kafka-authorizer.log.

        Args:
            requester: Who asks.
            action: For what.
            request: The name of the request's API.
            count: How often the request names the resource.
            log_allowed: Whether the log gets the line if the action is allowed.
            log_denied: Whether the log gets the line if the action is denied.
        """
        allowed = authorize(self._acls, action, requester, self._rules)
        if log_allowed if allowed else log_denied:
            audit(requester, action, request, allowed=allowed, count=count)
        return allowed

    def is_authorized_by_type(
        self, requester: Requester, operation: AclOperation, type_: ResourceType, request: str
    ) -> bool:
        """Decide whether a requester may perform an operation on any resource of a type (KIP-679)."""
        allowed = authorize_by_resource_type(self._acls, operation, type_, requester, self._rules)
        audit_by_type(requester, operation.title, type_.title, request, allowed=allowed)
        return allowed

    async def bindings(self, asked: AclFilter) -> list[AclBinding]:
        """Return the known ACLs that match a filter, sorted."""
        found: list[AclBinding] = []
        async for resource in paced(list(self._acls)):
            if asked.matches_resource(resource) and resource not in self._unreadable:
                bindings = (AclBinding(resource, entry) for entry in self._acls[resource])
                found += [binding async for binding in paced(bindings) if asked.matches(binding)]
        return await sorted_in_turns(found)

    def known(self, resource: ResourcePattern) -> frozenset[AccessControlEntry]:
        """Return the known ACLs of a resource; none if they cannot be read."""
        return frozenset() if resource in self._unreadable else self._acls[resource]

    async def create(self, resource: ResourcePattern, entries: Collection[AccessControlEntry]) -> None:
        """Add ACLs to a resource.

        Raises:
            UpdateFailedError: They are not stored, or that is not certain.
        """

        async def with_new(before: _Entries) -> _Entries:
            new = await unique(entries)
            count = len(before) + len([each async for each in paced(new) if each not in before])
            if count > MOST_OF_A_RESOURCE:
                raise UpdateFailedError(
                    f"The ACLs of {resource} are not updated: they would be {count}, and ZooKeeper keeps at "
                    f"most {MOST_OF_A_RESOURCE} of a resource"
                )
            return before.union(new)

        await self._update(resource, with_new)

    async def delete(self, resource: ResourcePattern, filters: FilterIndex) -> _Entries:
        """Delete the ACLs of a resource that match one of the filters, and return them.

        Raises:
            UpdateFailedError: They are still stored, or that is not certain.
        """
        deleted: _Entries = frozenset()

        async def without(before: _Entries) -> _Entries:
            nonlocal deleted
            deleted = frozenset(
                [
                    entry
                    async for entry in paced(before)
                    if filters.first(AclBinding(resource, entry)) is not None
                ]
            )
            return before - deleted

        await self._update(resource, without)
        return deleted

    async def index_of(self, filters: Iterable[AclFilter]) -> FilterIndex:
        """Return the index of filters in their order."""
        index = FilterIndex(self._acls.lengths)
        async for asked in paced(filters):
            index.add(asked)
        return index

    async def resources_of(self, filters: FilterIndex) -> list[ResourcePattern]:
        """Return the resources that may have ACLs which match a filter, sorted.

        Among them are those of which this broker does not know yet that they have ACLs.

        Raises:
            ZooKeeperError: ZooKeeper cannot be read.
        """
        found = [each async for each in paced(list(self._acls)) if filters.concerns(each)]
        unknown = [each async for each in paced(filters.named) if each not in self._acls]
        for some in range(0, len(unknown), _READ_AT_ONCE):
            stored = await self._store().read(unknown[some : some + _READ_AT_ONCE])
            found += [each for each, acls in stored.items() if acls.version is not None]
        return await sorted_in_turns(found)

    async def _update(self, resource: ResourcePattern, change: _Change) -> None:
        try:
            async with self._lock:
                await self._updated(resource, change)
        except ZooKeeperError as error:
            raise UpdateFailedError(f"The ACLs of {resource} are not updated: {error}") from error

    async def _updated(self, resource: ResourcePattern, change: _Change) -> None:
        # The write depends on the version that was read: another broker may write in between.
        for _ in range(1 + MAX_UPDATE_RETRIES):
            stored = (await self._store().read((resource,)))[resource]
            self._apply(resource, stored)
            if stored.entries is None:
                raise UpdateFailedError(f"The ACLs of {resource} cannot be read: {stored.error}")
            after = await change(stored.entries)
            if after == stored.entries:
                return
            try:
                version = await self._store().write(resource, after, stored.version)
            except (BadVersion, NodeExists, NoNode) as error:
                if LINES.allow("ACLs that another broker has updated"):
                    _log.info(f"Failed to update ACLs for {_named(resource)}, it is read again: {error}")
                await asyncio.sleep(_UPDATE_PAUSE_S + random.uniform(0, _UPDATE_PAUSE_S / 2))
                continue
            if LINES.allow("updated ACLs"):
                _log.info(f"Updated ACLs for {_named(resource)} with new version {version}")
            self._apply(resource, StoredAcls(after, version))
            return
        raise UpdateFailedError(
            f"Failed to update ACLs for {resource} after trying a maximum of {MAX_UPDATE_RETRIES} times"
        )

    async def load(self) -> None:
        """Create the parents of ACLs and read all ACLs, before anything is decided.

        Raises:
            ZooKeeperError: ZooKeeper cannot be read.
        """
        await self._catch_up()

    def noticed(self) -> None:
        """Process notifications soon, because there may be a new one."""
        self._pending.set()

    def session_began(self) -> None:
        """Read all ACLs again: notifications may have come and expired between two sessions."""
        self._session_is_new = True
        self._pending.set()

    async def run(self) -> None:
        """Apply changes as they come; runs until cancelled."""
        while True:
            await self._pending.wait()
            self._pending.clear()
            try:
                await self._catch_up()
            except ZooKeeperError as error:
                _log.warning(f"Changed ACLs cannot be read yet: {error}")
                # A resource that could not be read now is read with all others.
                self._session_is_new = True
                self._pending.set()
                await asyncio.sleep(RETRY_S)

    async def _catch_up(self) -> None:
        if self._session_is_new:
            await self._store().create_paths()
            # If somebody deleted the parent of the notifications, their numbers begin at 0 again.
            self._last = dict.fromkeys(self._last, -1)
        changes = await self._store().changes(self._last, watch=True)
        new = [change async for change in paced(changes) if change.number > self._last[change.pattern]]
        changed: dict[ResourcePattern, None] = {}
        async for change in paced(new):
            if change.resource is not None:
                changed[change.resource] = None
                continue
            # As after a new session, all ACLs are read, and so they are if that fails now.
            self._session_is_new = True
            _log.error(f"A notification of changed ACLs is not readable; all ACLs are read: {change.error}")
        async with self._lock:
            if self._session_is_new:
                self._session_is_new = False
                await self._read(await unique(chain(await self._store().resources(), list(self._acls))))
            else:
                await self._read(changed)
        async for change in paced(new):
            self._last[change.pattern] = max(self._last[change.pattern], change.number)
        async for change in paced(changes):
            if self._clock_ms() - change.created_ms > CHANGE_EXPIRATION_MS:
                try:
                    await self._store().delete_change(change.path)
                except RequestFailed as error:
                    _log.error(f"An expired notification of changed ACLs cannot be deleted: {error}")

    async def _read(self, resources: Collection[ResourcePattern]) -> None:
        left = list(resources)
        for some in range(0, len(left), _READ_AT_ONCE):
            read = await self._store().read(left[some : some + _READ_AT_ONCE])
            async for resource, stored in paced(read.items()):
                self._apply(resource, stored)

    def _apply(self, resource: ResourcePattern, stored: StoredAcls) -> None:
        if stored.entries is None:
            _log.error(
                f"Nobody but super users may use {_named(resource)}: its ACLs cannot be read: {stored.error}"
            )
            self._unreadable.add(resource)
            self._acls[resource] = _UNREADABLE
            return
        self._unreadable.discard(resource)
        self._new += max(0, len(stored.entries) - len(self._acls[resource]))
        self._acls[resource] = stored.entries
        if self._new >= _MANY:
            self._new = 0
            exempt_survivors()


def _named(resource: ResourcePattern) -> str:
    """Return a resource, whose name a client may choose, for a log line."""
    return printable(shortened(str(resource)))


@lru_cache(maxsize=4096)
def requester_of(principal: KafkaPrincipal, client_host: str) -> Requester:
    """Return the requester of a connection, with its address as Java writes it.

    Java writes the eight numbers of an IPv6 address without leading zeros, and IPv4 in IPv6 as IPv4.
    """
    try:
        address = ip_address(client_host.partition("%")[0])
    except ValueError:
        return Requester(principal, client_host)
    if not isinstance(address, IPv6Address):
        return Requester(principal, client_host)
    if address.ipv4_mapped is not None:
        return Requester(principal, str(address.ipv4_mapped))
    return Requester(principal, ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":")))

"""The store of ``/admin/reassign_partitions``, by which old tools request reassignments."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.errors import NoNode, NotEmpty
from barnabas.cluster.zk.client.operations import Delete, Set
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import admin, paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.fence import Fence, write
from barnabas.cluster.zk.stores.trees import delete_below

Targets = Mapping[TopicPartition, tuple[BrokerId, ...]]
"""The target replicas of each partition."""

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")


class ReassignmentStore:
    """The store of the reassignment request."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read(self, *, watch: bool = False) -> tuple[Targets, int] | None:
        """Return the request and the node's version; None without a node. The watch reports changes of both.

        A node that cannot be decoded is logged and counts as empty.
        """
        if await self._session.exists(paths.REASSIGN_PARTITIONS, watch=watch) is None:
            return None
        try:
            node = await self._session.get(paths.REASSIGN_PARTITIONS)
        except NoNode:
            return None
        try:
            return admin.decode_reassignment(node.data), node.stat.version
        except ZnodeDecodeError as error:
            _log.error("reassignments that cannot be read are ignored", error=str(error))
            return {}, node.stat.version

    async def leave(self, targets: Targets, version: int, fence: Fence) -> None:
        """Write the remaining request, or delete the node with its children if nothing remains.

        Raises:
            BadVersion: The node was written since it had ``version``.
            NoNode: The node is gone.
            ControllerMoved: The fence refused.
        """
        path = paths.REASSIGN_PARTITIONS
        rest = Set(path, admin.encode_reassignment(targets), version) if targets else Delete(path, version)
        while True:
            try:
                await write(self._session, fence, rest)
            except NotEmpty:
                await delete_below(self._session, path, fence)
            else:
                return

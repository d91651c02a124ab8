"""``/admin/reassign_partitions``: the partitions that tools of old want moved."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.errors import NoNode, NotEmpty
from barnabas.cluster.zk.fence import Fence, write
from barnabas.cluster.zk.operations import Delete, Set
from barnabas.cluster.zk.schema import admin, paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.session import ZooKeeperSession
from barnabas.cluster.zk.trees import delete_below

Targets = Mapping[TopicPartition, tuple[BrokerId, ...]]
"""The replicas that each partition shall have."""

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")


class ReassignmentStore:
    """The one node."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read(self, *, watch: bool = False) -> tuple[Targets, int] | None:
        """What is asked for and the node's version; None where there is no node. The watch hears of both.

        A node that cannot be read asks for nothing, and is logged.
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
        """Write what is still to be done, or delete the node, and what is below it, where that is nothing.

        Raises:
            BadVersion: It was written since it had ``version``.
            NoNode: It is gone.
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

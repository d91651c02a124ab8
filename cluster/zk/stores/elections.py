"""The store of ``/admin/preferred_replica_election``, by which tools request elections."""

from __future__ import annotations

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.errors import NoNode
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import admin, paths
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.trees import delete_whole


class ElectionStore:
    """The store of requests to elect preferred replicas."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def preferred(self, *, watch: bool = False) -> tuple[TopicPartition, ...] | None:
        """Return the requested partitions; None without a request. The watch reports the next one too.

        Raises:
            ZnodeDecodeError: The node cannot be read.
        """
        path = paths.PREFERRED_REPLICA_ELECTION
        if await self._session.exists(path, watch=watch) is None:
            return None
        try:
            node = await self._session.get(path, watch=watch)
        except NoNode:
            return None
        return admin.decode_preferred_replica_election(node.data)

    async def delete(self, fence: Fence | None) -> None:
        """Delete the request with its children, if it exists.

        Raises:
            ControllerMoved: The fence refused.
        """
        await delete_whole(self._session, [paths.PREFERRED_REPLICA_ELECTION], fence)

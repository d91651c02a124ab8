"""The store of ``/admin/delete_topics``, and the deletion of a topic's nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.cluster.zk.client.errors import NodeExists, NoNode, NotEmpty, RequestFailed
from barnabas.cluster.zk.client.operations import Create, Delete, Operation
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.stores.fence import Fence, write_many
from barnabas.cluster.zk.stores.trees import children_of, delete_whole


class DeletionStore:
    """The store of topics to delete."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def marked(self, *, watch: bool = False) -> set[str]:
        """Return the topics to delete; the watch on ``/admin/delete_topics`` reports new ones."""
        return set(await self._session.get_children(paths.DELETE_TOPICS, watch=watch))

    async def mark(self, topics: Iterable[str], fence: Fence | None) -> None:
        """Mark topics for deletion; marking a topic twice is no error.

        Raises:
            ControllerMoved: The fence refused; some may have been marked.
        """
        await self._each([[Create(paths.delete_topic(topic))] for topic in topics], fence, NodeExists)

    async def unmark(self, topics: Iterable[str], fence: Fence) -> None:
        """Delete marks with their children, if they exist.

        Raises:
            ControllerMoved: The fence refused; some may be gone.
        """
        await delete_whole(self._session, map(paths.delete_topic, topics), fence)

    async def delete_topic(self, topic: str, fence: Fence) -> None:
        """Delete a topic's nodes, then its settings, then its mark, as far as they exist.

        The mark is deleted last, so that a later controller finishes an interrupted deletion.

        Raises:
            ControllerMoved: The fence refused; some nodes may be gone.
        """
        states = [
            [Delete(f"{node}/state"), Delete(node)]
            for name in await children_of(self._session, paths.topic_partitions(topic))
            for node in (f"{paths.topic_partitions(topic)}/{name}",)
        ]
        # Nearly all partitions have these two nodes; the rest is deleted node by node.
        await self._each(states, fence, NoNode, NotEmpty)
        await delete_whole(self._session, [paths.topic(topic)], fence)
        await delete_whole(self._session, [paths.config("topics", topic)], fence)
        await self.unmark([topic], fence)

    async def _each(
        self, transactions: Sequence[Sequence[Operation]], fence: Fence | None, *harmless: type[RequestFailed]
    ) -> None:
        for outcome in await write_many(self._session, fence, transactions):
            if isinstance(outcome, RequestFailed) and not isinstance(outcome, harmless):
                raise outcome

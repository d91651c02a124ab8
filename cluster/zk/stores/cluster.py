"""The store of persistent parents, cluster id, features and producer id blocks."""

from __future__ import annotations

import contextlib

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.client.operations import Create
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths, settings
from barnabas.cluster.zk.schema.settings import ProducerIdBlock
from barnabas.cluster.zk.stores.trees import create_missing


class ClusterStore:
    """The store of nodes that belong to no broker and no topic."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def create_persistent_paths(self) -> None:
        """Create every persistent parent that is missing, as each broker does at its start."""
        await create_missing(self._session, *paths.PERSISTENT)

    async def missing_paths(self) -> list[str]:
        """Return the persistent parents that are missing because a person deleted them."""
        nodes = await self._session.get_many(paths.PERSISTENT)
        return [path for path, node in zip(paths.PERSISTENT, nodes, strict=True) if node is None]

    async def cluster_id(self, proposed: str) -> str:
        """Return the cluster id; set it to ``proposed`` if the cluster has none yet.

        Args:
            proposed: A random UUID in 22 characters of base64url, as Kafka writes it.
        """
        parent = paths.ancestors(paths.CLUSTER_ID)[0]
        creations = await self._session.multi_many(
            [[Create(parent)], [Create(paths.CLUSTER_ID, settings.encode_cluster_id(proposed))]]
        )
        for outcome in creations:
            if not isinstance(outcome, NodeExists):
                value(outcome)
        return settings.decode_cluster_id((await self._session.get(paths.CLUSTER_ID)).data)

    async def disable_features(self) -> bytes | None:
        """Write to ``/feature`` that features are not versioned, as each new controller of IBP 2.6 does.

        The write is not fenced (``KafkaController.disableFeatureVersioning`` of release 2.8), because only
        controllers write this node, all with the same content.

        Returns:
            The earlier content if it was different; else None.
        """
        try:
            node = await self._session.get(paths.FEATURE)
        except NoNode:
            await self._session.multi_many([[Create(paths.FEATURE, settings.FEATURES_DISABLED)]])
            return None
        if settings.features_are_disabled(node.data):
            return None
        with contextlib.suppress(BadVersion, NoNode):
            await self._session.set(paths.FEATURE, settings.FEATURES_DISABLED, node.stat.version)
        return node.data

    async def take_producer_id_block(self, broker: BrokerId) -> ProducerIdBlock:
        """Take the next block of producer ids for a broker, which no other broker gets.

        A write whose response was lost is sent again and refused; the node then shows whether it was carried
        out.
        """
        while True:
            node = await self._session.get(paths.PRODUCER_ID_BLOCK)
            block = settings.next_producer_id_block(settings.decode_producer_id_block(node.data), broker)
            body = settings.encode_producer_id_block(block)
            try:
                await self._session.set(paths.PRODUCER_ID_BLOCK, body, node.stat.version)
            except BadVersion as refusal:
                if refusal.resent and (await self._session.get(paths.PRODUCER_ID_BLOCK)).data == body:
                    return block
                continue  # another broker was faster; one of them always succeeds
            return block

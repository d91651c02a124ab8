"""The store of offsets that consumer groups commit in ZooKeeper, as OffsetCommit 0 does.

Sources: ``KafkaZkClient.setOrCreateConsumerOffset`` and ``getConsumerOffset`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.zk.client.errors import InvalidPath, NodeExists, NoNode
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.trees import create_missing

_LONGEST = 20
"""The most characters of a number of 64 bits."""


class ConsumerOffsetStore:
    """The store of ``/consumers/<group>/offsets``."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def read(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> list[Offset | ZnodeDecodeError | None]:
        """Read the offsets of a group in the order of ``partitions``; None where nothing is committed."""
        whole = [paths.consumer_offset(group_id, each) for each in partitions]
        nodes = await self._session.get_many(whole, expected_bytes=_LONGEST)
        return [
            None if node is None else _decode(path, node.data)
            for path, node in zip(whole, nodes, strict=True)
        ]

    async def write(self, group_id: str, partition: TopicPartition, offset: Offset) -> None:
        """Set an offset; the nodes above it are created if they are missing.

        Raises:
            InvalidPath: ZooKeeper has no node whose name is this group.
        """
        path, data = paths.consumer_offset(group_id, partition), str(offset).encode()
        if not paths.can_be(path):
            raise InvalidPath(path)
        try:
            await self._session.set(path, data)
        except NoNode:
            await self._create(path, data)

    async def _create(self, path: str, data: bytes) -> None:
        await create_missing(self._session, paths.ancestors(path)[-1])
        try:
            await self._session.create(path, data)
        except NodeExists:
            await self._session.set(path, data)


def _decode(path: str, data: bytes) -> Offset | ZnodeDecodeError:
    text = data.decode("ascii", "replace")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(text) <= _LONGEST):
        return ZnodeDecodeError(path, data, "an offset")
    return Offset(int(text))

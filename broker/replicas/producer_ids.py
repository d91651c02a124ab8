"""Producer ids, from blocks that this broker reserves in ``/latest_producer_id_block``.

Source: ``ProducerIdManager.scala`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from barnabas.cluster.model.ids import ProducerId
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.schema.settings import ProducerIdBlock


class ProducerIdsUnavailableError(Exception):
    """An error of reserving a block of producer ids; the client may try again."""


class ProducerIdBlocks:
    """The producer ids of this broker's block; the next block is reserved when all are used.

    Ids that are left at the shutdown are lost.

    Args:
        take_block: Reserves the next block for this broker, in the current ZooKeeper session.
    """

    def __init__(self, take_block: Callable[[], Awaitable[ProducerIdBlock]]) -> None:
        self._take_block = take_block
        self._ids: Iterator[int] = iter(())
        self._taking = asyncio.Lock()

    async def take_first_block(self) -> None:
        """Reserve a block before the first request, as Kafka does when it starts.

        Raises:
            ZooKeeperError: No block could be reserved.
        """
        async with self._taking:
            await self._take()

    async def _take(self) -> None:
        block = await self._take_block()
        self._ids = iter(range(block.start, block.end + 1))

    async def next_id(self) -> ProducerId:
        """Return a producer id that was never used in the cluster.

        Raises:
            ProducerIdsUnavailableError: The block is used up, and ZooKeeper gives no other now.
        """
        async with self._taking:
            producer_id = next(self._ids, None)
            if producer_id is None:
                try:
                    await self._take()
                except ZooKeeperError as error:
                    raise ProducerIdsUnavailableError(f"no block of producer ids: {error}") from error
                producer_id = next(self._ids)
            return ProducerId(producer_id)

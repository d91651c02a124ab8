"""Producer ids, handed out of blocks that this broker takes in ``/latest_producer_id_block``.

Source: ``ProducerIdManager.scala`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from barnabas.cluster.model.ids import ProducerId
from barnabas.cluster.zk.errors import ZooKeeperError
from barnabas.cluster.zk.schema.settings import ProducerIdBlock


class ProducerIdsUnavailableError(Exception):
    """No block of producer ids could be taken now; the client may try again."""


class ProducerIdBlocks:
    """Hands out every id of a block before it takes the next one; ids that are left at the end are lost.

    Args:
        take_block: Takes the next block for this broker, on the ZooKeeper session of the moment.
    """

    def __init__(self, take_block: Callable[[], Awaitable[ProducerIdBlock]]) -> None:
        self._take_block = take_block
        self._ids: Iterator[int] = iter(())
        self._taking = asyncio.Lock()

    async def take_first_block(self) -> None:
        """Take a block before anybody asks, as Kafka does when it starts.

        Raises:
            ZooKeeperError: There is none.
        """
        async with self._taking:
            await self._take()

    async def _take(self) -> None:
        block = await self._take_block()
        self._ids = iter(range(block.start, block.end + 1))

    async def next_id(self) -> ProducerId:
        """Return an id that no producer of the cluster was ever given.

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

from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.replicas.producer_ids import ProducerIdBlocks, ProducerIdsUnavailableError
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import SessionExpired
from barnabas.cluster.zk.schema.settings import next_producer_id_block


class Blocks:
    """The znode: two brokers take blocks from it in turn."""

    def __init__(self):
        self.last = None
        self.away = False

    async def take(self):
        await asyncio.sleep(0)
        if self.away:
            raise SessionExpired("the session is over")
        self.last = next_producer_id_block(self.last, BrokerId(1))
        return self.last


async def test_ids_go_on_without_gap_or_repetition():
    blocks = Blocks()
    ids = ProducerIdBlocks(blocks.take)
    assert [await ids.next_id() for _ in range(2500)] == list(range(2500))


async def test_the_first_block_is_taken_before_anybody_asks():
    blocks = Blocks()
    ids = ProducerIdBlocks(blocks.take)
    await ids.take_first_block()
    assert blocks.last.end == 999
    blocks.away = True
    assert await ids.next_id() == 0
    with pytest.raises(SessionExpired):
        await ProducerIdBlocks(blocks.take).take_first_block()


async def test_two_brokers_never_share_an_id():
    blocks = Blocks()
    one, other = ProducerIdBlocks(blocks.take), ProducerIdBlocks(blocks.take)
    given = await asyncio.gather(*(ids.next_id() for _ in range(1200) for ids in (one, other)))
    assert len(set(given)) == 2400


async def test_a_broker_takes_one_block_for_many_who_ask_at_once():
    blocks = Blocks()
    ids = ProducerIdBlocks(blocks.take)
    assert sorted(await asyncio.gather(*(ids.next_id() for _ in range(50)))) == list(range(50))
    assert blocks.last.start == 0


async def test_what_is_left_of_a_block_is_given_while_zookeeper_is_away():
    blocks = Blocks()
    ids = ProducerIdBlocks(blocks.take)
    await ids.next_id()
    blocks.away = True
    assert [await ids.next_id() for _ in range(999)] == list(range(1, 1000))
    with pytest.raises(ProducerIdsUnavailableError, match="the session is over"):
        await ids.next_id()
    blocks.away = False
    assert await ids.next_id() == 1000

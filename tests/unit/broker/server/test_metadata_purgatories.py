from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.core.metadata_cache import MetadataChange
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories, await_metadata
from barnabas.cluster.model.ids import TopicPartition


@pytest.fixture
def purgatories(broker):
    return broker.context.purgatories


def has_leaders(broker):
    return lambda topic: (
        all(each.state.leader_and_isr.has_leader for each in broker.metadata.partitions(topic).values())
        and bool(broker.metadata.partitions(topic))
    )


async def test_what_holds_already_is_not_waited_for(purgatories):
    assert await await_metadata(purgatories.topics, ("t",), lambda _: True, 0) == ()
    assert await await_metadata(purgatories.topics, (), lambda _: False, 60_000) == ()
    assert purgatories.topics.watched == 0


async def test_the_change_of_the_last_one_ends_the_wait(broker, purgatories):
    waiting = asyncio.ensure_future(
        await_metadata(purgatories.topics, ("a", "b"), has_leaders(broker), 60_000)
    )
    await asyncio.sleep(0)
    assert (purgatories.topics.watched, purgatories.topics.delayed) == (2, 1)
    broker.topic("a", 1)
    broker.topic("b", 1, -1)
    await asyncio.sleep(0)
    assert not waiting.done()
    broker.topic("b", 1, 2)
    assert await waiting == ()
    assert purgatories.topics.delayed == 0


async def test_those_that_are_late_are_named(broker, purgatories):
    broker.topic("a", 1)
    late = await await_metadata(purgatories.topics, ("a", "b", "c"), has_leaders(broker), 1)
    assert late == ("b", "c")
    assert await await_metadata(purgatories.topics, ("b",), has_leaders(broker), -1) == ("b",)


async def test_an_election_waits_for_its_partition_and_a_topic_for_its_deletion():
    change = MetadataChange((), (TopicPartition("t", 1),), ())
    purgatories, gone = MetadataPurgatories(), []
    waits = [
        asyncio.ensure_future(await_metadata(purgatory, (key,), lambda _: bool(gone), 60_000))
        for purgatory, key in ((purgatories.elections, TopicPartition("t", 1)), (purgatories.topics, "t"))
    ]
    await asyncio.sleep(0)
    purgatories.changed(change)
    await asyncio.sleep(0)
    assert not any(wait.done() for wait in waits)
    gone.append(True)
    purgatories.changed(change)
    assert await asyncio.gather(*waits) == [(), ()]


async def test_one_whose_client_has_gone_leaves_with_the_next_change(broker, purgatories):
    waiting = asyncio.ensure_future(await_metadata(purgatories.topics, ("t",), lambda _: False, 60_000))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    broker.topic("t", 1)
    assert (purgatories.topics.watched, purgatories.topics.delayed) == (0, 0)

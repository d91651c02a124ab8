"""Control requests about many partitions: what else runs meanwhile, and what memory they leave behind."""

from __future__ import annotations

import asyncio
import gc

import pytest

from barnabas.broker.replicas.hosted import HostedPartition
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.requests import UpdateMetadataPartition
from barnabas.cluster.runtime import collector, turn

MANY = 50
PARTITIONS = [TopicPartition("many", number) for number in range(MANY)]


@pytest.fixture
async def passes(monkeypatch):
    """The passes of the loop so far, in a list of their numbers, while each turn is over at once."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    counted = []

    def count():
        counted.append(len(counted))
        handles[0] = asyncio.get_running_loop().call_soon(count)

    handles = [asyncio.get_running_loop().call_soon(count)]
    yield counted
    handles[0].cancel()


@pytest.mark.parametrize("leader", [1, 2], ids=["led", "followed"])
async def test_others_run_between_the_partitions_of_each_request(room, scene, passes, leader):
    orders = [room.order(leader, 3, topic_partition=tp) for tp in PARTITIONS]
    metadata = [UpdateMetadataPartition(each.topic_partition, each.state, (1, 2, 3)) for each in orders]
    for send in (
        # Received, admitted, begun, carried out and finished.
        (5, lambda: scene.order(*orders)),
        (1, lambda: scene.update(*metadata)),
        # Received and carried out.
        (2, lambda: scene.stop(*((tp, 4, True) for tp in PARTITIONS))),
    ):
        times, request = send
        before = len(passes)
        await request()
        assert len(passes) - before >= times * MANY


async def test_nobody_waits_for_the_settings_that_another_request_reads(room, scene):
    answered = asyncio.Event()

    async def prepare(_request):
        await answered.wait()

    scene.control_requests._prepare = prepare
    ordering = asyncio.create_task(scene.order(room.order(1, 3)))
    await asyncio.sleep(0)
    order = room.order(1, 3)
    await scene.update(UpdateMetadataPartition(order.topic_partition, order.state, (1, 2, 3)))
    assert scene.updates == 1
    assert not ordering.done()
    answered.set()
    await ordering
    assert room.hosted.get(order.topic_partition).replica.is_leader


@pytest.fixture
def no_collections():
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize("leader", [1, 2], ids=["led", "followed"])
async def test_a_deleted_partition_is_freed_without_a_garbage_collection(room, scene, no_collections, leader):
    """Its objects may have been exempted from collections."""

    def hosted():
        return sum(type(each) is HostedPartition for each in gc.get_objects())

    before = hosted()
    await scene.order(*(room.order(leader, 3, topic_partition=tp) for tp in PARTITIONS))
    assert hosted() == before + MANY
    await scene.stop(*((tp, 4, True) for tp in PARTITIONS))
    assert hosted() == before


@pytest.mark.parametrize("many", [True, False], ids=["many", "few"])
async def test_many_new_partitions_are_exempted_from_collections(room, scene, monkeypatch, many):
    exempted = []
    monkeypatch.setattr(collector.gc, "freeze", lambda: exempted.append(True))
    count = collector.MANY_PARTITIONS if many else collector.MANY_PARTITIONS - 1
    await scene.order(
        *(room.order(1, 3, topic_partition=TopicPartition("many", number)) for number in range(count))
    )
    assert bool(exempted) is many

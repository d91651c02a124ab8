from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from broker.core.metadata_cache import MetadataCache
from broker.first_metadata import NAMED, topics_to_hear_of, wait_for_first_metadata
from broker.server.metadata_purgatories import MetadataPurgatories
from cluster.model.brokers import Broker
from cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import LeaderAndIsr, PartitionState
from cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest

ALONE = (BrokerId(1),)
LIVE = Broker(ALONE[0], BrokerEpoch(10), ())


class Told:
    """What a controller has told a broker."""

    def __init__(self) -> None:
        self.metadata, self.purgatories = MetadataCache(), MetadataPurgatories()

    def tell(self, *topics: str) -> None:
        state = PartitionState(LeaderAndIsr(1, LeaderEpoch(0), ALONE), ControllerEpoch(1))
        partitions = tuple(UpdateMetadataPartition(TopicPartition(t, 0), state, ALONE) for t in topics)
        change = self.metadata.apply(UpdateMetadataRequest(1, 1, 1, partitions, (LIVE,)))
        self.purgatories.changed(change)

    def elected(self, controller: BrokerId = ALONE[0]) -> None:
        """The broker's own watch has seen who is controller."""
        self.metadata.controller_changed(controller)
        self.purgatories.controller_changed()

    def wait(self, *topics: str, session_timeout_ms: int = 60_000) -> asyncio.Future[None]:
        return asyncio.ensure_future(
            wait_for_first_metadata(topics, self.metadata, self.purgatories, session_timeout_ms)
        )


class Store:
    async def names(self):
        return {"orders", "payments", "gone"}

    async def marked(self):
        return {"gone", "long-gone"}


@pytest.fixture
def told():
    return Told()


async def a_while() -> None:
    """So long that whoever could go on has gone on."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_is_being_deleted_is_not_waited_for():
    assert await topics_to_hear_of(Store(), Store()) == {"orders", "payments"}


async def test_the_wait_ends_with_the_last_topic(told):
    waiting = told.wait("orders", "payments")
    told.elected()
    told.tell()  # a new controller speaks of brokers first
    told.tell("orders")
    await a_while()
    assert not waiting.done()
    told.tell("payments")
    with capture_logs() as lines:
        await waiting
    assert lines == []


@pytest.mark.parametrize(("first", "then"), [("elected", "tell"), ("tell", "elected")])
async def test_where_there_is_no_topic_a_controller_is_waited_for(told, first, then):
    waiting = told.wait()
    getattr(told, first)()
    await a_while()
    assert not waiting.done()
    getattr(told, then)()
    with capture_logs() as lines:
        await waiting
    assert lines == []


async def test_a_controller_that_is_no_live_broker_does_not_count(told):
    told.tell("orders")
    told.elected(BrokerId(2))
    waiting = told.wait("orders")
    await a_while()
    assert not waiting.done()
    told.elected()
    await waiting


async def test_a_controller_that_never_speaks_is_not_waited_for_forever(told):
    topics = [f"t-{number:02}" for number in range(NAMED + 1)]
    with capture_logs() as lines:
        await told.wait(*topics, session_timeout_ms=1)
    nobody, line = lines
    assert nobody["event"] == "Serving clients, though no live broker is known to be controller"
    assert line["log_level"] == nobody["log_level"] == "warning"
    assert line["event"].endswith(f"of {NAMED + 1} topics, such as {', '.join(topics[:NAMED])}")

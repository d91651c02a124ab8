from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.lifecycle.first_metadata import wait_for_first_metadata
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest

ALONE = (BrokerId(1),)
LIVE = Broker(ALONE[0], BrokerEpoch(10), ())


class Controller:
    """The metadata that a controller has sent a broker."""

    def __init__(self) -> None:
        self.metadata, self.purgatories = MetadataCache(), MetadataPurgatories()

    def send(self, *topics: str, is_complete: bool = False) -> None:
        state = PartitionState(LeaderAndIsr(1, LeaderEpoch(0), ALONE), ControllerEpoch(1))
        partitions = tuple(UpdateMetadataPartition(TopicPartition(t, 0), state, ALONE) for t in topics)
        request = UpdateMetadataRequest(1, 1, 1, partitions, (LIVE,), is_complete)
        self.purgatories.changed(self.metadata.apply(request))

    def send_all(self) -> None:
        self.send("orders", is_complete=True)

    def elected(self, controller: BrokerId = ALONE[0]) -> None:
        """The broker's own watch has seen who is controller."""
        self.metadata.controller_changed(controller)
        self.purgatories.controller_changed()

    def wait(self, session_timeout_ms: int = 60_000) -> asyncio.Future[None]:
        return asyncio.ensure_future(
            wait_for_first_metadata(self.metadata, self.purgatories, session_timeout_ms)
        )


@pytest.fixture
def controller():
    return Controller()


async def a_while() -> None:
    """So long that whoever could go on has gone on."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_the_wait_ends_with_the_request_that_completes_the_metadata(controller):
    waiting = controller.wait()
    controller.elected()
    controller.send()  # a new controller first sends the brokers alone
    controller.send("orders")
    await a_while()
    assert not waiting.done()
    controller.send(is_complete=True)
    with capture_logs() as lines:
        await waiting
    assert lines == []


@pytest.mark.parametrize(("first", "then"), [("elected", "send_all"), ("send_all", "elected")])
async def test_the_controller_is_waited_for_as_well(controller, first, then):
    waiting = controller.wait()
    getattr(controller, first)()
    await a_while()
    assert not waiting.done()
    getattr(controller, then)()
    with capture_logs() as lines:
        await waiting
    assert lines == []


async def test_a_controller_that_is_no_live_broker_does_not_count(controller):
    controller.send_all()
    controller.elected(BrokerId(2))
    waiting = controller.wait()
    await a_while()
    assert not waiting.done()
    controller.elected()
    await waiting


async def test_a_controller_that_never_speaks_is_not_waited_for_forever(controller):
    with capture_logs() as lines:
        await controller.wait(session_timeout_ms=1)
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("warning", "Serving clients, though no live broker is known to be controller"),
        ("warning", "Serving clients, though no controller has sent all topics; 0 are known"),
    ]

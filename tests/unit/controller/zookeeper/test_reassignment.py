from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, NoNode
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.partitions.effects import WatchPartitionStates
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.core.topics.effects import (
    ReadReassignments,
    RequestedReassignments,
    WriteReassignments,
)
from barnabas.controller.zookeeper.reassignment import REASSIGNMENT

T0 = TopicPartition("t", 0)
CONTROLLER_FENCE, FENCE = (
    ControllerFence(ControllerEpoch(3), EpochVersion(5)),
    Fence(ControllerEpoch(3), EpochVersion(5)),
)
LED = LeaderAndIsr(BrokerId(1), 0, (BrokerId(1),), PartitionVersion(0))
WRITTEN = PartitionState(LED, ControllerEpoch(3))


class Requests:
    """The store of the one node."""

    def __init__(self, found=None, error=None):
        self.found, self.error, self.left = found, error, []

    async def read(self, *, watch):
        assert watch
        return self.found

    async def leave(self, *arguments):
        if self.error is not None:
            raise self.error
        self.left.append(arguments)


async def answer(question, **stores):
    return await REASSIGNMENT[type(question)](SimpleNamespace(**stores), question)


async def test_what_is_asked_for_is_read_and_watched_where_it_is_missing_too():
    assert await answer(ReadReassignments(), reassignments=Requests()) is None
    found = await answer(ReadReassignments(), reassignments=Requests(({T0: (1, 2)}, 4)))
    assert found == RequestedReassignments({T0: (1, 2)}, 4)


async def test_what_is_left_is_written_behind_the_fence():
    store = Requests()
    assert await answer(WriteReassignments({T0: (1,)}, 4, CONTROLLER_FENCE), reassignments=store) is True
    assert store.left == [({T0: (1,)}, 4, FENCE)]


@pytest.mark.parametrize("error", [BadVersion("/x"), NoNode("/x")])
async def test_what_was_changed_meanwhile_is_not_written(error):
    written = await answer(WriteReassignments({}, 4, CONTROLLER_FENCE), reassignments=Requests(error=error))
    assert written is False


async def test_states_are_read_with_a_watch():
    async def read(some, *, watch):
        assert watch
        return dict.fromkeys(some, WRITTEN)

    found = await answer(WatchPartitionStates((T0,)), partitions=SimpleNamespace(read=read))
    assert found == {T0: WRITTEN}

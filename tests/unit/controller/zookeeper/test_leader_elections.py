from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.leader_elections.effects import (
    DeletePreferredReplicaElection,
    ReadPreferredReplicaElection,
)
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.zookeeper.leader_elections import ELECTIONS

PATH = "/admin/preferred_replica_election"
CONTROLLER_FENCE = ControllerFence(ControllerEpoch(3), EpochVersion(5))


class Elections:
    """The store, with one answer."""

    def __init__(self, answer):
        self.answer, self.fences = answer, []

    async def preferred(self, *, watch):
        assert watch
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def delete(self, fence):
        self.fences.append(fence)
        if isinstance(self.answer, Exception):
            raise self.answer


async def ask(elections, question):
    return await ELECTIONS[type(question)](SimpleNamespace(elections=elections), question)


@pytest.mark.parametrize("named", [None, (), (TopicPartition("t", 0),)])
async def test_what_the_znode_names_and_its_watch(named):
    assert await ask(Elections(named), ReadPreferredReplicaElection()) == named


async def test_a_znode_that_cannot_be_read_names_nothing():
    answer = await ask(Elections(ZnodeDecodeError(PATH, b"?", "JSON")), ReadPreferredReplicaElection())
    assert answer == ()


async def test_the_deletion_has_its_controller_epoch():
    elections = Elections(None)
    assert await ask(elections, DeletePreferredReplicaElection(CONTROLLER_FENCE)) is None
    assert elections.fences == [Fence(ControllerEpoch(3), EpochVersion(5))]
    with pytest.raises(ControllerMoved):
        await ask(Elections(ControllerMoved("gone")), DeletePreferredReplicaElection(CONTROLLER_FENCE))

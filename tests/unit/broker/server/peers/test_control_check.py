"""What is let in by its first three fields."""

from __future__ import annotations

import asyncio

import pytest
from google.protobuf.message import DecodeError

from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.server.peers.control_check import (
    REFUSALS,
    ControlRequestCheck,
    NotConfirmedError,
    NotRegisteredError,
)
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.zk.client.errors import ZooKeeperTimeout

OWN = BrokerEpoch(50)
LAST = 2**31 - 1


class Scene:
    """A check, what ZooKeeper holds behind it, and what it has written down."""

    def __init__(self):
        self.gate = ControlGate()
        self.gate.registered(OWN)
        self.gate.adopt(ControllerEpoch(3))
        self.lines, self.questions = [], 0
        self.in_zookeeper = 3
        self.check = ControlRequestCheck(BrokerId(1), self.gate, self.lines.append, self.latest_epoch)

    async def latest_epoch(self):
        self.questions += 1
        await asyncio.sleep(0)
        if isinstance(self.in_zookeeper, Exception):
            raise self.in_zookeeper
        return ControllerEpoch(self.in_zookeeper)

    async def refuse(self, epoch, broker_epoch=OWN, kind=UpdateMetadataRequest, rest=b""):
        head = pb.ControlRequestHead(controller_id=2, controller_epoch=epoch, broker_epoch=broker_epoch)
        return await self.check.refuse(kind, head.SerializeToString() + rest, 42)


@pytest.fixture
def scene():
    return Scene()


async def test_the_controller_is_let_in_without_a_question(scene):
    assert await scene.refuse(3) is None
    assert scene.questions == 0


async def test_a_process_without_a_registration_takes_no_request_for_its_former_incarnation(scene):
    """It began with an empty log, as only the process that saw the topic created may, and led."""
    scene.gate = ControlGate()
    scene.check = ControlRequestCheck(BrokerId(1), scene.gate, scene.lines.append, scene.latest_epoch)
    with pytest.raises(NotRegisteredError, match="has not registered below /brokers/ids"):
        await scene.refuse(3, OWN)
    scene.gate.registered(OWN + 1)
    assert (await scene.refuse(3, OWN)).error is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("kind", [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest])
async def test_a_former_controller_is_refused_without_a_look_at_the_rest(scene, kind):
    """What follows the head is no valid topic, which nobody finds out."""
    rest = bytes((4 << 3 | 2, 3)) + b"\xff\xff\xff"
    answer = await scene.refuse(2, kind=kind, rest=rest)
    assert answer == REFUSALS[kind][0](ErrorCode.STALE_CONTROLLER_EPOCH)
    (line,) = scene.lines
    assert line.values["latest_controller_epoch"] == 3
    assert line.values["controller"] == 2
    assert scene.questions == 0


async def test_what_was_meant_for_a_previous_incarnation_is_refused(scene):
    answer = await scene.refuse(LAST, OWN - 1)
    assert answer.error is ErrorCode.STALE_BROKER_EPOCH
    assert scene.lines == []
    assert scene.questions == 0


async def test_a_new_controller_is_believed_once_zookeeper_has_been_asked(scene):
    scene.in_zookeeper = 4
    assert await scene.refuse(4) is None
    assert await scene.refuse(4) is None
    assert scene.questions == 1
    assert (await scene.refuse(3)).error is ErrorCode.STALE_CONTROLLER_EPOCH


async def test_an_epoch_of_which_zookeeper_knows_nothing_keeps_no_controller_out(scene):
    for _ in range(2):
        with pytest.raises(NotConfirmedError, match=f"of epoch {LAST} is known, expected one of at most 3"):
            await scene.refuse(LAST)
    assert scene.gate.controller_epoch == 3
    assert await scene.refuse(3) is None
    scene.in_zookeeper = 4
    assert await scene.refuse(4) is None


async def test_a_request_with_an_epoch_that_ended_meanwhile_is_refused(scene):
    scene.in_zookeeper = 5
    assert (await scene.refuse(4)).error is ErrorCode.STALE_CONTROLLER_EPOCH


async def test_where_zookeeper_is_silent_nobody_new_is_believed(scene):
    scene.in_zookeeper = ZooKeeperTimeout("silent")
    with pytest.raises(NotConfirmedError):
        await scene.refuse(4)
    assert await scene.refuse(3) is None


async def test_many_who_come_at_once_cost_one_question(scene):
    scene.in_zookeeper = 4
    assert await asyncio.gather(*(scene.refuse(4) for _ in range(5))) == [None] * 5
    assert scene.questions == 1


async def test_what_is_no_message_is_an_error(scene):
    with pytest.raises(DecodeError):
        await scene.check.refuse(UpdateMetadataRequest, b"\xff", 0)

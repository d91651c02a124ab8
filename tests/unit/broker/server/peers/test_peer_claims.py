"""Which broker a certificate may speak for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.server.peers import peer_claims
from barnabas.broker.server.peers.peer_claims import PeerClaims
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import UpdateMetadataRequest
from barnabas.cluster.rpc import control_pb2
from barnabas.cluster.rpc import replication_pb2 as pb

CONTROL = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
EPOCH = ControllerEpoch(5)


def broker(broker_id, host=None):
    endpoint = Endpoint("GRPC", host or f"b{broker_id}", 1)
    return Broker(BrokerId(broker_id), BrokerEpoch(1), (endpoint,))


@pytest.fixture
def scene():
    """Brokers 1 and 2 are known, 1 is the controller; ZooKeeper has what a test puts there."""
    metadata, gate = MetadataCache(), ControlGate()
    gate.adopt(EPOCH)
    metadata.apply(UpdateMetadataRequest(BrokerId(1), EPOCH, BrokerEpoch(1), (), (broker(1), broker(2))))
    metadata.controller_changed(BrokerId(1))
    found = SimpleNamespace(registered={}, controller=None, reads=[])

    async def read_brokers(ids):
        found.reads += ["all"] if ids is None else ids
        return {each: known for each, known in found.registered.items() if ids is None or each in ids}

    async def read_controller():
        found.reads.append("controller")
        return found.controller

    found.claims = PeerClaims(metadata, gate, read_brokers, read_controller)
    return found


def fetch(broker_id):
    return "Fetch", pb.FetchRequest(replica_id=broker_id)


def shutdown(broker_id):
    return "ControlledShutdown", (ControlledShutdown(BrokerId(broker_id), BrokerEpoch(1)), 1000)


def control(method, broker_id, epoch=EPOCH):
    head = control_pb2.ControlRequestHead(controller_id=broker_id, controller_epoch=epoch)
    return method, head.SerializeToString()


@pytest.mark.parametrize("request_of", [fetch, shutdown])
async def test_a_broker_speaks_for_itself(scene, request_of):
    assert await scene.claims.refusal(*request_of(2), ["b2"]) is None
    assert scene.reads == []
    refusal = await scene.claims.refusal(*request_of(2), ["b1", "b3"])
    assert refusal == "broker 2 is not registered, and the certificate of this connection is for b1, b3"
    scene.registered[2] = broker(2)
    refusal = await scene.claims.refusal(*request_of(2), [])
    assert refusal == (
        "broker 2 has registered GRPC://b2:1, and the certificate of this connection is for no host"
    )


async def test_a_broker_that_nobody_has_announced_yet_is_looked_up(scene):
    scene.registered[3] = broker(3)
    assert await scene.claims.refusal(*fetch(3), ["b3"]) is None
    scene.registered[2] = broker(2, "elsewhere")
    assert await scene.claims.refusal(*fetch(2), ["elsewhere"]) is None
    assert scene.reads == [3, 2]
    scene.registered[4] = Broker(BrokerId(4), BrokerEpoch(1), ())
    assert "has registered None" in await scene.claims.refusal(*fetch(4), ["b4"])


@pytest.mark.parametrize("method", CONTROL)
async def test_control_requests_are_the_controllers(scene, method):
    assert await scene.claims.refusal(*control(method, 1), ["b1"]) is None
    assert scene.reads == []
    assert "broker 1 is not registered" in await scene.claims.refusal(*control(method, 1), ["b2"])
    refusal = await scene.claims.refusal(*control(method, 2), ["b2"])
    assert refusal == "broker 2 is not the controller, which is none"
    scene.controller = 1
    assert "which is 1" in await scene.claims.refusal(*control(method, 2), ["b2"])
    scene.controller = 2
    assert await scene.claims.refusal(*control(method, 2), ["b2"]) is None


async def test_what_the_epoch_or_the_decoder_refuses_is_left_to_them(scene):
    assert await scene.claims.refusal(*control("LeaderAndIsr", 2, EPOCH - 1), ["b3"]) is None
    assert await scene.claims.refusal("LeaderAndIsr", b"\xff", ["b3"]) is None
    assert scene.reads == []


async def test_other_requests_name_no_broker(scene):
    assert await scene.claims.refusal("CreateTopics", object(), []) is None


async def test_a_certificate_of_a_live_broker_is_known_and_of_anybody_else_is_not(scene, monkeypatch):
    monkeypatch.setattr(peer_claims, "_MOST_FOUND", 1)
    for hosts in (("b1",), ("b2", "alias"), ("b1",), ("b1",)):
        assert await scene.claims.stranger(hosts) is None
    assert scene.reads == []
    scene.registered[3] = broker(3)
    assert await scene.claims.stranger(("b3",)) is None
    assert scene.reads == ["all"]
    refusal = await scene.claims.stranger(("client", "b9"))
    assert refusal == "the certificate of this connection is for client, b9, and no live broker is there"
    assert "is for no host" in await scene.claims.stranger(())
    del scene.registered[3]
    assert await scene.claims.stranger(("b3",)) is not None

from __future__ import annotations

from barnabas.bench.stub_brokers import StubBroker
from barnabas.cluster.rpc import control_pb2 as pb


async def test_every_request_is_answered_without_error():
    stub = StubBroker()
    answers = [
        await stub.LeaderAndIsr(pb.LeaderAndIsrRequest(), None),
        await stub.UpdateMetadata(pb.UpdateMetadataRequest(), None),
        await stub.StopReplica(pb.StopReplicaRequest(), None),
    ]
    assert [answer.error_code for answer in answers] == [0, 0, 0]

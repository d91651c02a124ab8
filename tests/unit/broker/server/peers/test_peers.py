"""The gRPC listener: what arrives reaches the right check, what comes back is translated."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import grpc
import grpc.aio
import pytest

from barnabas.broker.authorizer.authorizer import AclAuthorizer
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.server.peers.control_check import ControlRequestCheck
from barnabas.broker.server.peers.peer_access import PeerAccess
from barnabas.broker.server.peers.peers import PeerServer
from barnabas.cluster.model.authorization import Rules
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.principal import ANONYMOUS
from barnabas.cluster.model.requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import control_pb2, replication_pb2, translate
from barnabas.cluster.rpc.channels import CORRELATION_ID_KEY, open_channel
from barnabas.cluster.rpc.commands import METHODS
from barnabas.cluster.rpc.control_requests import Encoder

TP = TopicPartition("t", 0)
SESSION_MS = 6000
MOST_CONNECTIONS = 8


class FakeLeadership:
    """Takes requests down; fails where it is told to."""

    def __init__(self):
        self.seen = []
        self.fails = False

    async def leader_and_isr(self, request, correlation_id):
        self.seen.append((request, correlation_id))
        if self.fails:
            raise ZeroDivisionError
        return LeaderAndIsrResponse(ErrorCode.NONE, {TP: ErrorCode.STALE_CONTROLLER_EPOCH})

    async def update_metadata(self, request, correlation_id):
        self.seen.append((request, correlation_id))
        return UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH)

    async def stop_replica(self, request, correlation_id):
        self.seen.append((request, correlation_id))
        return StopReplicaResponse(ErrorCode.NONE, {TP: ErrorCode.FENCED_LEADER_EPOCH})


class FakeRanges:
    def read(self, request):
        return replication_pb2.ReadRangeResponse(records=b"from %d" % request.offset)


class FakeSessions:
    async def serve(self, requests):
        async for request in requests:
            yield replication_pb2.FetchResponse(error_code=request.replica_id)


class FakeController:
    async def submit(self, command, timeout_ms):
        self.seen = command, timeout_ms
        return CreateTopicsResult((TopicResult("t", ErrorCode.NONE, None, 3, 1),))


def a_door():
    """The check of broker 1 in its life 7, in a cluster whose latest controller epoch is 3."""
    gate = ControlGate()
    gate.registered(BrokerEpoch(7))

    async def latest_epoch():
        return ControllerEpoch(3)

    return ControlRequestCheck(BrokerId(1), gate, lambda _: None, latest_epoch)


def peer_server(leadership, controller, access=None, max_idle_ms=-1):
    return PeerServer(
        leadership,
        FakeSessions(),
        a_door(),
        controller,
        SESSION_MS,
        ranges=FakeRanges(),
        most_connections=MOST_CONNECTIONS,
        access=access,
        max_idle_ms=max_idle_ms,
    )


class Peers:
    """A server on loopback, and a channel to it."""

    def __init__(self, **more):
        self.leadership, self.controller = FakeLeadership(), FakeController()
        self.server = peer_server(self.leadership, self.controller, **more)

    async def call(self, method, message, answer, metadata=()):
        call = self.channel.unary_unary(
            method,
            request_serializer=type(message).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return await call(message, metadata=metadata)


@contextlib.asynccontextmanager
async def serving(**more):
    peers = Peers(**more)
    peers.port = await peers.server.start("127.0.0.1", 0)
    peers.channel = open_channel("127.0.0.1", peers.port, SESSION_MS)
    yield peers
    await peers.channel.close()
    await peers.server.stop(0)


@pytest.fixture
async def peers():
    async with serving() as peers:
        yield peers


def head():
    return BrokerId(9), ControllerEpoch(3), BrokerEpoch(7)


async def test_the_controllers_three_requests(peers):
    numbered = ((CORRELATION_ID_KEY, "42"),)
    lead = LeaderAndIsrRequest(*head(), ())
    answer = await peers.call(
        "/barnabas.control.BrokerControl/LeaderAndIsr",
        control_pb2.LeaderAndIsrRequest.FromString(Encoder().encode(lead)),
        control_pb2.LeaderAndIsrResponse,
        numbered,
    )
    assert translate.leader_and_isr_response_from_message(answer).partition_errors == {
        TP: ErrorCode.STALE_CONTROLLER_EPOCH
    }
    update = UpdateMetadataRequest(*head(), (), ())
    answer = await peers.call(
        "/barnabas.control.BrokerControl/UpdateMetadata",
        control_pb2.UpdateMetadataRequest.FromString(Encoder().encode(update)),
        control_pb2.UpdateMetadataResponse,
    )
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
    stop = StopReplicaRequest(*head(), ())
    answer = await peers.call(
        "/barnabas.control.BrokerControl/StopReplica",
        control_pb2.StopReplicaRequest.FromString(Encoder().encode(stop)),
        control_pb2.StopReplicaResponse,
    )
    assert translate.stop_replica_response_from_message(answer).partition_errors == {
        TP: ErrorCode.FENCED_LEADER_EPOCH
    }
    assert peers.leadership.seen == [(lead, 42), (update, 0), (stop, 0)]


async def test_what_the_door_refuses_is_not_carried_out(peers):
    path = "/barnabas.control.BrokerControl/UpdateMetadata"
    call = peers.channel.unary_unary(path)
    former = control_pb2.UpdateMetadataRequest(controller_epoch=3, broker_epoch=6).SerializeToString()
    answer = control_pb2.UpdateMetadataResponse.FromString(await call(former))
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
    junk = control_pb2.UpdateMetadataRequest(controller_epoch=2**31 - 1, broker_epoch=7).SerializeToString()
    with pytest.raises(grpc.aio.AioRpcError, match="expected one of at most 3") as refused:
        await call(junk)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    with pytest.raises(grpc.aio.AioRpcError, match="no UpdateMetadataRequest") as refused:
        await call(b"\xff")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert peers.leadership.seen == []


@pytest.mark.parametrize("junk", ["", "x", "-1", "1.5", "2147483648", "9" * 5000])
async def test_a_junk_correlation_id_is_an_error_to_its_caller(peers, junk, caplog):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await peers.call(
            "/barnabas.control.BrokerControl/LeaderAndIsr",
            control_pb2.LeaderAndIsrRequest(),
            control_pb2.LeaderAndIsrResponse,
            ((CORRELATION_ID_KEY, junk),),
        )
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "correlation-id is" in refused.value.details()
    assert peers.leadership.seen == []
    assert caplog.records == []


async def test_who_connects_and_says_nothing_is_one_too_many_at_some_time(peers):
    update = control_pb2.UpdateMetadataRequest.FromString(
        Encoder().encode(UpdateMetadataRequest(*head(), (), ()))
    )
    method = "/barnabas.control.BrokerControl/UpdateMetadata"
    await peers.call(method, update, control_pb2.UpdateMetadataResponse)
    with contextlib.ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", peers.port)))
            for _ in range(3 * MOST_CONNECTIONS)
        ]
        # Those that have no place are closed, and who was there before is served.
        async with asyncio.timeout(60):
            await asyncio.gather(*(asyncio.to_thread(closed, each) for each in silent[MOST_CONNECTIONS:]))
        await peers.call(method, update, control_pb2.UpdateMetadataResponse)


async def test_a_connection_without_a_call_is_closed_after_a_while_and_opened_for_the_next():
    async with serving(max_idle_ms=100) as peers:
        ready = grpc.ChannelConnectivity.READY
        async with asyncio.timeout(60):
            for _ in range(2):
                while (state := peers.channel.get_state(try_to_connect=True)) is not ready:
                    await peers.channel.wait_for_state_change(state)
                await peers.channel.wait_for_state_change(ready)
            stream = fetch_stream(peers)
            for number in (5, 6):
                await stream.write(replication_pb2.FetchRequest(replica_id=number))
                assert (await stream.read()).error_code == number
            stream.cancel()


def closed(connection):
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(1000):
            pass


async def test_an_error_nobody_foresaw_is_an_answer(peers):
    peers.leadership.fails = True
    answer = await peers.call(
        "/barnabas.control.BrokerControl/LeaderAndIsr",
        control_pb2.LeaderAndIsrRequest(controller_epoch=3, broker_epoch=7),
        control_pb2.LeaderAndIsrResponse,
    )
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_a_command_reaches_the_controller(peers):
    command, method = CreateTopics((NewTopic("t", 3, 1),)), METHODS[CreateTopics]
    answer = await peers.channel.unary_unary(method.path)(method.encode(command, 1234))
    assert peers.controller.seen == (command, 1234)
    assert method.decode_result(answer).topics[0].partitions == 3


async def test_a_fetch_stream(peers):
    stream = fetch_stream(peers)
    for number in (5, 6):
        await stream.write(replication_pb2.FetchRequest(replica_id=number))
        assert (await stream.read()).error_code == number
    stream.cancel()


def fetch_stream(peers):
    return peers.channel.stream_stream(
        "/barnabas.replication.Replication/Fetch",
        request_serializer=replication_pb2.FetchRequest.SerializeToString,
        response_deserializer=replication_pb2.FetchResponse.FromString,
    )()


def access_by(**rules):
    return PeerAccess(None, AclAuthorizer(lambda: None, Rules(**rules), int))


async def test_without_tls_a_caller_is_anonymous_to_the_authorizer():
    message = translate.update_metadata_request_to_message(UpdateMetadataRequest(*head(), (), ()))
    method = "/barnabas.control.BrokerControl/UpdateMetadata"
    async with serving(access=access_by(super_users=frozenset({ANONYMOUS}))) as peers:
        answer = await peers.call(method, message, control_pb2.UpdateMetadataResponse)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
        stream = fetch_stream(peers)
        await stream.write(replication_pb2.FetchRequest(replica_id=5))
        assert (await stream.read()).error_code == 5
        stream.cancel()
    async with serving(access=access_by()) as peers:
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await peers.call(method, message, control_pb2.UpdateMetadataResponse)
        assert ended.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert "User:ANONYMOUS must have ClusterAction" in ended.value.details()
        assert await fetch_stream(peers).code() is grpc.StatusCode.PERMISSION_DENIED
        assert peers.leadership.seen == []


async def test_a_taken_port_is_named(peers):
    other = peer_server(FakeLeadership(), FakeController())
    with pytest.raises(OSError, match=f"127.0.0.1:{peers.port}"):
        await other.start("127.0.0.1", peers.port)
    await asyncio.wait_for(other.stop(0), 5)


async def test_a_range_for_a_damaged_replica(peers):
    answer = await peers.call(
        "/barnabas.replication.Replication/ReadRange",
        replication_pb2.ReadRangeRequest(offset=7),
        replication_pb2.ReadRangeResponse,
    )
    assert answer.records == b"from 7"

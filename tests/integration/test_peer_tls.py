"""Mutual TLS between real brokers: they replicate and fail over, and nobody else gets a word in."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import ssl

import confluent_kafka
import confluent_kafka.admin
import grpc
import grpc.aio
import pytest

from barnabas.broker.replicas.repair import READ_RANGE_METHOD
from barnabas.broker.replicas.replica_fetcher import FETCH_METHOD
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import control_pb2, replication_pb2
from barnabas.cluster.rpc.commands import METHODS
from barnabas.cluster.rpc.control_requests import CALLS
from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.certificates import Authority
from tests.integration.records import write
from tests.logged import logged
from tests.metadata import metadata_of

HERE = ("127.0.0.1",)
UNARY = sorted(
    {READ_RANGE_METHOD, *(each.path for each in METHODS.values()), *(each.path for each in CALLS.values())}
)


class Secured:
    """A cluster whose brokers have certificates of their own, which one authority has issued."""

    def __init__(self, directory, zookeeper):
        self.directory = directory
        self.authority = Authority("brokers")
        (directory / "ca.pem").write_text(self.authority.text)
        users = "".join(f"User:broker-{each};" for each in (1, 2, 3))
        self.cluster = LocalCluster(
            directory / "cluster",
            zookeeper=zookeeper,
            overrides={
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:SSL",
                "listener.name.grpc.ssl.keystore.type": "PEM",
                "listener.name.grpc.ssl.truststore.type": "PEM",
                "listener.name.grpc.ssl.truststore.location": str(directory / "ca.pem"),
                "ssl.principal.mapping.rules": "RULE:^CN=(broker-[0-9]),O=us$/$1/,DEFAULT",
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": f"{users}User:ANONYMOUS",
                "min.insync.replicas": "2",
            },
        )
        for broker in self.cluster.brokers.values():
            file = self.store_of(broker.id)
            broker.own_settings["listener.name.grpc.ssl.keystore.location"] = str(file)

    def store_of(self, broker_id):
        issued = self.authority.issue(f"CN=broker-{broker_id},O=us", HERE)
        return issued.write_pem(self.directory / f"broker-{broker_id}.pem")

    @property
    def grpc(self):
        return self.cluster.brokers[BrokerId(2)].grpc


@pytest.fixture(scope="module")
def secured(tmp_path_factory, new_chroot):
    found = Secured(tmp_path_factory.mktemp("tls"), new_chroot())
    with found.cluster:
        yield found


def credentials(authority, issued):
    if issued is None:
        return grpc.ssl_channel_credentials(authority.text.encode())
    return grpc.ssl_channel_credentials(
        authority.text.encode(), issued.key_text().encode(), issued.chain().encode()
    )


async def silent():
    """A request that never comes."""
    await asyncio.Event().wait()
    yield b""


async def answer_to_silence(channel, path):
    """The status with which a call ends that sends nothing."""
    try:
        if path == FETCH_METHOD:
            await channel.stream_stream(path)(silent(), timeout=60).read()
        else:
            await channel.stream_unary(path)(silent(), timeout=60)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details()
    return None


def partition(cluster):
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    return metadata_of(admin, "orders").topics["orders"].partitions[0]


def test_brokers_replicate_and_fail_over(secured):
    cluster = secured.cluster
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([confluent_kafka.admin.NewTopic("orders", 1, 3)])["orders"].result(90)
    write(cluster, "orders", b"before")
    wait_until(lambda: len(partition(cluster).isrs) == 3, "all in sync")
    leader = partition(cluster).leader
    cluster.kill(leader)
    write(cluster, "orders", b"after")
    cluster.restart(leader)


@pytest.mark.parametrize("stranger", [None, "of another authority", "expired", "plaintext"])
async def test_a_stranger_is_refused_in_the_handshake(secured, stranger):
    subject, day = "CN=broker-1,O=us", dt.timedelta(days=1)
    certificates = {
        None: None,
        "of another authority": Authority("brokers").issue(subject, HERE),
        "expired": secured.authority.issue(subject, HERE, begins=-2 * day, ends=-day),
    }
    if stranger == "plaintext":
        channel = grpc.aio.insecure_channel(secured.grpc)
    else:
        known = credentials(secured.authority, certificates[stranger])
        channel = grpc.aio.secure_channel(secured.grpc, known)
    async with channel:
        for path in (FETCH_METHOD, *UNARY):
            code, _ = await answer_to_silence(channel, path)
            assert code is grpc.StatusCode.UNAVAILABLE


async def test_a_clients_certificate_is_refused_before_a_message_is_read(secured):
    mallory = secured.authority.issue("CN=mallory,O=us", HERE)
    async with grpc.aio.secure_channel(secured.grpc, credentials(secured.authority, mallory)) as channel:
        for path in (FETCH_METHOD, *UNARY):
            code, details = await answer_to_silence(channel, path)
            assert code is grpc.StatusCode.PERMISSION_DENIED
            assert details == "User:CN=mallory,O=us must have ClusterAction on Cluster:kafka-cluster"
    log = secured.cluster.brokers[BrokerId(2)].directory / "logs" / "kafka-authorizer.log"
    line = "Principal = User:CN=mallory,O=us is Denied Operation = ClusterAction from host = 127.0.0.1"
    wait_until(
        lambda: f"{line} on resource = Cluster:LITERAL:kafka-cluster for request = Fetch" in logged(log),
        "the line of the refusal",
    )


async def test_a_broker_speaks_for_itself_alone(secured):
    """A broker's name is not enough on another host, and a broker is not the controller."""
    elsewhere = secured.authority.issue("CN=broker-1,O=us", ("127.0.0.9",))
    async with grpc.aio.secure_channel(secured.grpc, credentials(secured.authority, elsewhere)) as channel:
        for path in (FETCH_METHOD, *UNARY):
            code, details = await answer_to_silence(channel, path)
            assert code is grpc.StatusCode.PERMISSION_DENIED
            assert "is for 127.0.0.9, and no live broker is there" in details
    ours = secured.authority.issue("CN=broker-1,O=us", HERE)
    async with grpc.aio.secure_channel(secured.grpc, credentials(secured.authority, ours)) as channel:
        stream = channel.stream_stream(FETCH_METHOD)()
        await stream.write(replication_pb2.FetchRequest(replica_id=9).SerializeToString())
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stream.read()
        assert refused.value.details() == (
            "broker 9 is not registered, and the certificate of this connection is for 127.0.0.1"
        )
    controller = secured.cluster.controller_id()
    other = next(each for each in secured.cluster.brokers if each != controller)
    own = secured.authority.issue(f"CN=broker-{other},O=us", HERE)
    head = control_pb2.ControlRequestHead(controller_id=other, controller_epoch=2**31 - 1)
    async with grpc.aio.secure_channel(secured.grpc, credentials(secured.authority, own)) as channel:
        for call in CALLS.values():
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary(call.path)(head.SerializeToString(), timeout=60)
            assert refused.value.details() == f"broker {other} is not the controller, which is {controller}"


def test_a_changed_certificate_is_used_without_a_restart(secured):
    own = secured.authority.issue("CN=probe", HERE).write_pem(secured.directory / "probe.pem")
    context = ssl.create_default_context(cafile=str(secured.directory / "ca.pem"))
    context.load_cert_chain(own)
    host, port = secured.grpc.split(":")

    def served():
        with (
            socket.create_connection((host, int(port)), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname=host) as wrapped,
        ):
            return wrapped.getpeercert()["serialNumber"]

    before = served()
    secured.store_of(2)
    wait_until(lambda: served() != before, "the new certificate")

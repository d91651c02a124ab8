"""Live brokers whose registrations are deleted behind their backs: one, or all that ZooKeeper holds."""

from __future__ import annotations

import contextlib

import confluent_kafka
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError, NotEmptyError
from kio.schema.metadata.v1.request import MetadataRequest

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from tests.clusters import FAULTS
from tests.integration.records import write

DEADLINE_S = 60.0


@contextlib.contextmanager
def client_of(cluster):
    client = KazooClient(cluster.zookeeper_connect)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def to_wipe(tmp_path, zk_connect):
    """A cluster of one test, and a client of its ZooKeeper."""
    with (
        LocalCluster(tmp_path / "cluster", overrides=FAULTS, zookeeper=zk_connect) as cluster,
        client_of(cluster) as client,
    ):
        yield cluster, client


def czxid(zk, broker):
    stat = zk.exists(f"/brokers/ids/{broker}")
    return stat.czxid if stat else -1


def use(cluster, answered, topic):
    """Create a topic, with all replicas in sync, and write a record with ``acks=all``."""
    request = MetadataRequest(topics=())

    def know_the_controller():
        named = {answered(broker, request).controller_id for broker in cluster.brokers.values()}
        return named == {cluster.controller_id()}

    def is_created():
        try:
            Observer(cluster.bootstrap).create_topic(topic, partitions=3)
        except confluent_kafka.KafkaException as error:
            # A broker that finds a node of its own missing still gives the controllership up.
            if error.args[0].code() != confluent_kafka.KafkaError.NOT_CONTROLLER:
                raise
            return False
        return True

    # A client that asks a former controller hears NOT_CONTROLLER, and its admin client does not ask again.
    wait_until(know_the_controller, "every broker that knows who is controller")
    wait_until(is_created, f"topic {topic}")
    write(cluster, topic, b"written")
    assert records(cluster, topic) == [b"written"]


def records(cluster, topic):
    """What a consumer reads of all partitions."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "unused", "enable.partition.eof": True}
    )
    first = confluent_kafka.OFFSET_BEGINNING
    consumer.assign([confluent_kafka.TopicPartition(topic, number, first) for number in range(3)])
    found, ends = [], set()
    try:
        while len(ends) < 3:
            message = consumer.poll(DEADLINE_S)
            assert message is not None
            if message.error() is None:
                found.append(message.value())
            else:
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                ends.add(message.partition())
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("who", ["the controller", "another broker"])
def test_a_live_broker_whose_registration_is_deleted_registers_again(cluster, zk, answered, who):
    topic = who.replace(" ", "-")
    use(cluster, answered, f"before-{topic}")
    controller = cluster.controller_id()
    broker = controller if who == "the controller" else BrokerId(controller % 3 + 1)
    before, pid = czxid(zk, broker), cluster.brokers[broker].pid
    session = zk.get(f"/brokers/ids/{broker}")[1].ephemeralOwner
    zk.delete(f"/brokers/ids/{broker}")
    wait_until(lambda: czxid(zk, broker) > before, f"a new registration of broker {broker}")
    assert zk.get(f"/brokers/ids/{broker}")[1].ephemeralOwner == session
    cluster.wait_ready()
    use(cluster, answered, f"after-{topic}")
    assert cluster.brokers[broker].pid == pid


def wipe(zk):
    """Delete all that anybody but ZooKeeper itself has made; brokers make some of it again meanwhile."""

    def delete(path):
        # A broker may end its session, and make again what is gone, at the same time.
        with contextlib.suppress(NoNodeError, NotEmptyError):
            for child in zk.get_children(path):
                if path != "/" or child != "zookeeper":
                    delete(f"{path.rstrip('/')}/{child}")
            if path != "/":
                zk.delete(path)

    # A controller that has not noticed yet may write the state of a partition while its topic is deleted.
    delete("/")
    while zk.exists("/brokers/topics") and zk.get_children("/brokers/topics"):
        delete("/brokers/topics")


def test_a_cluster_whose_zookeeper_was_wiped_works_again(to_wipe, answered):
    cluster, zk = to_wipe
    use(cluster, answered, "before")
    Observer(cluster.bootstrap).create_topic("gone", partitions=3)
    pids = [broker.pid for broker in cluster.brokers.values()]
    cluster_id = zk.get("/cluster/id")[0]
    wipe(zk)
    needed = [*paths.PERSISTENT, *map(paths.broker, cluster.brokers)]
    wait_until(lambda: all(map(zk.exists, needed)), "all that was deleted")
    cluster.wait_ready()
    everything = MetadataRequest(topics=None)
    wait_until(
        lambda: (
            not any(
                topic.name == "gone"
                for broker in cluster.brokers.values()
                for topic in answered(broker, everything).topics
            )
        ),
        "metadata without the topic that is gone",
    )
    use(cluster, answered, "after")
    use(cluster, answered, "before")
    assert [broker.pid for broker in cluster.brokers.values()] == pids
    assert zk.get("/cluster/id")[0] == cluster_id

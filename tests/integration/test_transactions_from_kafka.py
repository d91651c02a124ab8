"""A log with transactions, as Kafka leaves it behind, is read by read_committed consumers as at Kafka.

The files are written here byte by byte: batches, producer snapshot and index of aborted transactions.
"""

from __future__ import annotations

import struct

import confluent_kafka
import confluent_kafka.admin
import pytest
from crc32c import crc32c

from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.metadata import metadata_of

TIME = 1_700_000_000_000
TRANSACTIONAL, CONTROL = 0x10, 0x20
ABORT, COMMIT = 0, 1
A, B, C = 100, 200, 300
COMMITTED = [0, 3, 4, 6]
ALL = [0, 1, 2, 3, 4, 6, 8, 9]


def varint(number):
    zigzag, out = number << 1, b""
    while zigzag > 0x7F:
        out, zigzag = out + bytes([zigzag & 0x7F | 0x80]), zigzag >> 7
    return out + bytes([zigzag])


def batch(base, count=1, producer=-1, sequence=-1, *, attributes=0, key=b"k", value=b"v"):
    records = b""
    for delta in range(count):
        body = b"\0\0" + varint(delta) + varint(len(key)) + key + varint(len(value)) + value + b"\0"
        records += varint(len(body)) + body
    epoch = -1 if producer < 0 else 0
    tail = struct.pack(">hiqqqhii", attributes, count - 1, TIME, TIME, producer, epoch, sequence, count)
    rest = struct.pack(">ib", 0, 2) + struct.pack(">I", crc32c(tail + records)) + tail + records
    return struct.pack(">qi", base, len(rest)) + rest


def marker(base, producer, kind):
    key, value = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0)
    return batch(base, 1, producer, -1, attributes=TRANSACTIONAL | CONTROL, key=key, value=value)


LOG = b"".join(
    [
        batch(0),
        batch(1, 2, A, 0, attributes=TRANSACTIONAL),
        batch(3, 2, B, 0, attributes=TRANSACTIONAL),
        marker(5, A, ABORT),
        batch(6),
        marker(7, B, COMMIT),
        batch(8, 1, C, 0, attributes=TRANSACTIONAL),
        batch(9),
    ]
)
TRANSACTION_INDEX = struct.pack(">hqqqq", 0, A, 1, 5, 3)


def snapshot():
    row = struct.Struct(">qhiqiqiq")
    rows = row.pack(A, 0, 1, 2, 1, TIME, 0, -1) + row.pack(B, 0, 1, 4, 1, TIME, 0, -1)
    rows += row.pack(C, 0, 0, 8, 0, TIME, -1, 8)
    body = struct.pack(">i", 3) + rows
    return struct.pack(">hI", 1, crc32c(body)) + body


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, new_chroot):
    directory = tmp_path_factory.mktemp("taken-over") / "cluster"
    overrides = {"log.retention.ms": "-1", "transactional.id.expiration.ms": "2147483647"}
    with LocalCluster(directory, brokers=1, overrides=overrides, zookeeper=new_chroot()) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def take_over(cluster, admin, topic, *, clean):
    """The topic's log as Kafka leaves it: closed with index and snapshot, or killed, without them."""
    admin.create_topics([confluent_kafka.admin.NewTopic(topic, 1, 1)])[topic].result(90)
    broker = cluster.brokers[1]
    cluster.terminate(1)
    directory = broker.dir / "data" / f"{topic}-0"
    for path in directory.iterdir():
        path.unlink()
    (directory / f"{0:020d}.log").write_bytes(LOG)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    if clean:
        (directory / f"{0:020d}.index").write_bytes(b"")
        (directory / f"{0:020d}.timeindex").write_bytes(struct.pack(">qi", TIME, 0))
        (directory / f"{0:020d}.txnindex").write_bytes(TRANSACTION_INDEX)
        (directory / f"{10:020d}.snapshot").write_bytes(snapshot())
    else:
        (broker.dir / "data" / ".kafka_cleanshutdown").unlink()
    cluster.restart(1)
    wait_until(lambda: topic in metadata_of(admin).topics, f"{topic} in the metadata")
    return directory


def read(cluster, topic, isolation):
    """The offsets that a consumer of that isolation level is given before the partition's end."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    offsets = []
    while True:
        (message,) = consumer.consume(1, timeout=60)
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            break
        offsets.append(message.offset())
    consumer.close()
    return offsets


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "killed"])
def test_read_committed_sees_neither_aborted_nor_open_transactions(cluster, admin, clean):
    topic = "closed" if clean else "killed"
    directory = take_over(cluster, admin, topic, clean=clean)
    assert read(cluster, topic, "read_uncommitted") == ALL
    assert read(cluster, topic, "read_committed") == COMMITTED
    assert (directory / f"{0:020d}.txnindex").read_bytes() == TRANSACTION_INDEX
    place = confluent_kafka.TopicPartition(topic, 0)
    for level, end in ((admin_level("READ_COMMITTED"), 8), (admin_level("READ_UNCOMMITTED"), 10)):
        asked = {place: confluent_kafka.admin.OffsetSpec.latest()}
        assert admin.list_offsets(asked, isolation_level=level)[place].result(60).offset == end


def admin_level(name):
    return getattr(confluent_kafka.IsolationLevel, name)

"""Batches that no well-meaning client sends, in Kafka's protocol to a real broker: each has its answer.

What is checked, and in which order, is tested at its place (``tests/unit/broker/replicas/test_append.py``);
here each check is asked for from outside, and the broker goes on.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
import zlib
from pathlib import Path

import confluent_kafka.admin
import crc32c
import pytest
from kio.schema.list_offsets.v1 import request as list_offsets
from kio.schema.produce.v8 import request as kio

from barnabas.cluster.model.errors import ErrorCode
from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.batches import batch_builder

BASE_TIME = 1_700_000_000_000
EXPIRATION_MS = 1_000
OVERRIDES = {"transactional.id.expiration.ms": str(EXPIRATION_MS)}
OPEN, UNPACKED = "open", "unpacked"
TOPICS = {OPEN: {"retention.ms": "-1"}, UNPACKED: {"retention.ms": "-1", "compression.type": "uncompressed"}}
JUST_STARTED = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER}
"""What a broker says before it has got a LeaderAndIsr."""

NONE, INVALID, CORRUPT = ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, new_chroot):
    directory = tmp_path_factory.mktemp("hostile") / "cluster"
    with LocalCluster(directory, brokers=1, overrides=OVERRIDES, zookeeper=new_chroot()) as running:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": running.bootstrap})
        new = [confluent_kafka.admin.NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]
        for made in admin.create_topics(new).values():
            made.result(90)
        yield running


def asked(records, topic):
    """A request to write one record field with acks=all."""
    data = kio.PartitionProduceData(index=0, records=records)
    return kio.ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout=dt.timedelta(seconds=60),
        topic_data=(kio.TopicProduceData(name=topic, partition_data=(data,)),),
    )


@pytest.fixture
def produce(cluster, answered):
    """Sends one record field; its error and base offset, from when the broker knows that it leads."""

    def errors_of(records, topic):
        answer = answered(cluster.brokers[1], asked(records, topic))
        found = answer.responses[0].partition_responses[0]
        error = ErrorCode(found.error_code)
        return None if error in JUST_STARTED else (error, found.base_offset)

    return lambda records, topic=OPEN: wait_until(lambda: errors_of(records, topic), "a leader")


def build(count=1, *, producer=(-1, -1, -1), codec=0, value=b"value", time=BASE_TIME):
    builder = batch_builder(codec, producer)
    for index in range(count):
        builder.append(index, timestamp=time, key=None, value=value, headers=[])
    return bytes(builder.build())


def patched(batch, at, new):
    """The batch with other bytes at that place and a checksum that is right again."""
    changed = batch[:at] + new + batch[at + len(new) :]
    return changed[:17] + struct.pack(">I", crc32c.crc32c(changed[21:])) + changed[21:]


def hostile():
    one, two = build(), build(2)
    return {
        "null": (None, INVALID),
        "nothing": (b"", INVALID),
        "two batches": (one + one, INVALID),
        "half a batch": (one[: len(one) // 2], INVALID),
        "length below a header": (one[:8] + struct.pack(">i", 13) + one[12:], CORRUPT),
        "negative length": (one[:8] + struct.pack(">i", -1) + one[12:], CORRUPT),
        "longest length": (one[:8] + struct.pack(">i", 2**31 - 1) + one[12:], INVALID),
        "format 1": (one[:16] + b"\1" + one[17:], INVALID),
        "format 3": (one[:16] + b"\3" + one[17:], CORRUPT),
        "checksum": (one[:-1] + bytes([one[-1] ^ 1]), CORRUPT),
        "base offset": (struct.pack(">q", 5) + one[8:], INVALID),
        "negative base offset": (struct.pack(">q", -5) + one[8:], INVALID),
        "count of none": (patched(one, 57, struct.pack(">i", 0)), INVALID),
        "negative count": (patched(one, 57, struct.pack(">i", -1)), INVALID),
        "largest count": (
            patched(patched(one, 57, b"\x7f" + b"\xff" * 3), 23, b"\x7f" + b"\xff" * 3),
            INVALID,
        ),
        "count of more": (patched(two, 57, struct.pack(">i", 3)), INVALID),
        "negative last offset": (patched(two, 23, struct.pack(">i", -1)), INVALID),
        "far last offset": (patched(two, 23, struct.pack(">i", 2**31 - 1)), INVALID),
        "record of negative length": (patched(one, 61, b"\x01"), INVALID),
        "record beyond the batch": (patched(one, 61, b"\x7e"), INVALID),
        "control": (patched(one, 21, b"\x00\x20"), INVALID),
        "transaction": (
            patched(build(producer=(7, 0, 0)), 21, b"\x00\x10"),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        "append time": (patched(one, 21, b"\x00\x08"), ErrorCode.INVALID_TIMESTAMP),
        "unknown codec": (patched(one, 21, b"\x00\x07"), ErrorCode.UNKNOWN_SERVER_ERROR),
        "producer without sequence": (build(producer=(7, 0, -1)), INVALID),
    }


def test_each_is_refused_and_nothing_is_written(produce):
    error, before = produce(build())
    assert error is NONE
    found = {name: produce(records)[0] for name, (records, _) in hostile().items()}
    assert found == {name: error for name, (_, error) in hostile().items()}
    assert produce(build()) == (NONE, before + 1)


def test_what_unpacks_to_too_much_is_refused_where_it_must_be_unpacked(produce):
    error, before = produce(build(), UNPACKED)
    assert error is NONE
    for codec in (1, 4):
        bomb = build(70, codec=codec, value=bytes(1 << 20))
        assert len(bomb) < 1 << 20
        assert produce(bomb, UNPACKED)[0] is INVALID
        assert produce(bomb, OPEN)[0] is NONE
    spoiled = build(2, codec=4)
    assert produce(patched(spoiled, 61, bytes(len(spoiled) - 61)), UNPACKED)[0] is INVALID
    assert produce(build(), UNPACKED) == (NONE, before + 1)


def nine_million_records():
    """A batch of 92 KB: gzip of 9,000,000 records of seven bytes."""
    count = 9_000_000
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(b"\x0c\0\0\0\x01\x01\0" * 100_000) for _ in range(count // 100_000))
    packed += packer.flush()
    one = build(codec=1)
    batch = one[:8] + struct.pack(">i", 49 + len(packed)) + one[12:61] + packed
    return patched(patched(batch, 23, struct.pack(">i", count - 1)), 57, struct.pack(">i", count))


def largest_memory(pid):
    """The most bytes that the process has had resident so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024


def listed(timestamp, topic):
    """A request for the first offset of a time."""
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = (list_offsets.ListOffsetsTopic(name=topic, partitions=(partition,)),)
    return list_offsets.ListOffsetsRequest(replica_id=-1, topics=topics)


def test_nine_million_records_in_a_batch_are_never_unpacked(cluster, produce, answered):
    batch = nine_million_records()
    assert len(batch) < 100_000
    (no_error, before), (_, unpacked_at) = produce(build()), produce(build(), UNPACKED)
    assert no_error is NONE
    memory = largest_memory(cluster.brokers[1].pid)
    answer = answered(cluster.brokers[1], asked(batch, UNPACKED))
    refused = answer.responses[0].partition_responses[0]
    assert refused.error_code == INVALID
    assert "9000000 records, expected 1000000 at most" in refused.error_message
    assert produce(batch, OPEN) == (NONE, before + 1)
    found = answered(cluster.brokers[1], listed(BASE_TIME, OPEN)).topics[0].partitions[0]
    assert (found.error_code, found.offset) == (NONE, 0)
    assert largest_memory(cluster.brokers[1].pid) - memory < 30_000_000
    assert produce(build(), UNPACKED) == (NONE, unpacked_at + 1)


@pytest.mark.parametrize("time", [2**62, -(2**62)])
def test_a_retry_is_answered_whatever_time_its_producer_made_up(cluster, produce, exchanged, time):
    batch = patched(build(producer=(502 + (time > 0), 0, 0)), 27, struct.pack(">qq", time, time))
    error, base = produce(batch)
    assert error is NONE
    assert struct.pack(">hqq", NONE, base, time) in bytes(exchanged(cluster.brokers[1], asked(batch, OPEN)))


def test_a_producer_that_was_idle_for_too_long_is_forgotten(cluster, produce):
    """By the time of what it wrote: a broker that starts does not know those of its snapshots any more."""
    idle = build(producer=(600, 0, 7))
    busy = build(producer=(601, 0, 7), time=4_000_000_000_000)
    (_, idle_at), (_, busy_at) = produce(idle), produce(busy)
    assert (produce(idle), produce(busy)) == ((NONE, idle_at), (NONE, busy_at))
    cluster.terminate(1)
    cluster.restart(1)
    cluster.wait_ready()
    error, again_at = produce(idle)
    assert error is NONE
    assert again_at > busy_at
    assert produce(busy) == (NONE, busy_at)

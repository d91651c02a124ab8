"""Batches that no well-meaning client sends, in Kafka's protocol to a real broker: each has its answer.

What is checked, and in which order, is tested in ``tests/unit/broker/core/records/test_batch_validation.py``;
here some checks are asked for from outside, and the broker goes on.
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
from barnabas.local.waiting import wait_until
from tests.batches import batch_builder

BASE_TIME = 1_700_000_000_000
OPEN, UNPACKED = "open", "unpacked"
TOPICS = {OPEN: {"retention.ms": "-1"}, UNPACKED: {"retention.ms": "-1", "compression.type": "uncompressed"}}
JUST_STARTED = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER}
"""What a broker says before it has got a LeaderAndIsr."""

NONE, INVALID, CORRUPT = ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE


@pytest.fixture(scope="module")
def cluster(request, shared_clusters):
    with shared_clusters.lent(request.session, {}, brokers=1) as running:
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
    one = build()
    return {
        "null": (None, INVALID),
        "half a batch": (one[: len(one) // 2], INVALID),
        "negative length": (one[:8] + struct.pack(">i", -1) + one[12:], CORRUPT),
        "checksum": (one[:-1] + bytes([one[-1] ^ 1]), CORRUPT),
        "largest count": (
            patched(patched(one, 57, b"\x7f" + b"\xff" * 3), 23, b"\x7f" + b"\xff" * 3),
            INVALID,
        ),
        "transaction": (
            patched(build(producer=(7, 0, 0)), 21, b"\x00\x10"),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        "unknown codec": (patched(one, 21, b"\x00\x07"), ErrorCode.UNKNOWN_SERVER_ERROR),
    }


def test_each_is_refused_and_nothing_is_written(produce):
    error, before = produce(build())
    assert error is NONE
    found = {name: produce(records)[0] for name, (records, _) in hostile().items()}
    assert found == {name: error for name, (_, error) in hostile().items()}
    assert produce(build()) == (NONE, before + 1)


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

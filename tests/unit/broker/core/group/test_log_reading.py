"""The groups in a log of ``__consumer_offsets``: one that Apache Kafka 3.9.1 wrote, and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from barnabas.broker.core.group.log_reading import BrokenFrameError, DamagedRecord, GroupLoad
from barnabas.broker.core.group.records import (
    OffsetAndMetadata,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from barnabas.broker.core.group.stored import StoredGroup
from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.broker.core.records.record_batch import (
    CONTROL_BIT,
    HEADER_SIZE,
    TRANSACTIONAL_BIT,
    Codec,
    parse_header,
    stamp,
    with_records,
)
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.steps import at_once

FROM_KAFKA = Path(__file__).parents[4] / "data" / "consumer-offsets" / "kafka-3.9.1.log"
TP = TopicPartition("t", 0)
ABORT, COMMIT = 0, 1


def batch(base, *records, transaction=None, codec=Codec.UNCOMPRESSED):
    """A batch as it lies in the log; ``transaction`` is a producer id."""
    builder = BatchBuilder(1000, 2**20)
    for key, value in records:
        builder.add(key, value)
    built = builder.build(codec)
    if transaction is not None:
        header = built.header._replace(attributes=TRANSACTIONAL_BIT, producer_id=transaction)
        built = with_records(header, built.data[HEADER_SIZE:])
    return b"".join(map(bytes, stamp(built, base, 0)))


def marker(base, transaction, kind):
    builder = BatchBuilder(1000, 2**20)
    builder.add(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    built = builder.build(Codec.UNCOMPRESSED)
    header = built.header._replace(attributes=TRANSACTIONAL_BIT | CONTROL_BIT, producer_id=transaction)
    return b"".join(map(bytes, stamp(with_records(header, built.data[HEADER_SIZE:]), base, 0)))


def commit(offset, group="g", tp=TP):
    return encode_offset_key(group, tp), encode_offset_value(OffsetAndMetadata(offset, -1, "", 1))


def loaded(*batches):
    load = GroupLoad()
    for each in batches:
        at_once(load.add(each, 0))
    return load, dict(at_once(load.groups()))


def offset_of(groups, group="g", tp=TP):
    found = groups[group].offsets.get(tp) if group in groups else None
    return None if found is None else found.offset


def test_the_groups_of_a_kafka_are_taken_over():
    load = GroupLoad()
    assert at_once(load.add(FROM_KAFKA.read_bytes(), 0)) == 25
    groups = dict(at_once(load.groups()))
    assert load.damaged == []
    assert sorted(groups) == ["empty", "readers", "simple", "timed"]
    orders = [TopicPartition("orders", number) for number in range(3)]
    assert [offset_of(groups, "simple", tp) for tp in orders] == [7, None, 8]
    assert groups["simple"].stored is None
    assert groups["simple"].offsets.get(orders[0]).metadata.startswith("note é")
    timed = groups["timed"].offsets.get(orders[1])
    assert (timed.offset, timed.metadata, timed.expire_ms - timed.commit_ms) == (42, "old", 86_400_000)
    readers = groups["readers"]
    # Of three transactions on partition 0 one committed 100, one was aborted and one is open.
    assert [offset_of(groups, "readers", tp) for tp in orders] == [100, 2, 2]
    assert [readers.offsets.is_pending(tp) for tp in orders] == [True, False, False]
    stored = readers.stored
    assert (stored.protocol_type, stored.generation, stored.protocol) == ("consumer", 2, "range")
    assert [(each.instance_id, each.client_id, each.client_host) for each in stored.members] == [
        ("one", "x", "/127.0.0.1"),
        (None, "y", "/127.0.0.1"),
    ]
    assert stored.leader == stored.members[0].member_id
    assert (groups["empty"].stored.members, groups["empty"].stored.generation) == ((), 2)


def test_the_values_of_a_kafka_are_written_byte_by_byte_as_it_did():
    data = FROM_KAFKA.read_bytes()
    _, groups = loaded(data)
    for name, group in groups.items():
        if group.stored is not None:
            assert encode_group_value(group.stored) in data
        for tp in group.offsets.partitions:
            assert encode_offset_key(name, tp) in data
            assert encode_offset_value(group.offsets.get(tp)) in data


def test_the_last_record_of_a_key_wins():
    group = StoredGroup("consumer", 1, None, None, 5, ())
    load, groups = loaded(
        batch(0, commit(1), commit(9, "gone"), (encode_group_key("gone"), encode_group_value(group))),
        batch(3, commit(2), commit(3, "h"), codec=Codec.LZ4),
        batch(5, (encode_offset_key("gone", TP), None), (encode_group_key("gone"), None)),
    )
    assert (sorted(groups), offset_of(groups), offset_of(groups, "h")) == (["g", "h"], 2, 3)
    assert load.damaged == []


def test_a_group_may_be_deleted_and_its_name_commit_again():
    _, groups = loaded(batch(0, (encode_group_key("g"), None)), batch(1, commit(4)))
    assert (groups["g"].stored, offset_of(groups)) == (None, 4)


def test_a_transaction_counts_when_it_is_committed():
    _, groups = loaded(
        batch(0, commit(1)),
        batch(1, commit(2), commit(5, "h"), transaction=7),
        batch(3, commit(3), transaction=8),
        batch(4, (encode_offset_key("h", TP), None), transaction=7),
        marker(5, 7, COMMIT),
        marker(6, 8, ABORT),
        marker(7, 9, COMMIT),
    )
    assert (sorted(groups), offset_of(groups)) == (["g"], 2)


def test_a_commit_after_that_of_a_transaction_stays():
    _, groups = loaded(batch(0, commit(2), transaction=7), batch(1, commit(3)), marker(2, 7, COMMIT))
    assert offset_of(groups) == 3


@pytest.mark.parametrize(
    "record",
    [
        (b"\x00\x09junk", b"v"),
        (encode_offset_key("g", TP), b"\x00\x07junk"),
        (encode_group_key("g"), b"\x00\x03"),
    ],
)
def test_a_damaged_record_is_skipped_and_told_with_its_offset(record):
    load, groups = loaded(batch(0, commit(1)), batch(1, commit(1, "h"), record, commit(2, "i")))
    assert [each.offset for each in load.damaged] == [2]
    assert [offset_of(groups, name) for name in "ghi"] == [1, 1, 2]
    assert groups["g"].stored is None


def test_a_record_without_a_key_is_skipped():
    whole = batch(4, (b"k", b"v"))
    # Attributes, both deltas, the length -1 of the key, the value, no headers.
    body = b"\x00\x00\x00\x01\x02v\x00"
    null_key = bytes(with_records(parse_header(whole), bytes((2 * len(body),)) + body).data)
    load, groups = loaded(null_key, batch(5, commit(1)))
    assert load.damaged == [DamagedRecord(4, "the key is null")]
    assert offset_of(groups) == 1


def test_a_damaged_batch_is_skipped():
    whole = batch(3, commit(7))
    flipped = whole[:-3] + bytes((whole[-3] ^ 1,)) + whole[-2:]
    header = parse_header(whole)
    unreadable = bytes(with_records(header._replace(record_count=9), whole[HEADER_SIZE:]).data)
    load, groups = loaded(batch(0, commit(1)), flipped, unreadable)
    assert [each.offset for each in load.damaged] == [3, 3]
    assert "checksum" in load.damaged[0].reason
    assert offset_of(groups) == 7, "the records before the damage count"


@pytest.mark.parametrize("key_length", [b"\x7e", b"\xfe\xff\xff\xff\x0f"])
def test_a_batch_whose_record_is_longer_than_it_says_is_skipped(key_length):
    body = b"\x00\x00\x00" + key_length + b"kv\x00"
    whole = batch(4, (b"k", b"v"))
    too_long = bytes(with_records(parse_header(whole), bytes((2 * len(body),)) + body).data)
    load, groups = loaded(too_long, batch(5, commit(1)))
    assert "a record of the batch at offset 4 is not filled" in load.damaged[0].reason
    assert offset_of(groups) == 1


def test_a_marker_that_cannot_be_read_is_skipped():
    builder = BatchBuilder(1000, 2**20)
    builder.add(b"\x00", b"")
    built = builder.build(Codec.UNCOMPRESSED)
    header = built.header._replace(attributes=TRANSACTIONAL_BIT | CONTROL_BIT, producer_id=7)
    load, groups = loaded(
        batch(0, commit(1), transaction=7), bytes(with_records(header, built.data[HEADER_SIZE:]).data)
    )
    assert len(load.damaged) == 1
    assert (offset_of(groups), groups["g"].offsets.is_pending(TP)) == (None, True)


def test_many_records_are_read_in_pieces():
    load = GroupLoad()
    steps = load.add(batch(0, *(commit(number) for number in range(1000))), 0)
    pieces = sum(1 for _ in steps)
    assert pieces >= 3
    assert offset_of(dict(at_once(load.groups()))) == 999


@pytest.mark.parametrize(
    "broken",
    [
        b"\xff" * HEADER_SIZE,  # a negative size
        bytes(HEADER_SIZE),
        bytes(HEADER_SIZE - 1),
        batch(7, commit(3))[:-1],  # longer than what is left
        batch(1, commit(3)),  # of an offset that was read before
    ],
)
def test_where_no_batch_begins_reading_stops_with_what_came_before(broken):
    load = GroupLoad()
    with pytest.raises(BrokenFrameError) as caught:
        at_once(load.add(batch(5, commit(1), commit(2, "h")) + broken, 5))
    assert caught.value.offset == 7
    groups = dict(at_once(load.groups()))
    assert (offset_of(groups), offset_of(groups, "h"), load.damaged) == (1, 2, [])


def test_a_size_that_is_wrong_leads_to_no_other_batch():
    first, second = bytearray(batch(5, commit(1))), batch(6, commit(2))
    first[11] -= 7
    with pytest.raises(BrokenFrameError) as caught:
        at_once(GroupLoad().add(bytes(first) + second, 5))
    assert caught.value.offset == 5

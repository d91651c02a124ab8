from __future__ import annotations

import datetime as dt
import random

import pytest
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from barnabas.broker.wire.guard import MAX_ELEMENTS, HostileFrameError, guard
from barnabas.broker.wire.pieces import ELEMENTS_PER_STEP, read_in_pieces
from barnabas.broker.wire.schemas import REQUEST, load_schema

METADATA_8 = load_schema(3, 8, REQUEST)
DELETE_RECORDS_2 = load_schema(21, 2, REQUEST)
NO_TIME = dt.timedelta(0)
FETCH_12 = load_schema(1, 12, REQUEST)


def drive(entity, data, start=0):
    """What comes of it, and in how many steps."""
    steps, count = read_in_pieces(entity, memoryview(bytes(data)), start), 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def at_once(entity, data):
    accepted, start = guard(entity, memoryview(bytes(data)), 0)
    return entity_reader(entity)(accepted, start)[0]


def test_every_request_of_every_class_is_read_as_kio_reads_it(
    all_request_classes, random_request, encode_entity
):
    rng = random.Random(3)
    for entity in all_request_classes:
        for _ in range(4):
            request = random_request(rng, entity)
            data = encode_entity(request)
            assert drive(entity, b"before" + data + b"left over", 6)[0] == request


def outcome(read, entity, data):
    try:
        return read(entity, data)
    except HostileFrameError:
        return HostileFrameError
    except (ValueError, KeyError, RuntimeError, OverflowError, SerialError):  # what kio's readers meet
        return ValueError


def test_mutated_requests_are_read_or_refused_as_at_once(all_request_classes, random_request, encode_entity):
    rng = random.Random(4)
    classes = list(all_request_classes)
    read = 0
    for _ in range(3_000):
        entity = rng.choice(classes)
        data = bytearray(encode_entity(random_request(rng, entity)))
        for _ in range(rng.randint(1, 3)):
            if data:
                data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        whole = outcome(at_once, entity, data)
        pieces = outcome(lambda entity, data: drive(entity, data)[0], entity, data)
        if isinstance(whole, type):
            assert isinstance(pieces, type), (entity, bytes(data))
        else:
            read += 1
            assert pieces == whole, (entity, bytes(data))
    assert read > 300


def delete_records(count):
    module = __import__(DELETE_RECORDS_2.__module__, fromlist=["DeleteRecordsTopic"])
    partitions = tuple(module.DeleteRecordsPartition(partition_index=n, offset=n) for n in range(count))
    return module.DeleteRecordsRequest(
        topics=(module.DeleteRecordsTopic(name="t", partitions=partitions),), timeout=NO_TIME
    )


@pytest.mark.parametrize("count", [1, ELEMENTS_PER_STEP - 2, 10 * ELEMENTS_PER_STEP])
def test_there_is_a_step_for_each_piece_and_one_for_what_is_small(encode_entity, count):
    data = encode_entity(delete_records(count))
    request, steps = drive(DELETE_RECORDS_2, data)
    assert request == at_once(DELETE_RECORDS_2, data)
    assert steps == 1 + (count + 1) // ELEMENTS_PER_STEP


def test_more_elements_than_a_frame_may_hold_are_refused_before_any_is_read():
    data = b"\0" + (MAX_ELEMENTS + 1).to_bytes(3, "big") + bytes(2 * (MAX_ELEMENTS + 1))
    with pytest.raises(HostileFrameError, match="elements"):
        next(read_in_pieces(METADATA_8, memoryview(data), 0))


def test_a_known_tag_beside_unknown_ones_is_kept(encode_entity):
    request = FETCH_12(
        cluster_id="here", max_wait=NO_TIME, min_bytes=1, topics=(), forgotten_topics_data=(), rack_id=""
    )
    data = encode_entity(request)
    known = b"\x00\x05\x05here"
    assert data.count(b"\x01" + known) == 1
    tags = b"\x03" + known + b"\x07\x02ab" + b"\x08\x00"
    assert drive(FETCH_12, data.replace(b"\x01" + known, tags))[0] == request


def test_tagged_fields_count_as_elements_of_a_step(encode_entity):
    topic = encode_entity(DELETE_RECORDS_2(topics=(), timeout=NO_TIME))
    assert topic.endswith(b"\x00")
    two_bytes = bytes([ELEMENTS_PER_STEP & 0x7F | 0x80, ELEMENTS_PER_STEP >> 7])
    many = topic[:-1] + two_bytes + b"\x63\x00" * ELEMENTS_PER_STEP
    assert drive(DELETE_RECORDS_2, many)[1] == drive(DELETE_RECORDS_2, topic)[1] + 1

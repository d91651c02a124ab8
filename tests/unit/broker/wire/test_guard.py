from __future__ import annotations

import contextlib
import random
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1 import RequestHeader as HeaderV1
from kio.schema.request_header.v2 import RequestHeader as HeaderV2
from kio.serial import entity_reader

from barnabas.broker.wire import guard as guard_module
from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.frames import UnreadableFrameError, decode
from barnabas.broker.wire.guard import HostileFrameError, guard
from barnabas.broker.wire.schemas import REQUEST, load_schema

METADATA_9 = load_schema(3, 9, REQUEST)
METADATA_8 = load_schema(3, 8, REQUEST)
PRODUCE_9 = load_schema(0, 9, REQUEST)
FETCH_12 = load_schema(1, 12, REQUEST)


def walk(entity, data, start=0):
    return guard(entity, memoryview(data), start)


def test_every_request_of_every_class_is_accepted_unchanged(
    all_request_classes, random_request, encode_entity
):
    rng = random.Random(1)
    for entity in all_request_classes:
        for _ in range(4):
            request = random_request(rng, entity)
            data = memoryview(encode_entity(request) + b"left over")
            accepted, start = guard(entity, data, 0)
            assert accepted is data
            assert start == 0
            assert entity_reader(entity)(accepted, start)[0] == request


@pytest.mark.parametrize("header", [HeaderV1, HeaderV2])
@pytest.mark.parametrize("client_id", [None, "", "rdkafka"])
def test_both_request_headers_are_walked(encode_entity, header, client_id):
    entity = header(request_api_key=3, request_api_version=9, correlation_id=5, client_id=client_id)
    data = memoryview(encode_entity(entity))
    assert guard(header, data, 0) == (data, 0)


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def with_unknown_tag(data, tag=99, value=b"whatever"):
    """The same entity with a tagged field; its last byte must be the count of tags, none so far."""
    assert data[-1] == 0
    return data[:-1] + b"\x01" + varint(tag) + varint(len(value)) + value


def test_an_unknown_tagged_field_is_taken_out(all_request_classes, random_request, encode_entity):
    rng = random.Random(2)
    for entity in filter(lambda entity: entity.__flexible__, all_request_classes):
        data = encode_entity(random_request(rng, entity, tags=False))
        accepted, start = walk(entity, with_unknown_tag(data) + b"left over")
        assert (bytes(accepted), start) == (data + b"left over", 0)


def test_a_known_tag_beside_an_unknown_one_is_kept():
    request = FETCH_12(
        cluster_id="here", max_wait=0, min_bytes=1, topics=(), forgotten_topics_data=(), rack_id=""
    )
    fixed = struct.pack(">iiiibii", -1, 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01"
    known, unknown = b"\x00\x05\x05here", b"\x07\x02ab"
    accepted, start = walk(FETCH_12, fixed + b"\x02" + known + unknown)
    assert bytes(accepted) == fixed + b"\x01" + known
    assert entity_reader(FETCH_12)(accepted, start)[0].cluster_id == request.cluster_id


def test_an_entity_behind_a_header_is_walked_in_place():
    data = b"header" + b"\x00\x01\x00\x00" + b"\x01\x09\x00"
    accepted, start = walk(METADATA_9, data, start=6)
    assert bytes(accepted[start:]) == b"\x00\x01\x00\x00\x00"


def test_librdkafkas_all_topics_is_understood():
    # Four zero bytes for a null list, then the flags: true, false, false and no tagged field.
    accepted, start = walk(METADATA_9, b"\x00\x00\x00\x00" + b"\x01\x00\x00\x00")
    body, _ = entity_reader(METADATA_9)(accepted, start)
    assert body.topics is None


@pytest.mark.parametrize(
    ("entity", "data"),
    [
        (METADATA_9, b"\xff\xff\xff\xff\x7f" + b"\x01\x00\x00\x00"),
        (METADATA_9, b"\xff\xff\xff\xff\xff\xff\x00\x00\x00"),
        (METADATA_9, b"\x02\xff\xff\xff\x7f" + b"a" * 8),
        (METADATA_9, b"\x00\x01\x00\x00\xff\xff\xff\xff\x0f"),
        (METADATA_9, b"\x00\x01\x00\x00\x01\x07\xff\xff\xff\x7f"),
        (METADATA_9, b""),
        (METADATA_8, b"\x7f\xff\xff\xff" + b"\x00" * 8),
        (METADATA_8, b"\xff\xff\xff\xfe" + b"\x00" * 8),
        (PRODUCE_9, b"\x00\xff\xff\x00\x00\x00\x01" + b"\x00\x00"),
        (load_schema(0, 8, REQUEST), b"\xff\xff\x00\x01\x00\x00\x00\x01\xff\xff\xff\xff"),
        (METADATA_8, b"\x00\x00\x00\x01\xff\xfe" + b"\x00" * 8),
        (METADATA_8, b"\x00\x00\x00\x01\x7f\xff" + b"\x00" * 8),
        (HeaderV2, struct.pack(">hhih", 3, 9, 1, 32767)),
        (load_schema(0, 8, REQUEST), b"\xff\xff\x00\x01\x00\x00\x00\x01" + b"\x00\x00\x00\x01\x00\x01t"),
        (
            load_schema(0, 8, REQUEST),
            bytes(8) + b"\x00\x00\x00\x01\x00\x01t" + b"\x00\x00\x00\x01" + bytes(4) + b"\xff\xff\xff\xfe",
        ),
    ],
    ids=[
        "a varint's worth of elements",
        "a varint of six bytes",
        "a string beyond the frame",
        "a varint's worth of tags",
        "a tagged field beyond the frame",
        "nothing",
        "2 billion elements",
        "minus two elements",
        "no array where there must be one",
        "no array where there must be one (int32)",
        "a string of minus two",
        "a string beyond the frame (int16)",
        "a client id beyond the frame",
        "an array that is not there",
        "records of minus two bytes",
    ],
)
def test_what_does_not_fit_is_refused(entity, data):
    with pytest.raises(HostileFrameError):
        walk(entity, data)


@pytest.mark.parametrize("size", [32_768, 98_000_000])
def test_a_string_longer_than_kafka_reads_is_refused(size):
    """One of 98 MB cost the broker seconds wherever it was looked at, logged or repeated."""
    some = b"\x02" + varint(size + 1) + bytes(size) + b"\x00" + b"\x01\x00\x00\x00"
    with pytest.raises(
        HostileFrameError, match=f"string length {size} at byte 1; expected 32767 bytes at most"
    ):
        walk(METADATA_9, some)


def test_the_longest_string_that_kafka_reads_is_taken():
    some = b"\x02" + varint(32_768) + b"a" * 32_767 + b"\x00" + b"\x01\x00\x00\x00"
    accepted, start = walk(METADATA_9, some)
    body, _ = entity_reader(METADATA_9)(accepted, start)
    assert [len(topic.name) for topic in body.topics] == [32_767]


def test_a_known_tag_of_another_size_than_said_is_refused():
    fixed = struct.pack(">iiiibii", -1, 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01"
    with pytest.raises(HostileFrameError, match="tagged field 0 of FetchRequest"):
        walk(FETCH_12, fixed + b"\x01\x00\x06\x05here.")


def test_too_many_elements_are_refused_however_large_the_frame(monkeypatch):
    monkeypatch.setattr(guard_module, "MAX_ELEMENTS", 10)
    names = b"\x02a\x00" * 11
    with pytest.raises(HostileFrameError, match="11 elements"):
        walk(METADATA_9, varint(12) + names + b"\x01\x00\x00\x00")


def test_unknown_tagged_fields_count_as_elements(monkeypatch):
    monkeypatch.setattr(guard_module, "MAX_ELEMENTS", 10)
    some = b"\x01\x01\x00\x00"
    walk(METADATA_9, some + varint(10) + b"\x63\x00" * 10)
    with pytest.raises(
        HostileFrameError, match=r"the tagged fields of MetadataRequest brings .* 11 elements"
    ):
        walk(METADATA_9, some + varint(11) + b"\x63\x00" * 11)


def test_more_tagged_fields_than_any_struct_has_are_refused():
    few, many = (b"\x01\x01\x00\x00" + varint(n) + b"\x63\x00" * n for n in (1_000, 1_001))
    walk(METADATA_9, few)
    with pytest.raises(
        HostileFrameError, match="MetadataRequest announces 1001 tagged fields; expected 1000"
    ):
        walk(METADATA_9, many)


def test_unknown_tagged_fields_take_no_memory():
    value = b"\x63" + varint(10_000) + bytes(10_000)
    data = b"\x01\x01\x00\x00" + varint(1_000) + value * 1_000
    tracemalloc.start()
    accepted, start = walk(METADATA_9, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (bytes(accepted), start) == (b"\x01\x01\x00\x00\x00", 0)
    assert peak < 100_000


def test_unknown_tagged_fields_on_both_sides_of_a_known_one_are_taken_out():
    fixed = struct.pack(">iiiibii", -1, 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01"
    known, unknown = b"\x00\x05\x05here", b"\x07\x02ab"
    accepted, start = walk(FETCH_12, fixed + b"\x05" + unknown * 2 + known + unknown * 2)
    assert bytes(accepted[start:]) == fixed + b"\x01" + known


def test_a_walk_over_a_megabyte_of_records_copies_nothing():
    partition = b"\x00\x00\x00\x00" + varint(1_000_001) + bytes(1_000_000) + b"\x00"
    data = memoryview(b"\x00\xff\xff\x00\x00\x75\x30\x02\x02t\x02" + partition + b"\x00\x00")
    tracemalloc.start()
    accepted, _ = guard(PRODUCE_9, data, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert accepted is data
    assert peak < 100_000


@given(st.binary(max_size=200), st.sampled_from([METADATA_9, METADATA_8, PRODUCE_9, FETCH_12]))
def test_random_bytes_are_refused_or_decoded_but_never_worse(data, entity):
    try:
        accepted, start = walk(entity, data)
    except HostileFrameError:
        return
    with contextlib.suppress(ValueError, RuntimeError, OverflowError):
        entity_reader(entity)(accepted, start)


def mutated(rng, frame):
    changed = bytearray(frame)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(8, len(changed) + 1)
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1:
                changed[at:at] = rng.randbytes(rng.randint(1, 5))
            case 2:
                del changed[at : at + rng.randint(1, 5)]
            case 3:
                changed[at : at + 5] = rng.choice((b"\xff\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\xff" * 5))
    return bytes(changed)


def test_mutated_requests_of_every_served_version_do_not_abort_the_process(random_request, frame_of):
    rng = random.Random(3)
    refused = 0
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            for _ in range(10):
                frame = frame_of(random_request(rng, load_schema(api.key, version, REQUEST)))
                for _ in range(25):
                    try:
                        decode(memoryview(mutated(rng, frame)), "PLAINTEXT")
                    except UnreadableFrameError:
                        refused += 1
    assert refused > 1000

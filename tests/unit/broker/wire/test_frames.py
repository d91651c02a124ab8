from __future__ import annotations

import datetime as dt
import random
import struct

import pytest
from kio.serial import entity_reader

from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import (
    BY_REFERENCE_BYTES,
    NO_THROTTLE,
    Prefix,
    Request,
    UnreadableFrameError,
    decode,
    decode_in_pieces,
    encode,
    encode_in_pieces,
    milliseconds,
    read_prefix,
    shape,
)
from barnabas.broker.wire.schemas import REQUEST, RESPONSE, load_schema
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal


def test_every_served_version_is_decoded(random_request, frame_of):
    rng = random.Random(1)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            body = random_request(rng, load_schema(api.key, version, REQUEST))
            request = decode(memoryview(frame_of(body, "me", 17)), "PLAINTEXT")
            assert request == Request(api, version, 17, "me", "PLAINTEXT", body)


def test_a_decoded_request_outlives_its_buffer(frame_of):
    produce = load_schema(0, 9, REQUEST)
    topics = load_topic(produce, records=b"r" * 100)
    body = produce(transactional_id=None, acks=-1, timeout=dt.timedelta(seconds=1), topic_data=topics)
    buffer = bytearray(frame_of(body))
    request = decode(memoryview(buffer).toreadonly(), "PLAINTEXT")
    buffer[:] = bytes(len(buffer))
    assert request.body == body


def load_topic(produce, records):
    module = __import__(produce.__module__, fromlist=["TopicProduceData"])
    partition = module.PartitionProduceData(index=3, records=records)
    return (module.TopicProduceData(name="orders", partition_data=(partition,)),)


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">hhi", 3, 9, 1),
        struct.pack(">hhih", 3, 9, 1, -1) + b"\x00" + b"\xff\xff\xff\xff\x7f",
        struct.pack(">hhih", 3, 9, 1, -1) + b"\x00" + b"\x00\x02\x00\x00\x00",
        struct.pack(">hhih", 3, 9, 1, 1) + b"\xff" + b"\x00\x00\x01\x00\x00\x00",
    ],
    ids=["no client id", "a hostile count", "a flag that is neither true nor false", "no UTF-8"],
)
def test_a_frame_that_is_no_request_is_unreadable(frame):
    with pytest.raises(UnreadableFrameError, match="METADATA 9"):
        decode(memoryview(frame), "PLAINTEXT")


def test_the_prefix_is_read_from_any_place():
    frame = struct.pack(">hhi", 18, 4, 99)
    assert read_prefix(frame) == Prefix(18, 4, 99)
    assert read_prefix(b"...." + frame, 4) == Prefix(18, 4, 99)
    with pytest.raises(UnreadableFrameError, match="frame of 7 bytes; expected 8"):
        read_prefix(frame[:7])


def fetch_answer(records):
    request = Request(APIS[ApiKey.FETCH], 12, 7, None, "PLAINTEXT", None)
    partition = request.answer(
        "PartitionData",
        partition_index=0,
        error_code=ErrorCode.NONE,
        high_watermark=10,
        last_stable_offset=10,
        log_start_offset=0,
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=records,
    )
    topic = request.answer("FetchableTopicResponse", topic="orders", partitions=(partition,))
    return request.answer(
        "FetchResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        session_id=0,
        responses=(topic,),
    )


def whole(chunks):
    return b"".join(bytes(chunk) for chunk in chunks)


def read_answer(schema, data):
    size, correlation_id = struct.unpack_from(">ii", data)
    assert size == len(data) - 4
    header, used = entity_reader(schema.__header_schema__)(data, 4)
    body, used_by_body = entity_reader(schema)(data, 4 + used)
    assert 4 + used + used_by_body == len(data)
    assert header.correlation_id == correlation_id
    return correlation_id, body


@pytest.mark.parametrize("size", [0, 1, BY_REFERENCE_BYTES - 1, BY_REFERENCE_BYTES, 1_000_000])
def test_an_answer_is_a_frame_that_kio_reads_back(size):
    body = fetch_answer(bytes(size))
    correlation_id, read = read_answer(load_schema(1, 12, RESPONSE), whole(encode(7, body)))
    assert correlation_id == 7
    assert read.responses[0].partitions[0].records == bytes(size)


def test_long_records_are_handed_on_without_a_copy():
    records = memoryview(bytes(1_000_000))
    assert any(chunk is records for chunk in encode(7, fetch_answer(records)))


def test_api_versions_answers_keep_header_0_in_every_version():
    body = shape(ApiKey.API_VERSIONS, 3, "ApiVersionsResponse")(
        {"error_code": ErrorCode.NONE, "api_keys": (), "throttle_time": NO_THROTTLE}
    )
    # size, correlation id, then the body at once: error, empty compact list, throttle time, no tagged field
    assert whole(encode(5, body)) == struct.pack(">iihBiB", 12, 5, 0, 1, 0, 0)


def test_fields_that_a_version_does_not_have_are_left_out():
    values = {"index": 1, "error_code": ErrorCode.NONE, "base_offset": 5, "log_append_time": None}
    newer = {"log_start_offset": 2, "record_errors": (), "error_message": "no"}
    old = shape(ApiKey.PRODUCE, 3, "PartitionProduceResponse")(values | newer)
    new = shape(ApiKey.PRODUCE, 9, "PartitionProduceResponse")(values | newer)
    assert old == shape(ApiKey.PRODUCE, 3, "PartitionProduceResponse")(values)
    assert new.error_message == "no"


@pytest.mark.parametrize("ms", [-1, 0, 1, 999, 30_000, 2**31 - 1])
def test_milliseconds_are_whole(ms):
    assert milliseconds(dt.timedelta(milliseconds=ms)) == ms


def run(steps):
    """What comes of work in steps, and after how many."""
    count = 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def test_every_served_version_is_decoded_in_pieces(random_request, frame_of):
    rng = random.Random(5)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            body = random_request(rng, load_schema(api.key, version, REQUEST))
            frame = memoryview(frame_of(body, "me", 17))
            request, _ = run(decode_in_pieces(frame, "PLAINTEXT"))
            assert request == Request(api, version, 17, "me", "PLAINTEXT", body)


def test_what_is_no_request_is_none_in_pieces_either():
    frame = struct.pack(">hhih", 3, 9, 1, -1) + b"\x00" + b"\xff\xff\xff\xff\x7f"
    with pytest.raises(UnreadableFrameError, match="METADATA 9"):
        run(decode_in_pieces(memoryview(frame), "PLAINTEXT"))


def test_every_served_answer_is_encoded_in_pieces_as_at_once(random_request):
    rng = random.Random(6)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            body = random_request(rng, load_schema(api.key, version, RESPONSE))
            chunks, _ = run(encode_in_pieces(17, body))
            assert b"".join(chunks) == b"".join(encode(17, body))


def test_long_fields_stay_by_reference_between_the_pieces():
    module = __import__(load_schema(1, 11, RESPONSE).__module__, fromlist=["PartitionData"])
    records = bytes(BY_REFERENCE_BYTES)
    partitions = tuple(
        module.PartitionData(
            partition_index=n,
            error_code=ErrorCode.NONE,
            high_watermark=0,
            aborted_transactions=None,
            records=records if n % 100 == 0 else b"",
        )
        for n in range(1000)
    )
    topic = module.FetchableTopicResponse(topic="t", partitions=partitions)
    body = module.FetchResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode.NONE, session_id=0, responses=(topic,)
    )
    chunks, steps = run(encode_in_pieces(17, body))
    assert b"".join(chunks) == b"".join(encode(17, body))
    assert sum(chunk is records for chunk in chunks) == 10
    assert steps > 4
    assert len(chunks) <= 30


def test_a_request_carries_the_address_and_the_identity_of_its_sender(frame_of):
    frame = memoryview(frame_of(load_schema(ApiKey.LIST_GROUPS, 4, REQUEST)(states_filter=()), "me", 17))
    alice = KafkaPrincipal("User", "alice")
    for request in (
        decode(frame, "PLAINTEXT", "10.0.0.1", alice),
        run(decode_in_pieces(frame, "PLAINTEXT", "10.0.0.1", alice))[0],
    ):
        assert (request.client_host, request.principal) == ("10.0.0.1", alice)
    assert decode(frame, "PLAINTEXT").principal == ANONYMOUS

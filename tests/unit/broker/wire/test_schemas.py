"""Old versions, byte by byte as the messages of release 2.8 lay them out."""

from __future__ import annotations

import datetime as dt

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader

from barnabas.broker.wire.schemas import (
    OLD_VERSIONS,
    REQUEST,
    RESPONSE,
    load_payload_module,
    load_schema,
)

SECOND = dt.timedelta(seconds=1)
T = b"\x00\x01t"


def i16(value):
    return value.to_bytes(2, signed=True)


def i32(value):
    return value.to_bytes(4, signed=True)


def i64(value):
    return value.to_bytes(8, signed=True)


ONE = i32(1)


def request(key, version, *entities):
    """Nested classes by name with their fields, the innermost first; each is the only element of the next."""
    return message(load_payload_module(key, version, REQUEST), entities)


def response(key, version, *entities):
    return message(load_payload_module(key, version, RESPONSE), entities)


def message(module, entities):
    inner = None
    for name, array, values in entities:
        inner = getattr(module, name)(**values, **({} if array is None else {array: (inner,)}))
    return inner


NONE = ErrorCode.none
MESSAGES = {
    "ListOffsets 0": (
        request(
            2,
            0,
            ("ListOffsetsPartition", None, {"partition_index": 3, "timestamp": -1, "max_num_offsets": 9}),
            ("ListOffsetsTopic", "partitions", {"name": "t"}),
            ("ListOffsetsRequest", "topics", {"replica_id": -1}),
        ),
        i32(-1) + ONE + T + ONE + i32(3) + i64(-1) + i32(9),
    ),
    "ListOffsets 0, answer": (
        response(
            2,
            0,
            (
                "ListOffsetsPartitionResponse",
                None,
                {"partition_index": 3, "error_code": NONE, "old_style_offsets": (7, 0)},
            ),
            ("ListOffsetsTopicResponse", "partitions", {"name": "t"}),
            ("ListOffsetsResponse", "topics", {}),
        ),
        ONE + T + ONE + i32(3) + i16(0) + i32(2) + i64(7) + i64(0),
    ),
    "CreateTopics 0": (
        request(
            19,
            0,
            (
                "CreatableTopic",
                None,
                {"name": "t", "num_partitions": 2, "replication_factor": 1, "assignments": (), "configs": ()},
            ),
            ("CreateTopicsRequest", "topics", {"timeout": SECOND}),
        ),
        ONE + T + i32(2) + i16(1) + i32(0) + i32(0) + i32(1000),
    ),
    "CreateTopics 0, answer": (
        response(
            19,
            0,
            ("CreatableTopicResult", None, {"name": "t", "error_code": ErrorCode.topic_already_exists}),
            ("CreateTopicsResponse", "topics", {}),
        ),
        ONE + T + i16(36),
    ),
    "CreateTopics 1, answer": (
        response(
            19,
            1,
            ("CreatableTopicResult", None, {"name": "t", "error_code": NONE, "error_message": None}),
            ("CreateTopicsResponse", "topics", {}),
        ),
        ONE + T + i16(0) + i16(-1),
    ),
    "DeleteTopics 0, answer": (
        response(
            20,
            0,
            ("DeletableTopicResult", None, {"name": "t", "error_code": NONE}),
            ("DeleteTopicsResponse", "responses", {}),
        ),
        ONE + T + i16(0),
    ),
    "OffsetForLeaderEpoch 0": (
        request(
            23,
            0,
            ("OffsetForLeaderPartition", None, {"partition": 3, "leader_epoch": 5}),
            ("OffsetForLeaderTopic", "partitions", {"topic": "t"}),
            ("OffsetForLeaderEpochRequest", "topics", {}),
        ),
        ONE + T + ONE + i32(3) + i32(5),
    ),
    "OffsetForLeaderEpoch 0, answer": (
        response(
            23,
            0,
            ("EpochEndOffset", None, {"error_code": NONE, "partition": 3, "end_offset": 8}),
            ("OffsetForLeaderTopicResult", "partitions", {"topic": "t"}),
            ("OffsetForLeaderEpochResponse", "topics", {}),
        ),
        ONE + T + ONE + i16(0) + i32(3) + i64(8),
    ),
    "OffsetForLeaderEpoch 1, answer": (
        response(
            23,
            1,
            (
                "EpochEndOffset",
                None,
                {"error_code": NONE, "partition": 3, "leader_epoch": 5, "end_offset": 8},
            ),
            ("OffsetForLeaderTopicResult", "partitions", {"topic": "t"}),
            ("OffsetForLeaderEpochResponse", "topics", {}),
        ),
        ONE + T + ONE + i16(0) + i32(3) + i32(5) + i64(8),
    ),
    "OffsetCommit 0": (
        request(
            8,
            0,
            (
                "OffsetCommitRequestPartition",
                None,
                {"partition_index": 3, "committed_offset": 5, "committed_metadata": "t"},
            ),
            ("OffsetCommitRequestTopic", "partitions", {"name": "t"}),
            ("OffsetCommitRequest", "topics", {"group_id": "t"}),
        ),
        T + ONE + T + ONE + i32(3) + i64(5) + T,
    ),
    "OffsetFetch 0, answer": (
        response(
            9,
            0,
            (
                "OffsetFetchResponsePartition",
                None,
                {"partition_index": 3, "committed_offset": 5, "metadata": "t", "error_code": NONE},
            ),
            ("OffsetFetchResponseTopic", "partitions", {"name": "t"}),
            ("OffsetFetchResponse", "topics", {}),
        ),
        ONE + T + ONE + i32(3) + i64(5) + T + i16(0),
    ),
    "DescribeConfigs 0": (
        request(
            32,
            0,
            (
                "DescribeConfigsResource",
                None,
                {"resource_type": 2, "resource_name": "t", "configuration_keys": None},
            ),
            ("DescribeConfigsRequest", "resources", {}),
        ),
        ONE + b"\x02" + T + i32(-1),
    ),
    "DescribeConfigs 0, answer": (
        response(
            32,
            0,
            (
                "DescribeConfigsResourceResult",
                None,
                {"name": "t", "value": None, "read_only": False, "is_default": True, "is_sensitive": False},
            ),
            (
                "DescribeConfigsResult",
                "configs",
                {"error_code": NONE, "error_message": None, "resource_type": 2, "resource_name": "t"},
            ),
            ("DescribeConfigsResponse", "results", {"throttle_time": SECOND}),
        ),
        i32(1000) + ONE + i16(0) + i16(-1) + b"\x02" + T + ONE + T + i16(-1) + b"\x00\x01\x00",
    ),
}


@pytest.mark.parametrize(("entity", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_an_old_version_is_laid_out_as_in_release_2_8(encode_entity, entity, expected):
    assert encode_entity(entity) == expected
    assert entity_reader(type(entity))(memoryview(expected), 0) == (entity, len(expected))


def test_the_classes_of_an_old_version_bear_its_number():
    for key, version, direction in OLD_VERSIONS:
        payload = load_schema(key, version, direction)
        assert (payload.__api_key__, payload.__version__, payload.__type__) == (key, version, direction)

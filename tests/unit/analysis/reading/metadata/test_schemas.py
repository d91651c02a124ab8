"""Records are decoded by their public schemas, and those that are not read are skipped."""

from __future__ import annotations

import struct

import pytest

from barnabas.analysis.reading.metadata.schemas import Cursor, MetadataError, decode
from tests.unit.analysis.reading.metadata.conftest import (
    ID_BYTES,
    TOPIC,
    TOPIC_ID,
    change,
    int32s,
    number,
    partition,
    register,
    text,
    value,
    varint,
    zigzag,
)


def test_fields_are_read_in_their_order() -> None:
    assert decode(TOPIC) == ("TopicRecord", {"name": "a-b", "topicId": TOPIC_ID})
    assert decode(partition(2, 2, 3, epoch=7)) == (
        "PartitionRecord",
        {
            "partitionId": 0, "topicId": TOPIC_ID, "replicas": [1, 2, 3], "isr": [2, 3],
            "removingReplicas": [], "addingReplicas": [], "leader": 2, "leaderEpoch": 7, "partitionEpoch": 7,
        },
    )  # fmt: skip


def test_structs_and_missing_texts_are_read() -> None:
    end_point = b"\2" + text("X") + text("h") + struct.pack(">Hh", 65000, 1) + b"\0"
    feature = b"\2" + text("f") + struct.pack(">hh", 1, 2) + b"\0"
    body = number(1) + ID_BYTES + struct.pack(">q", 9) + end_point + feature + b"\0" + b"\1"
    found = decode(value(0, 0, body))
    assert found is not None
    assert found[1]["endPoints"] == [{"name": "X", "host": "h", "port": 65000, "securityProtocol": 1}]
    assert (found[1]["rack"], found[1]["fenced"]) == (None, True)
    assert "inControlledShutdown" not in found[1]


def test_a_tag_that_is_absent_or_unknown_is_no_field() -> None:
    found = decode(change(t1=number(-1), t99=b"xyz"))
    assert found == ("PartitionChangeRecord", {"partitionId": 0, "topicId": TOPIC_ID, "leader": -1})
    found = decode(change(t0=int32s(2, 1), t8=b"\0"))
    assert found is not None
    # Directories came with version 1.
    assert found[1] == {"partitionId": 0, "topicId": TOPIC_ID, "isr": [2, 1]}


def test_a_field_of_a_later_version_is_read_in_it() -> None:
    found = decode(register(1, 5, is_leaving=True))
    assert found is not None
    assert (found[1]["inControlledShutdown"], found[1]["logDirs"]) == (True, [TOPIC_ID])


def test_other_records_are_skipped() -> None:
    assert decode(value(11, 0, b"secret")) is None


@pytest.mark.parametrize("data", [b"", b"\0\2\0", b"\1\2\0\5ab", b"\xff" * 12, b"\1\2\0\xff\xff\xff\xff\x0f"])
def test_damage_is_an_error(data: bytes) -> None:
    with pytest.raises(MetadataError):
        decode(data)


@pytest.mark.parametrize("each", [0, 1, -1, 63, -64, 64, 2**31, -(2**40)])
def test_numbers_of_variable_length(each: int) -> None:
    assert Cursor(zigzag(each)).zigzag() == each
    assert Cursor(varint(abs(each))).varint() == abs(each)

"""What kafka-console-consumer.sh prints of commits and groups."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.records import (
    OffsetAndMetadata,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from barnabas.broker.core.group.stored import StoredGroup, StoredMember
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.dump.offsets_format import GroupsFormat, OffsetsFormat
from barnabas.tools.formats.record_format import Record

COMMIT = encode_offset_key("g", TopicPartition("t", 3))
GROUP = encode_group_key("g")


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(7, 12, "CreateTime", 0, key, value)


@pytest.mark.parametrize(
    ("committed", "shown"),
    [
        (
            OffsetAndMetadata(Offset(5), -1, "", 1000),
            "leaderEpoch=Optional.empty, metadata=, commitTimestamp=1000, expireTimestamp=None)",
        ),
        (
            OffsetAndMetadata(Offset(5), 2, "noté", 1000),
            "leaderEpoch=Optional[2], metadata=noté, commitTimestamp=1000, expireTimestamp=None)",
        ),
        (
            OffsetAndMetadata(Offset(5), -1, "", 1000, 2000),
            "leaderEpoch=Optional.empty, metadata=, commitTimestamp=1000, expireTimestamp=Some(2000))",
        ),
    ],
)
def test_commits(committed: OffsetAndMetadata, shown: str) -> None:
    text = OffsetsFormat().text_of(record(COMMIT, encode_offset_value(committed))).decode()
    assert text == f"[g,t,3]::OffsetAndMetadata(offset=5, {shown}\n"


def test_groups() -> None:
    members = tuple(
        StoredMember(f"{name}-1", instance, name, "/127.0.0.1", 300, 10, b"", b"")
        for name, instance in (("c", None), ("d", "one"))
    )
    value = encode_group_value(StoredGroup("consumer", 4, "range", "c-1", 9, members))
    assert GroupsFormat().text_of(record(GROUP, value)).decode() == (
        "g::GroupMetadata(groupId=g, generation=4, protocolType=Some(consumer), currentState=Stable, "
        "members=HashMap(c-1 -> MemberMetadata(memberId=c-1, groupInstanceId=None, clientId=c, "
        "clientHost=/127.0.0.1, sessionTimeoutMs=10, rebalanceTimeoutMs=300, supportedProtocols=List(range), "
        "), d-1 -> MemberMetadata(memberId=d-1, groupInstanceId=Some(one), clientId=d, "
        "clientHost=/127.0.0.1, sessionTimeoutMs=10, rebalanceTimeoutMs=300, "
        "supportedProtocols=List(range), )))\n"
    )
    empty = encode_group_value(StoredGroup("", 0, None, None, None, ()))
    assert GroupsFormat().text_of(record(GROUP, empty)).decode() == (
        "g::GroupMetadata(groupId=g, generation=0, protocolType=None, currentState=Empty, "
        "members=HashMap())\n"
    )


def test_tombstones_and_records_of_the_other_kind() -> None:
    assert OffsetsFormat().text_of(record(COMMIT, None)) == b"[g,t,3]::NULL\n"
    assert GroupsFormat().text_of(record(GROUP, None)) == b"g::NULL\n"
    assert OffsetsFormat().text_of(record(GROUP, None)) == b""
    assert GroupsFormat().text_of(record(COMMIT, None)) == b""
    for form in (OffsetsFormat(), GroupsFormat()):
        assert form.text_of(record(None, b"v")) == b""


def test_damaged_records_are_named() -> None:
    for form, key in ((OffsetsFormat(), COMMIT), (GroupsFormat(), GROUP)):
        with pytest.raises(ToolError, match="has version 99, expected 0 to 4, at offset 12 of 7"):
            form.text_of(record(key, b"\0\x63"))

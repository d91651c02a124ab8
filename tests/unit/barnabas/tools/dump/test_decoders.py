"""What kafka-dump-log.sh prints of keys and values."""

from __future__ import annotations

from struct import Struct

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
from barnabas.tools.dump.batches import Record
from barnabas.tools.dump.decoders import STRING_DECODER, by_classes, offsets_decoder

T0 = TopicPartition("t", 0)


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(4, -1, -1, key, value, ())


def test_text_and_numbers() -> None:
    decode = by_classes(STRING_DECODER, "kafka.serializer.LongDecoder")
    assert decode(record("ké".encode() + b"\xff", Struct(">q").pack(-5))) == (
        "ké\N{REPLACEMENT CHARACTER}",
        "-5",
    )
    assert decode(record(None, None)) == (None, None)
    with pytest.raises(ToolError, match="expected 8 bytes, found 1"):
        decode(record(b"k", b"v"))


def test_other_classes_are_refused() -> None:
    with pytest.raises(ToolError, match=r"^my\.Decoder; expected one of kafka\.serializer\.StringDecoder, "):
        by_classes("my.Decoder", STRING_DECODER)


def test_commits() -> None:
    key = encode_offset_key("g", T0)
    text = "offset_commit::group=g,partition=t-0"
    plain = encode_offset_value(OffsetAndMetadata(Offset(5), -1, "", 0))
    noted = encode_offset_value(OffsetAndMetadata(Offset(5), -1, "m", 0))
    assert offsets_decoder(record(key, plain)) == (text, "offset=5")
    assert offsets_decoder(record(key, noted)) == (text, "offset=5,metadata=m")
    assert offsets_decoder(record(key, None)) == (text, "<DELETE>")


def assignment(user_data: bytes | None) -> bytes:
    topic = Struct(">h1si2i").pack(1, b"t", 2, 0, 1)
    size = -1 if user_data is None else len(user_data)
    return Struct(">hi").pack(0, 1) + topic + Struct(">i").pack(size) + (user_data or b"")


@pytest.mark.parametrize(
    ("protocol_type", "assigned", "shown"),
    [
        ("consumer", assignment(None), "c-1=[t-0, t-1]"),
        ("consumer", assignment(b"\x0a\xff"), "c-1=[t-0, t-1]:AFF"),
        ("connect", b"\x00\x01\x02", "c-1=102"),
        ("connect", b"", "c-1="),
    ],
)
def test_groups(protocol_type: str, assigned: bytes, shown: str) -> None:
    member = StoredMember("c-1", None, "c", "/h", 1, 1, b"", assigned)
    value = encode_group_value(StoredGroup(protocol_type, 1, "range", "c-1", 0, (member,)))
    assert offsets_decoder(record(encode_group_key("g"), value)) == (
        "group_metadata::group=g",
        f'{{"protocolType":"{protocol_type}","protocol":"range","generationId":1,"assignment":"{{{shown}}}"}}',
    )


def test_groups_without_members() -> None:
    value = encode_group_value(StoredGroup("consumer", 2, None, None, 0, ()))
    assert offsets_decoder(record(encode_group_key("g"), value))[1] == (
        '{"protocolType":"consumer","protocol":null,"generationId":2,"assignment":"{}"}'
    )
    assert offsets_decoder(record(encode_group_key("g"), None))[1] == "<DELETE>"


@pytest.mark.parametrize("key", [None, b"", b"\x00\x63", encode_offset_key("g", T0)[:-1]])
def test_what_is_no_record_of_offsets(key: bytes | None) -> None:
    with pytest.raises(ToolError, match="Failed to decode message using offset topic decoder"):
        offsets_decoder(record(key, b""))

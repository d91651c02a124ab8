"""The text of a record; the columns are those of Kafka 2.8.2's console consumer."""

from __future__ import annotations

from struct import Struct

import pytest

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.formats.record_format import Record, record_format

RECORD = Record(0, 5, "CreateTime", 1_600_000_000_000, b"k", b"v", [("h1", b"v1"), ("h2", None)])
ALL = {f"print.{name}": "true" for name in ("timestamp", "partition", "offset", "headers", "key", "value")}
CLASSES = "org.apache.kafka.common.serialization"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({}, b"v\n"),
        (ALL, b"CreateTime:1600000000000\tPartition:0\tOffset:5\th1:v1,h2:null\tk\tv\n"),
        ({"print.key": "true", "key.separator": "=", "line.separator": ";"}, b"k=v;"),
        ({"print.value": "false", "print.offset": " True"}, b"Offset:5\n"),
        ({"print.headers": "true", "headers.separator": "|", "null.literal": "-"}, b"h1:v1|h2:-\tv\n"),
        ({"print.value": "false"}, b""),
    ],
)
def test_columns(properties: dict[str, str], text: bytes) -> None:
    assert record_format(properties).text_of(RECORD) == text


def test_what_is_not_there() -> None:
    bare = Record(0, 5, None, -1, None, None)
    assert (
        record_format(ALL).text_of(bare) == b"NO_TIMESTAMP\tPartition:0\tOffset:5\tNO_HEADERS\tnull\tnull\n"
    )


@pytest.mark.parametrize(
    ("class_", "content", "text"),
    [
        ("StringDeserializer", b"\xff", "\N{REPLACEMENT CHARACTER}"),
        ("ShortDeserializer", Struct(">h").pack(-2), "-2"),
        ("IntegerDeserializer", Struct(">i").pack(70_000), "70000"),
        ("LongDeserializer", Struct(">q").pack(2**40), str(2**40)),
        (
            "UUIDDeserializer",
            b"123E4567-e89b-12d3-a456-426614174000",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
    ],
)
def test_deserializers(class_: str, content: bytes, text: str) -> None:
    form = record_format({"value.deserializer": f"{CLASSES}.{class_}"})
    assert form.text_of(RECORD._replace(value=content)) == text.encode() + b"\n"


@pytest.mark.parametrize(
    ("class_", "complaint"),
    [
        ("LongDeserializer", "Size of data received by LongDeserializer is not 8"),
        ("UUIDDeserializer", "Error parsing data into UUID"),
    ],
)
def test_content_that_does_not_fit(class_: str, complaint: str) -> None:
    form = record_format({"print.key": "true", "key.deserializer": f"{CLASSES}.{class_}"})
    with pytest.raises(ToolError, match=complaint):
        form.text_of(RECORD._replace(key=None))


def test_other_deserializers_are_refused() -> None:
    with pytest.raises(ToolError, match="expected one of"):
        record_format({"headers.deserializer": "my.Deserializer"})

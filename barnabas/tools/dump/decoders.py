"""The texts that ``kafka-dump-log.sh`` prints for a record's key and value.

Sources: ``kafka.serializer.StringDecoder``, ``LongDecoder`` and ``IntegerDecoder``;
``GroupMetadataManager.formatRecordKeyAndValue`` of Kafka 2.8.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import assert_never

from barnabas.broker.core.group.records import (
    DamagedRecordError,
    GroupKey,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from barnabas.broker.core.group.stored import StoredMember
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.dump.batches import Decode, Record
from barnabas.tools.formats.consumer_protocol import BadAssignmentError, decode_assignment

STRING_DECODER = "kafka.serializer.StringDecoder"

_DELETED = "<DELETE>"
_CONSUMER = "consumer"
_INT32 = Struct(">i")
_INT64 = Struct(">q")


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _integer(layout: Struct) -> Callable[[bytes], str]:
    def decode(content: bytes) -> str:
        try:
            return str(layout.unpack_from(content)[0])
        except StructError as error:
            expected = f"expected {layout.size} bytes, found {len(content)}"
            raise ToolError(expected) from error

    return decode


_CLASSES: dict[str, Callable[[bytes], str]] = {
    STRING_DECODER: _text,
    "kafka.serializer.LongDecoder": _integer(_INT64),
    "kafka.serializer.IntegerDecoder": _integer(_INT32),
}


def by_classes(key_class: str, value_class: str) -> Decode:
    """Return the decoder of two of Kafka's decoder classes.

    Raises:
        ToolError: A class is not one of those.
    """
    for name in (key_class, value_class):
        if name not in _CLASSES:
            raise ToolError(f"{name}; expected one of {', '.join(_CLASSES)}")
    of_key, of_value = _CLASSES[key_class], _CLASSES[value_class]

    def decode(record: Record) -> tuple[str | None, str | None]:
        key = None if record.key is None else of_key(record.key)
        return key, None if record.value is None else of_value(record.value)

    return decode


def offsets_decoder(record: Record) -> tuple[str | None, str | None]:
    """Return the texts of a record of ``__consumer_offsets``.

    Raises:
        ToolError: The record has no key, or one of another layout.
    """
    if record.key is None:
        raise _failed("message had a missing key")
    try:
        match decode_key(record.key):
            case OffsetKey(group, partition):
                return f"offset_commit::group={group},partition={partition}", _offset_text(record.value)
            case GroupKey(group):
                return f"group_metadata::group={group}", _group_text(record.value)
            case unknown:
                assert_never(unknown)
    except (DamagedRecordError, BadAssignmentError) as error:
        raise _failed(f"message had an invalid key or value at offset {record.offset}: {error}") from error


def _failed(reason: str) -> ToolError:
    return ToolError(
        f"Failed to decode message using offset topic decoder ({reason})",
    )


def _offset_text(value: bytes | None) -> str:
    if value is None:
        return _DELETED
    committed = decode_offset_value(value)
    return f"offset={committed.offset}" + (f",metadata={committed.metadata}" if committed.metadata else "")


def _group_text(value: bytes | None) -> str:
    if value is None:
        return _DELETED
    group = decode_group_value(value)
    is_consumer = group.protocol_type == _CONSUMER
    members = ",".join(_member_text(member, is_consumer=is_consumer) for member in group.members)
    body = {
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "generationId": group.generation,
        "assignment": f"{{{members}}}",
    }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def _member_text(member: StoredMember, *, is_consumer: bool) -> str:
    if not is_consumer:
        return f"{member.member_id}={_hex(member.assignment)}"
    partitions, user_data = decode_assignment(member.assignment)
    text = f"{member.member_id}=[{', '.join(map(str, partitions))}]"
    return f"{text}:{_hex(user_data)}" if user_data else text


def _hex(content: bytes) -> str:
    """Return bytes as a number in hexadecimal digits, as Scala's ``BigInt`` is printed."""
    return f"{int.from_bytes(content):X}" if content else ""

"""The records of ``__cluster_metadata`` that concern brokers and partitions, as data, and their decoder.

Source: ``metadata/src/main/resources/common/metadata/*.json`` of Kafka 3.3 to 4.0; KIP-482 (flexible versions
and tagged fields), KIP-631 (the records' frame). Records of other kinds (tokens, ACLs, quotas) are skipped
by their length, and some of them hold secrets.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple


class MetadataError(Exception):
    """An error for bytes that are no record of the metadata log."""


class Field(NamedTuple):
    """A field of a record or of a struct in it.

    Attributes:
        name: Its name.
        form: Its type: a name of ``_FIXED``, ``string``, ``uuid``, ``[type]`` or a tuple of the fields of the
            structs in an array.
        since: The first version of the record that has it.
        tag: The tag of a tagged field; None for one that is always there.
    """

    name: str
    form: str | tuple[Field, ...]
    since: int = 0
    tag: int | None = None


_FIXED = {
    name: struct.Struct(code)
    for name, code in (
        ("bool", ">?"), ("int8", ">b"), ("int16", ">h"), ("uint16", ">H"), ("int32", ">i"), ("int64", ">q"),
    )
}  # fmt: skip
_UUID_BYTES = 16
_VARINT_BITS_MAX = 63
_MORE, _SEVEN = 0x80, 0x7F
_FRAME_VERSION = 1

_IDS = "[int32]"
_ENDPOINTS = (
    Field("name", "string"), Field("host", "string"), Field("port", "uint16"),
    Field("securityProtocol", "int16"),
)  # fmt: skip
_FEATURES = (
    Field("name", "string"),
    Field("minSupportedVersion", "int16"),
    Field("maxSupportedVersion", "int16"),
)

SCHEMAS: dict[int, tuple[str, tuple[Field, ...]]] = {
    0: (
        "RegisterBrokerRecord",
        (
            Field("brokerId", "int32"), Field("isMigratingZkBroker", "bool", 2),
            Field("incarnationId", "uuid"),
            Field("brokerEpoch", "int64"), Field("endPoints", _ENDPOINTS), Field("features", _FEATURES),
            Field("rack", "string"), Field("fenced", "bool"), Field("inControlledShutdown", "bool", 1),
            Field("logDirs", "[uuid]", 3, 0),
        ),
    ),
    1: ("UnregisterBrokerRecord", (Field("brokerId", "int32"), Field("brokerEpoch", "int64"))),
    2: ("TopicRecord", (Field("name", "string"), Field("topicId", "uuid"))),
    3: (
        "PartitionRecord",
        (
            Field("partitionId", "int32"), Field("topicId", "uuid"), Field("replicas", _IDS),
            Field("isr", _IDS),
            Field("removingReplicas", _IDS), Field("addingReplicas", _IDS), Field("leader", "int32"),
            Field("leaderEpoch", "int32"), Field("partitionEpoch", "int32"),
            Field("directories", "[uuid]", 1),
            Field("leaderRecoveryState", "int8", 0, 0), Field("eligibleLeaderReplicas", _IDS, 2, 1),
            Field("lastKnownElr", _IDS, 2, 2),
        ),
    ),
    4: (
        "ConfigRecord",
        (
            Field("resourceType", "int8"), Field("resourceName", "string"), Field("name", "string"),
            Field("value", "string"),
        ),
    ),
    5: (
        "PartitionChangeRecord",
        (
            Field("partitionId", "int32"), Field("topicId", "uuid"), Field("isr", _IDS, 0, 0),
            Field("leader", "int32", 0, 1), Field("replicas", _IDS, 0, 2),
            Field("removingReplicas", _IDS, 0, 3),
            Field("addingReplicas", _IDS, 0, 4), Field("leaderRecoveryState", "int8", 0, 5),
            Field("eligibleLeaderReplicas", _IDS, 2, 6), Field("lastKnownElr", _IDS, 2, 7),
            Field("directories", "[uuid]", 1, 8),
        ),
    ),
    7: ("FenceBrokerRecord", (Field("id", "int32"), Field("epoch", "int64"))),
    8: ("UnfenceBrokerRecord", (Field("id", "int32"), Field("epoch", "int64"))),
    9: ("RemoveTopicRecord", (Field("topicId", "uuid"),)),
    17: (
        "BrokerRegistrationChangeRecord",
        (
            Field("brokerId", "int32"), Field("brokerEpoch", "int64"), Field("fenced", "int8", 0, 0),
            Field("inControlledShutdown", "int8", 1, 1), Field("logDirs", "[uuid]", 2, 2),
        ),
    ),
    23: ("BeginTransactionRecord", (Field("name", "string", 0, 0),)),
    24: ("EndTransactionRecord", ()),
    25: ("AbortTransactionRecord", (Field("reason", "string", 0, 0),)),
}  # fmt: skip
"""The name and the fields of each record, by its API key."""


@dataclass(slots=True)
class Cursor:
    """A position in bytes.

    Attributes:
        data: The bytes.
        at: The index of the next byte.
    """

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            MetadataError: There are fewer.
        """
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise MetadataError(f"{size} bytes are needed at {self.at}, and {len(self.data)} are there")
        taken, self.at = self.data[self.at : end], end
        return taken

    def varint(self) -> int:
        """Return an unsigned number of variable length.

        Raises:
            MetadataError: It does not end.
        """
        value = 0
        for shift in range(0, _VARINT_BITS_MAX, 7):
            byte = self.take(1)[0]
            value |= (byte & _SEVEN) << shift
            if not byte & _MORE:
                return value
        raise MetadataError(f"a number at {self.at} does not end")

    def zigzag(self) -> int:
        """Return a signed number of variable length."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def decode(value: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the fields of a record; None for a kind that is skipped.

    A tagged field that is absent, which means its default or no change, is absent in the result, too.

    Raises:
        MetadataError: The bytes are no such record.
    """
    cursor = Cursor(value)
    frame, key, version = cursor.varint(), cursor.varint(), cursor.varint()
    if frame != _FRAME_VERSION:
        raise MetadataError(f"expected records of frame version {_FRAME_VERSION}, not {frame}")
    if key not in SCHEMAS:
        return None
    name, fields = SCHEMAS[key]
    return name, _struct(cursor, fields, version)


def _struct(cursor: Cursor, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
    known = {
        field.name: _value(cursor, field.form, version)
        for field in fields
        if field.tag is None and field.since <= version
    }
    tagged = {field.tag: field for field in fields if field.tag is not None and field.since <= version}
    for _ in range(cursor.varint()):
        tag, size = cursor.varint(), cursor.varint()
        inner = Cursor(cursor.take(size))
        if tag in tagged:
            known[tagged[tag].name] = _value(inner, tagged[tag].form, version)
    return known


def _value(cursor: Cursor, form: str | tuple[Field, ...], version: int) -> Any:
    if isinstance(form, tuple):
        return [_struct(cursor, form, version) for _ in range(cursor.varint() - 1)]
    if form.startswith("["):
        count = cursor.varint() - 1
        return None if count < 0 else [_value(cursor, form[1:-1], version) for _ in range(count)]
    if form == "string":
        size = cursor.varint() - 1
        return None if size < 0 else cursor.take(size).decode(errors="replace")
    if form == "uuid":
        return base64.urlsafe_b64encode(cursor.take(_UUID_BYTES)).decode().rstrip("=")
    fixed = _FIXED[form]
    return fixed.unpack(cursor.take(fixed.size))[0]

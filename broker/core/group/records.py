"""The records of ``__consumer_offsets``: keys and values of committed offsets and of groups.

Layouts: ``OffsetCommitKey.json``, ``OffsetCommitValue.json``, ``GroupMetadataKey.json`` and
``GroupMetadataValue.json`` below ``core/src/main/resources/common/message`` of Kafka 2.8. Which version is
written follows ``GroupMetadataManager.offsetCommitValue`` and ``groupMetadataValue`` for
``inter.broker.protocol.version`` 2.6. Version 4 of both values, which Kafka writes since 3.5 at the earliest,
is read as well, so that a directory of a later release loses no commit (KIP-915).

A null value deletes what its key names.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import NamedTuple, TypeVar

from barnabas.broker.core.group.stored import StoredGroup, StoredMember
from barnabas.cluster.model.ids import Offset, TopicPartition

T = TypeVar("T")

NO_EPOCH = -1
"""The leader epoch of a commit that names none (KIP-320)."""

NO_TIMESTAMP = -1
"""A time that a record of an older version does not have."""

OFFSET_KEY_VERSION = 1
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
"""The only version that holds an expiration time; it has no leader epoch."""

GROUP_KEY_VERSION = 2
GROUP_VALUE_VERSION = 3
FIRST_FLEXIBLE_VERSION = 4
"""The first version whose values have compact lengths and tagged fields (KIP-482)."""

_LAST_VERSION = 4
_OFFSET_EPOCH_SINCE = 3
_STATE_TIMESTAMP_SINCE = 2
_REBALANCE_TIMEOUT_SINCE = 1
_INSTANCE_ID_SINCE = 3

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_TWO_INT64 = Struct(">qq")
_OFFSET_V3_PLAIN = Struct(">hqihq")
"""The fields of a version-3 value without metadata."""

_PLAIN_VERSION = _INT16.pack(OFFSET_VALUE_VERSION)
_NO_METADATA = _INT16.pack(0)
_METADATA_LENGTH_AT = 14

_NULL = -1
_MAX_VARINT_SHIFT = 28


class DamagedRecordError(ValueError):
    """An error for a key or a value that is not of a known version and layout."""


class OffsetKey(NamedTuple):
    """The key of a committed offset."""

    group: str
    topic_partition: TopicPartition


class GroupKey(NamedTuple):
    """The key of a group's metadata."""

    group: str


class OffsetAndMetadata(NamedTuple):
    """The offset that a consumer committed for a partition (``OffsetAndMetadata.scala``).

    Attributes:
        offset: The offset of the next record that the group will read.
        leader_epoch: The leader epoch of the last record that it read, -1 if it is unknown.
        metadata: A text of the consumer's own.
        commit_ms: When it was committed, in milliseconds since 1970.
        expire_ms: When it expires if its client said so (OffsetCommit 2 to 4), else None.
    """

    offset: Offset
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int | None = None


def encode_offset_key(group: str, topic_partition: TopicPartition) -> bytes:
    """Return the key of the offset that ``group`` commits for a partition."""
    topic, partition = topic_partition
    return b"".join((_INT16.pack(OFFSET_KEY_VERSION), _string(group), _string(topic), _INT32.pack(partition)))


def encode_offset_value(committed: OffsetAndMetadata) -> bytes:
    """Return the value of a committed offset: version 3, or 1 where its client set an expiration time."""
    metadata = _string(committed.metadata)
    offset = _INT64.pack(committed.offset)
    if committed.expire_ms is not None:
        times = _TWO_INT64.pack(committed.commit_ms, committed.expire_ms)
        return _INT16.pack(OFFSET_VALUE_VERSION_WITH_EXPIRY) + offset + metadata + times
    head = _INT16.pack(OFFSET_VALUE_VERSION) + offset + _INT32.pack(committed.leader_epoch)
    return head + metadata + _INT64.pack(committed.commit_ms)


def encode_group_key(group: str) -> bytes:
    """Return the key of a group's metadata."""
    return _INT16.pack(GROUP_KEY_VERSION) + _string(group)


def encode_group_value(group: StoredGroup) -> bytes:
    """Return the value of a group's metadata, version 3."""
    state_ms = NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms
    parts = [
        _INT16.pack(GROUP_VALUE_VERSION),
        _string(group.protocol_type),
        _INT32.pack(group.generation),
        _nullable_string(group.protocol),
        _nullable_string(group.leader),
        _INT64.pack(state_ms),
        _INT32.pack(len(group.members)),
    ]
    for member in group.members:
        parts += (
            _string(member.member_id),
            _nullable_string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            _INT32.pack(member.rebalance_timeout_ms),
            _INT32.pack(member.session_timeout_ms),
            _INT32.pack(len(member.subscription)),
            member.subscription,
            _INT32.pack(len(member.assignment)),
            member.assignment,
        )
    return b"".join(parts)


def decode_key(key: bytes | None) -> OffsetKey | GroupKey:
    """Read the key of a record.

    Raises:
        DamagedRecordError: There is no key, its version is unknown, or its layout is wrong.
    """

    def read(fields: _Fields) -> OffsetKey | GroupKey:
        if fields.version <= OFFSET_KEY_VERSION:
            group, topic = fields.string(), fields.string()
            return OffsetKey(group, TopicPartition(topic, fields.number(_INT32)))
        return GroupKey(fields.string())

    return _decoded("key", key, GROUP_KEY_VERSION, read)


def is_plain_offset_value(value: bytes) -> bool:
    """Return whether ``value`` is a version 3 without metadata, as most are, and so is certainly valid."""
    return (
        len(value) == _OFFSET_V3_PLAIN.size
        and value.startswith(_PLAIN_VERSION)
        and value.startswith(_NO_METADATA, _METADATA_LENGTH_AT)
    )


def decode_offset_value(value: bytes) -> OffsetAndMetadata:
    """Read the value of a committed offset, of any version.

    Raises:
        DamagedRecordError: The version is unknown, or the layout is wrong.
    """
    if is_plain_offset_value(value):
        _, offset, epoch, _, commit_ms = _OFFSET_V3_PLAIN.unpack(value)
        # In a third of the time of the constructor, which is a function in Python.
        return tuple.__new__(OffsetAndMetadata, (offset, epoch, "", commit_ms, None))
    return _decoded("offset value", value, _LAST_VERSION, _offset_value)


def decode_group_value(value: bytes) -> StoredGroup:
    """Read the value of a group's metadata, of any version.

    Raises:
        DamagedRecordError: The version is unknown, or the layout is wrong.
    """
    return _decoded("group value", value, _LAST_VERSION, _group_value)


def _offset_value(fields: _Fields) -> OffsetAndMetadata:
    offset = Offset(fields.number(_INT64))
    epoch = fields.number(_INT32) if fields.version >= _OFFSET_EPOCH_SINCE else NO_EPOCH
    metadata, commit_ms, expire_ms = fields.string(), fields.number(_INT64), NO_TIMESTAMP
    if fields.version == OFFSET_VALUE_VERSION_WITH_EXPIRY:
        expire_ms = fields.number(_INT64)
    fields.skip_tags()
    return OffsetAndMetadata(
        offset, epoch, metadata, commit_ms, None if expire_ms == NO_TIMESTAMP else expire_ms
    )


def _group_value(fields: _Fields) -> StoredGroup:
    protocol_type, generation = fields.string(), fields.number(_INT32)
    protocol, leader = fields.nullable_string(), fields.nullable_string()
    state_ms = fields.number(_INT64) if fields.version >= _STATE_TIMESTAMP_SINCE else NO_TIMESTAMP
    members = tuple(_member(fields) for _ in range(fields.count()))
    fields.skip_tags()
    return StoredGroup(
        protocol_type, generation, protocol, leader, None if state_ms == NO_TIMESTAMP else state_ms, members
    )


def _member(fields: _Fields) -> StoredMember:
    version, member_id = fields.version, fields.string()
    instance_id = fields.nullable_string() if version >= _INSTANCE_ID_SINCE else None
    client_id, client_host = fields.string(), fields.string()
    rebalance_ms = fields.number(_INT32) if version >= _REBALANCE_TIMEOUT_SINCE else None
    session_ms = fields.number(_INT32)
    subscription, assignment = fields.blob(), fields.blob()
    fields.skip_tags()
    return StoredMember(
        member_id,
        instance_id,
        client_id,
        client_host,
        # Version 0 dates from when one timeout served for both purposes (KIP-62).
        session_ms if rebalance_ms is None else rebalance_ms,
        session_ms,
        subscription,
        assignment,
    )


def _decoded(what: str, data: bytes | None, last_version: int, read: Callable[[_Fields], T]) -> T:
    """Read ``data`` by ``read``; bytes that follow are ignored, as Kafka does."""
    if data is None:
        raise DamagedRecordError(f"the {what} is null")
    try:
        fields = _Fields(data)
        if 0 <= fields.version <= last_version:
            return read(fields)
    except (StructError, UnicodeDecodeError) as error:
        raise DamagedRecordError(f"the {what} of {len(data)} bytes cannot be read: {error}") from error
    raise DamagedRecordError(f"the {what} has version {fields.version}, expected 0 to {last_version}")


class _Fields:
    """The fields of a key or a value, read one after the other behind its version.

    Attributes:
        version: The version in front.
    """

    __slots__ = ("_at", "_data", "_is_flexible", "version")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.version: int = _INT16.unpack_from(data)[0]
        self._at = _INT16.size
        self._is_flexible = self.version >= FIRST_FLEXIBLE_VERSION

    def number(self, layout: Struct) -> int:
        (number,) = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return int(number)

    def string(self) -> str:
        value = self.nullable_string()
        if value is None:
            raise DamagedRecordError("a string is null that must not be")
        return value

    def nullable_string(self) -> str | None:
        data = self._sized(self._length(_INT16))
        return None if data is None else data.decode()

    def blob(self) -> bytes:
        data = self._sized(self._length(_INT32))
        if data is None:
            raise DamagedRecordError("bytes are null that must not be")
        return data

    def count(self) -> int:
        """Return the number of elements of an array, each of which takes a byte at least."""
        count = self._length(_INT32)
        if not 0 <= count <= len(self._data) - self._at:
            raise DamagedRecordError(f"an array of {count} elements in {len(self._data)} bytes")
        return count

    def skip_tags(self) -> None:
        if self._is_flexible:
            for _ in range(self._varint()):
                self._varint()
                self._sized(self._varint())

    def _length(self, layout: Struct) -> int:
        return self._varint() - 1 if self._is_flexible else self.number(layout)

    def _sized(self, length: int) -> bytes | None:
        if length == _NULL:
            return None
        start, end = self._at, self._at + length
        if length < 0 or end > len(self._data):
            raise DamagedRecordError(f"a field of {length} bytes at {start} of {len(self._data)}")
        self._at = end
        return self._data[start:end]

    def _varint(self) -> int:
        """An unsigned integer of 5 bytes at most, 7 bits in each."""
        value = 0
        for shift in range(0, _MAX_VARINT_SHIFT + 1, 7):
            if self._at >= len(self._data):
                break
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise DamagedRecordError(f"a length without end at {self._at} of {len(self._data)} bytes")


def _string(text: str) -> bytes:
    data = text.encode()
    return _INT16.pack(len(data)) + data


def _nullable_string(text: str | None) -> bytes:
    return _INT16.pack(_NULL) if text is None else _string(text)

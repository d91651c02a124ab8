"""A record batch of message format 2: its header is parsed, its records stay opaque bytes.

Layout and constants: ``clients/.../record/DefaultRecordBatch.java`` of Kafka 2.8 (KIP-98). All integers are
big-endian. The CRC-32C covers everything from the attributes on, so base offset and leader epoch may be
overwritten without a new checksum.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

Buffer = bytes | bytearray | memoryview
"""Bytes of a socket, a file or a stream; never changed here."""

FRAME_SIZE = 12
"""The size of base offset and batch length, which suffice to know the size of a batch."""

HEADER_SIZE = 61
"""The bytes of a batch before its first record."""

CRC_START = 21
"""The start of the bytes under the checksum: the attributes."""

MIN_BATCH_LENGTH = 14
"""The smallest batch length of any message format: below it the frame itself is wrong (``LegacyRecord``)."""

MAGIC = 2
"""The message format that this broker stores."""

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1

MAX_SEQUENCE = 2**31 - 1
"""The largest sequence; the next one is 0."""

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20

HEADER = Struct(">qiibIhiqqqhii")
_FRAME = Struct(">qi")
_STAMP = Struct(">qii")
_MAGIC_AND_CRC = Struct(">bI")
_UNDER_CRC = Struct(">hiqqqhii")
_STAMP_SIZE = 16


class Codec(IntEnum):
    """The compression of a batch's records: bits 0 to 2 of the attributes."""

    UNCOMPRESSED = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TimestampType(IntEnum):
    """The clock of a batch's timestamps: bit 3 of the attributes (KIP-32)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, in their order.

    Attributes:
        base_offset: Offset of the first record.
        batch_length: Bytes after this field; the whole batch is 12 more.
        partition_leader_epoch: Epoch of the leader that wrote it, -1 from clients.
        magic: The message format.
        crc: CRC-32C of everything from ``attributes`` on.
        attributes: Codec, timestamp type, transactional and control bits.
        last_offset_delta: Offset of the last record, from ``base_offset``; compaction leaves it as it was.
        base_timestamp: Milliseconds since the epoch of the first record, -1 where there is none.
        max_timestamp: The largest of the records, or the append time.
        producer_id: Of an idempotent producer, else -1.
        producer_epoch: Of an idempotent producer, else -1.
        base_sequence: Sequence of the first record, else -1.
        record_count: The number of records.
    """

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def newest_timestamp(self) -> int:
        """The largest timestamp of its records; `NO_TIMESTAMP` if compaction has left none of them.

        Such a batch keeps its maximum timestamp. As in Kafka, neither indexes nor lookups count it
        (``MemoryRecords.filterTo``).
        """
        return self.max_timestamp if self.record_count else NO_TIMESTAMP

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + FRAME_SIZE

    @property
    def last_offset(self) -> int:
        """Offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Offset that follows the last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec_number(self) -> int:
        """The number of the compression codec; ``Codec`` names the known ones."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        """The clock of the timestamps."""
        return TimestampType(bool(self.attributes & LOG_APPEND_TIME_BIT))

    @property
    def is_transactional(self) -> bool:
        """Return whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Return whether the batch is a transaction's end marker."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_producer_id(self) -> bool:
        """Return whether an idempotent producer wrote the batch."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 where there are no sequences."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return advance_sequence(self.base_sequence, self.last_offset_delta)


class RecordBatch(NamedTuple):
    """A whole batch in memory.

    Attributes:
        header: Its first 61 bytes, parsed.
        data: Its bytes, header included, as a view of the receive buffer.
    """

    header: BatchHeader
    data: memoryview

    @property
    def has_valid_crc(self) -> bool:
        """Return whether the checksum in the header matches the bytes."""
        return crc32c(self.data[CRC_START:]) == self.header.crc


def advance_sequence(sequence: int, by: int) -> int:
    """Return the sequence ``by`` records after ``sequence``; 0 follows 2^31 - 1."""
    return (sequence + by) % (MAX_SEQUENCE + 1)


def parse_header(data: Buffer, position: int = 0) -> BatchHeader:
    """Parse the header at ``position``, where at least 61 bytes must lie; nothing in it is checked."""
    # In half of the time of ``BatchHeader._make``, which checks the number of fields.
    return tuple.__new__(BatchHeader, HEADER.unpack_from(data, position))


def peek_frame(data: Buffer, position: int = 0) -> tuple[int, int]:
    """Return base offset and size in bytes of the batch at ``position``, where 12 bytes must lie."""
    base_offset, batch_length = _FRAME.unpack_from(data, position)
    return base_offset, batch_length + FRAME_SIZE


def with_records(header: BatchHeader, records: Buffer) -> RecordBatch:
    """Build a batch of ``header`` and other records, with a new length and checksum."""
    under_crc = _UNDER_CRC.pack(*header[5:])
    length = HEADER_SIZE - FRAME_SIZE + len(records)
    crc = crc32c(records, crc32c(under_crc))
    header = header._replace(batch_length=length, crc=crc)
    frame = _STAMP.pack(header.base_offset, length, header.partition_leader_epoch)
    data = b"".join((frame, _MAGIC_AND_CRC.pack(header.magic, crc), under_crc, records))
    return RecordBatch(header, memoryview(data))


def stamp(batch: RecordBatch, base_offset: int, leader_epoch: int) -> list[Buffer]:
    """Return the batch with ``base_offset`` and ``leader_epoch``, as its leader writes it.

    Returns:
        Buffers for one ``writev``: 16 new bytes and the rest unchanged, neither copied nor checksummed again.
    """
    head = _STAMP.pack(base_offset, batch.header.batch_length, leader_epoch)
    return [head, batch.data[_STAMP_SIZE:]]


def stamp_with_append_time(
    batch: RecordBatch, base_offset: int, leader_epoch: int, now_ms: int
) -> list[Buffer]:
    """Stamp the batch as ``stamp`` does, with timestamp type LogAppendTime and maximum timestamp ``now_ms``.

    Both lie under the checksum, so it is computed again; the records stay unchanged.

    Returns:
        61 new bytes and the rest.
    """
    h, records = batch.header, batch.data[HEADER_SIZE:]
    under_crc = _UNDER_CRC.pack(
        h.attributes | LOG_APPEND_TIME_BIT,
        h.last_offset_delta,
        h.base_timestamp,
        now_ms,
        h.producer_id,
        h.producer_epoch,
        h.base_sequence,
        h.record_count,
    )
    crc = crc32c(records, crc32c(under_crc))
    head = (
        _STAMP.pack(base_offset, h.batch_length, leader_epoch) + _MAGIC_AND_CRC.pack(h.magic, crc) + under_crc
    )
    return [head, records]

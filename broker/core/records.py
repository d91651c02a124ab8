"""The records in a batch, for the few who open one: lookups by time, recompression, refusals by record.

Record layout: ``clients/.../record/DefaultRecord.java`` of Kafka 2.8; a lookup by time must name a record,
not a batch (``FileRecords.searchForTimestamp``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from broker.core.compression import CorruptStreamError
from broker.core.compression import decompress as decompress_stream
from broker.core.record_batch import HEADER_SIZE, BatchHeader, Codec, RecordBatch, TimestampType
from cluster.model.ids import Offset

NULL_LENGTH = -1
"""The length of a key or a value that is null."""

MAX_TIMESTAMP = 2**63 - 1

_VARINT_BYTES = 5
_VARLONG_BYTES = 10


class RecordTime(NamedTuple):
    """A record's timestamp in milliseconds, and its offset."""

    timestamp: int
    offset: Offset


class RecordPlace(NamedTuple):
    """Where a record lies among the decompressed records of its batch, and what it says of itself.

    Attributes:
        start: Where its body begins, behind its length.
        end: Where it ends.
        timestamp_delta: Milliseconds from the batch's base timestamp.
        offset_delta: From the batch's base offset.
        offset_at: Where the offset delta stands.
        key_at: Where the length of its key stands, right behind that.
    """

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    offset_at: int
    key_at: int


class CorruptRecordsError(Exception):
    """The records of a batch cannot be read, although its checksum is right."""


def record_times(batch: RecordBatch) -> Iterator[RecordTime]:
    """Timestamp and offset of each record, in order.

    Raises:
        CorruptRecordsError: The records are not what the header says.
    """
    header = batch.header
    is_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    for place in record_places(header, decompress(batch)):
        timestamp = header.max_timestamp if is_append_time else timestamp_of(header, place)
        yield RecordTime(timestamp, Offset(header.base_offset + place.offset_delta))


def timestamp_of(header: BatchHeader, place: RecordPlace) -> int:
    """The timestamp that its producer gave a record, in milliseconds; -1 for none.

    Raises:
        CorruptRecordsError: It is no 64-bit number.
    """
    timestamp = header.base_timestamp + place.timestamp_delta
    if not -MAX_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
        raise CorruptRecordsError(
            f"timestamp {timestamp} in the batch at offset {header.base_offset}, expected 64 bits"
        )
    return timestamp


def record_places(header: BatchHeader, records: bytes) -> Iterator[RecordPlace]:
    """Each of the records that ``header`` counts, in order.

    Raises:
        CorruptRecordsError: They do not fit into ``records``.
    """
    position = 0
    try:
        for _ in range(header.record_count):
            length, start = _varint(records, position, _VARINT_BYTES)
            timestamp_delta, offset_at = _varint(records, start + 1, _VARLONG_BYTES)
            offset_delta, key_at = _varint(records, offset_at, _VARINT_BYTES)
            position = start + length
            if position < key_at:
                raise _BadLayoutError
            yield RecordPlace(start, position, timestamp_delta, offset_delta, offset_at, key_at)
    except (IndexError, _BadLayoutError) as error:
        detail = f"{header.record_count} records of the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{detail} do not fit into {len(records)} bytes") from error


def checked_places(header: BatchHeader, records: bytes) -> Iterator[RecordPlace]:
    """As ``record_places``; key, value and headers must fill each record, and the records ``records``.

    Raises:
        CorruptRecordsError: They do not.
    """
    end, at = 0, f"the batch at offset {header.base_offset}"
    for index, place in enumerate(record_places(header, records)):
        try:
            end = _skip_fields(records, place.key_at)
        except (IndexError, _BadLayoutError) as error:
            raise CorruptRecordsError(f"record {index} of {at} has a bad length") from error
        if end != place.end:
            filled = f"{end - place.start} of its {place.end - place.start} bytes"
            raise CorruptRecordsError(f"record {index} of {at} fills {filled}")
        yield place
    if end != len(records):
        raise CorruptRecordsError(f"{header.record_count} records of {at} fill {end} of {len(records)} bytes")


def _skip_fields(records: bytes, position: int) -> int:
    """The position behind key, value and headers, which begin at ``position``."""
    for _ in range(2):
        position = _skip_field(records, position, at_least=NULL_LENGTH)
    headers, position = _varint(records, position, _VARINT_BYTES)
    if headers < 0:
        raise _BadLayoutError
    for _ in range(headers):
        position = _skip_field(records, position, at_least=0)
        position = _skip_field(records, position, at_least=NULL_LENGTH)
    return position


def _skip_field(records: bytes, position: int, *, at_least: int) -> int:
    length, start = _varint(records, position, _VARINT_BYTES)
    if length < at_least:
        raise _BadLayoutError
    return start + max(length, 0)


def decompress(batch: RecordBatch) -> bytes:
    """The records of a batch, one behind the other, not compressed.

    Raises:
        CorruptRecordsError: They are not a stream of the codec that the header names, or hold too much.
    """
    at = f"the batch at offset {batch.header.base_offset}"
    try:
        codec = Codec(batch.header.codec_number)
        return decompress_stream(codec, batch.data[HEADER_SIZE:])
    except ValueError as error:
        raise CorruptRecordsError(f"codec {batch.header.codec_number} of {at}") from error
    except CorruptStreamError as error:
        raise CorruptRecordsError(f"{at} {error}") from error


def _varint(data: bytes, position: int, most: int) -> tuple[int, int]:
    """The zig-zag integer of at most ``most`` bytes at ``position``, and the position after it."""
    value = shift = 0
    for at in range(position, position + most):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    raise _BadLayoutError


class _BadLayoutError(Exception):
    """A length that is negative or too small, or an integer of more bytes than its type allows."""

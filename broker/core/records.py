"""The records in a batch, for the few who open one: lookups by time, recompression, refusals by record.

Record layout: ``clients/.../record/DefaultRecord.java`` of Kafka 2.8; a lookup by time must name a record,
not a batch (``FileRecords.searchForTimestamp``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from barnabas.broker.core.compression import MAX_DECOMPRESSED_SIZE, CorruptStreamError
from barnabas.broker.core.compression import decompress as decompress_stream
from barnabas.broker.core.record_batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    Codec,
    RecordBatch,
    TimestampType,
)
from barnabas.broker.core.steps import Steps
from barnabas.cluster.model.ids import Offset

STRETCH_RECORDS = 256
STRETCH_BYTES = 8_192
"""How many records, or bytes of them, are looked at before others can be let go on: 1 to 2 ms of work."""

MAX_RECORDS = 1_000_000
"""The most records that a compressed batch may hold where it is opened: each takes 1 to 2 microseconds.

librdkafka writes no more (``batch.num.messages``), and 10,000 by default. An uncompressed batch may hold as
many as fit into its bytes.
"""

MAX_HEADERS = 10_000
"""The most headers that a record may have where it is opened."""

Bytes = bytes | memoryview

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


def record_times(batch: RecordBatch, limit: int = MAX_DECOMPRESSED_SIZE) -> Iterator[RecordTime]:
    """Timestamp and offset of each record, in order.

    Args:
        batch: Whose records.
        limit: The most bytes that it may be unpacked to.

    Raises:
        CorruptRecordsError: The records are not what the header says, or more than ``limit``.
    """
    yield from _times(batch.header, decompress(batch, limit))


def most_records(header: BatchHeader) -> int:
    """How many records the batch may say that it has where it is opened."""
    return max(MAX_RECORDS, 0 if header.codec_number else header.size)


def first_record_since(batch: RecordBatch, timestamp: int, offset: int) -> Steps[RecordTime | None]:
    """The first record at ``offset`` or later whose timestamp is ``timestamp`` or later.

    Of a batch with more records than are opened it is the first one, with the batch's largest timestamp: who
    reads from there misses nothing.

    Raises:
        CorruptRecordsError: The records are not what the header says.
    """
    header = batch.header
    if header.record_count > most_records(header):
        return RecordTime(header.max_timestamp, Offset(max(header.base_offset, offset)))
    records = yield from opened(batch)
    for index, found in enumerate(_times(header, records), 1):
        if found.timestamp >= timestamp and found.offset >= offset:
            return found
        if not index % STRETCH_RECORDS:
            yield None
    return None


def opened(batch: RecordBatch) -> Steps[Bytes]:
    """As ``decompress``, in one call that may run on any thread.

    Raises:
        CorruptRecordsError: As ``decompress``.
    """

    def work() -> Bytes | CorruptRecordsError:
        try:
            return decompress(batch)
        except CorruptRecordsError as error:
            return error

    records: Bytes | CorruptRecordsError = (yield work) if batch.header.codec_number else work()
    if isinstance(records, CorruptRecordsError):
        raise records
    return records


def _times(header: BatchHeader, records: Bytes) -> Iterator[RecordTime]:
    is_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    for place in record_places(header, records):
        timestamp = header.max_timestamp if is_append_time else header.base_timestamp + place.timestamp_delta
        _check_timestamp(header, timestamp)
        yield RecordTime(timestamp, Offset(header.base_offset + place.offset_delta))


def record_places(header: BatchHeader, records: Bytes) -> Iterator[RecordPlace]:
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


class RecordsSurvey(NamedTuple):
    """What the records of a batch say of it.

    Attributes:
        earliest: The smallest timestamp in milliseconds, -1 where there is none.
        latest: The largest, -1 where there is none.
        has_gaps: Whether the offset deltas are others than 0, 1, 2 and so on.
    """

    earliest: int
    latest: int
    has_gaps: bool


def survey(header: BatchHeader, records: Bytes) -> Generator[None, None, RecordsSurvey]:
    """Check each record down to its last byte, and keep none: there may be a million.

    Key, value and headers must fill each record, and the records ``records``. It yields every
    ``STRETCH_RECORDS`` records or ``STRETCH_BYTES`` bytes, so that others can be let go on.

    Raises:
        CorruptRecordsError: They do not, or a record has more than ``MAX_HEADERS`` headers.
    """
    at, base, index, next_pause = 0, header.base_timestamp, 0, STRETCH_BYTES
    earliest, latest, has_gaps = NO_TIMESTAMP, NO_TIMESTAMP, False
    try:
        for index in range(header.record_count):
            length, start = _varint(records, at, _VARINT_BYTES)
            timestamp_delta, at = _varint(records, start + 1, _VARLONG_BYTES)
            offset_delta, at = _varint(records, at, _VARINT_BYTES)
            at = _skip_fields(records, at)
            if at != start + length:
                raise _BadLayoutError
            if at > next_pause or not index % STRETCH_RECORDS:
                next_pause = at + STRETCH_BYTES
                yield
            if offset_delta != index:
                has_gaps = True
            timestamp = base + timestamp_delta
            if timestamp != NO_TIMESTAMP:
                latest = max(latest, timestamp)
                if timestamp < earliest or earliest == NO_TIMESTAMP:
                    earliest = timestamp
    except (IndexError, _BadLayoutError) as error:
        detail = f"record {index} of the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{detail} is not filled by what it holds") from error
    _check_end(header, records, at)
    _check_timestamp(header, earliest)
    _check_timestamp(header, latest)
    return RecordsSurvey(earliest, latest, has_gaps)


def _check_end(header: BatchHeader, records: Bytes, end: int) -> None:
    if end != len(records):
        detail = f"{header.record_count} records of the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{detail} fill {end} of {len(records)} bytes")


def _check_timestamp(header: BatchHeader, timestamp: int) -> None:
    if not -MAX_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
        raise CorruptRecordsError(
            f"timestamp {timestamp} in the batch at offset {header.base_offset}, expected 64 bits"
        )


def _skip_fields(records: Bytes, position: int) -> int:
    """The position behind key, value and headers, which begin at ``position``."""
    position = _skip_field(records, _skip_field(records, position, NULL_LENGTH), NULL_LENGTH)
    headers, position = _varint(records, position, _VARINT_BYTES)
    if not 0 <= headers <= MAX_HEADERS:
        raise _BadLayoutError
    for _ in range(headers):
        position = _skip_field(records, _skip_field(records, position, 0), NULL_LENGTH)
    return position


def _skip_field(records: Bytes, position: int, at_least: int) -> int:
    """The position behind a field, whose length must be ``at_least`` that."""
    length, start = _varint(records, position, _VARINT_BYTES)
    if length > 0:
        return start + length
    if length < at_least:
        raise _BadLayoutError
    return start


def decompress(batch: RecordBatch, limit: int = MAX_DECOMPRESSED_SIZE) -> Bytes:
    """The records of a batch, one behind the other, not compressed.

    Raises:
        CorruptRecordsError: They are not a stream of the codec that the header names, or more than ``limit``
            bytes.
    """
    at = f"the batch at offset {batch.header.base_offset}"
    try:
        codec = Codec(batch.header.codec_number)
        return decompress_stream(codec, batch.data[HEADER_SIZE:], limit)
    except ValueError as error:
        raise CorruptRecordsError(f"codec {batch.header.codec_number} of {at}") from error
    except CorruptStreamError as error:
        raise CorruptRecordsError(f"{at} {error}") from error


def _varint(data: Bytes, position: int, most: int) -> tuple[int, int]:
    """The zig-zag integer of at most ``most`` bytes at ``position``, and the position after it."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    second = data[position + 1]
    if second < 0x80:
        value = byte & 0x7F | second << 7
        return (value >> 1) ^ -(value & 1), position + 2
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

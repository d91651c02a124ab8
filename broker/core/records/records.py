"""The records in a batch, for lookups by time, recompression and refusals by record.

Record layout: ``clients/.../record/DefaultRecord.java`` of Kafka 2.8; a lookup by time must name a record,
not a batch (``FileRecords.searchForTimestamp``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from barnabas.broker.core.records.compression import MAX_DECOMPRESSED_SIZE, CorruptStreamError
from barnabas.broker.core.records.compression import decompress as decompress_stream
from barnabas.broker.core.records.record_batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    Codec,
    RecordBatch,
    TimestampType,
)
from barnabas.cluster.model.ids import Offset
from barnabas.cluster.model.steps import Steps

STRETCH_RECORDS = 256
STRETCH_BYTES = 8_192
"""The records, or bytes of them, that are read before other work may run: 1 to 2 ms."""

MAX_RECORDS = 1_000_000
"""The most records in a compressed batch that is opened: each takes 1 to 2 microseconds.

librdkafka writes no more (``batch.num.messages``), and 10,000 by default. An uncompressed batch may hold as
many as fit into its bytes.
"""

MAX_HEADERS = 10_000
"""The most headers of a record in a batch that is opened."""

Bytes = bytes | memoryview

NULL_LENGTH = -1
"""The length that stands for a null key or value."""

MAX_TIMESTAMP = 2**63 - 1

_VARINT_BYTES = 5
_VARLONG_BYTES = 10


class RecordTime(NamedTuple):
    """A record's timestamp in milliseconds, and its offset."""

    timestamp: int
    offset: Offset


class RecordPlace(NamedTuple):
    """The place of a record among the decompressed records of its batch, and its deltas.

    Attributes:
        start: The position of its body, after its length.
        end: The position after its body.
        timestamp_delta: Milliseconds from the batch's base timestamp.
        offset_delta: The difference to the batch's base offset.
        offset_at: The position of the offset delta.
        key_at: The position of the length of its key, right after the offset delta.
    """

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    offset_at: int
    key_at: int


class CorruptRecordsError(Exception):
    """An error in the records of a batch whose checksum is valid."""


def record_times(batch: RecordBatch, limit: int = MAX_DECOMPRESSED_SIZE) -> Iterator[RecordTime]:
    """Yield timestamp and offset of each record, in order.

    Args:
        batch: The batch.
        limit: The most bytes that it may be unpacked to.

    Raises:
        CorruptRecordsError: The records do not match the header, or are larger than ``limit``.
    """
    yield from _times(batch.header, decompress(batch, limit))


def most_records(header: BatchHeader) -> int:
    """Return the largest record count of a batch that is opened."""
    return max(MAX_RECORDS, 0 if header.codec_number else header.size)


def first_record_since(batch: RecordBatch, timestamp: int, offset: int) -> Steps[RecordTime | None]:
    """Return the first record at ``offset`` or later whose timestamp is ``timestamp`` or later.

    In a batch with too many records to be opened it is the first record, with the batch's largest timestamp:
    a reader that starts there misses nothing.

    Raises:
        CorruptRecordsError: The records do not match the header.
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
    """Decompress a batch as ``decompress`` does, in one call that may run on any thread.

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
    """Yield the places of the records that ``header`` counts, in order.

    Raises:
        CorruptRecordsError: They do not fit into ``records``.
    """
    position = 0
    try:
        for _ in range(header.record_count):
            length, start = read_varint(records, position, _VARINT_BYTES)
            timestamp_delta, offset_at = read_varint(records, start + 1, _VARLONG_BYTES)
            offset_delta, key_at = read_varint(records, offset_at, _VARINT_BYTES)
            position = start + length
            if position < key_at:
                raise BadLayoutError
            yield RecordPlace(start, position, timestamp_delta, offset_delta, offset_at, key_at)
    except (IndexError, BadLayoutError) as error:
        raise bad_layout(header, records) from error


def bad_layout(header: BatchHeader, records: Bytes) -> CorruptRecordsError:
    """Return the error of decompressed ``records`` that are not as many or as long as ``header`` says."""
    detail = f"{header.record_count} records of the batch at offset {header.base_offset}"
    return CorruptRecordsError(f"{detail} do not fit into {len(records)} bytes")


KeyValue = tuple[Offset, bytes | None, bytes | None]
"""A record's offset, key and value, either of which may be null; a plain tuple, since millions are read."""

_SHORT = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))
"""The zig-zag integers of one byte, by that byte."""


def key_values(header: BatchHeader, records: bytes) -> Iterator[KeyValue]:
    """Read offset, key and value of each record; headers are skipped.

    Raises:
        CorruptRecordsError: A record does not hold its fields, or ``records`` end before the last record.
    """
    at, size, base_offset = 0, len(records), header.base_offset
    # Most integers have one byte, which is looked up here: a call for each would take most of the time.
    try:
        for _ in range(header.record_count):
            byte = records[at]
            length, at = (_SHORT[byte], at + 1) if byte < 0x80 else read_varint(records, at, _VARINT_BYTES)
            end = at + length
            # Skip the attributes, and the timestamp delta: it has one byte, except in batches of producers.
            at += 2
            if records[at - 1] >= 0x80:
                _, at = read_varint(records, at - 1, _VARLONG_BYTES)
            byte = records[at]
            delta, at = (_SHORT[byte], at + 1) if byte < 0x80 else read_varint(records, at, _VARINT_BYTES)
            key, at = _field(records, at)
            value, at = _field(records, at)
            if not at <= end <= size:
                raise BadLayoutError
            yield Offset(base_offset + delta), key, value
            at = end
    except (IndexError, BadLayoutError) as error:
        detail = f"a record of the batch at offset {base_offset} is not filled by what it holds"
        raise CorruptRecordsError(detail) from error


def _field(records: bytes, at: int) -> tuple[bytes | None, int]:
    """Read a field that may be null, and the position behind it; it is short if ``records`` end before."""
    byte = records[at]
    length, start = (_SHORT[byte], at + 1) if byte < 0x80 else read_varint(records, at, _VARINT_BYTES)
    if length < 0:
        return None, start
    at = start + length
    return records[start:at], at


_NO_DELTA = 1 << 64
"""A number above all timestamp deltas."""

_KEY_AND_VALUE = range(2)


class RecordsSurvey(NamedTuple):
    """The findings of a pass over all records of a batch.

    Attributes:
        earliest: The smallest timestamp in milliseconds, -1 without timestamps.
        latest: The largest, -1 without timestamps.
        has_gaps: Whether the offset deltas are others than 0, 1, 2 and so on.
    """

    earliest: int
    latest: int
    has_gaps: bool


def survey(header: BatchHeader, records: Bytes) -> Generator[None, None, RecordsSurvey]:
    """Check each record down to its last byte, keeping none of them: there may be a million.

    Key, value and headers must fill each record, and all records together must fill ``records``. The
    generator yields every ``STRETCH_RECORDS`` records or ``STRETCH_BYTES`` bytes, so that other work can run.

    Raises:
        CorruptRecordsError: They do not, or a record has more than ``MAX_HEADERS`` headers.
    """
    at, index, next_pause, has_gaps = 0, 0, STRETCH_BYTES, False
    no_time, lowest, highest = NO_TIMESTAMP - header.base_timestamp, _NO_DELTA, -_NO_DELTA
    # As in ``key_values``, integers of one byte are decoded here.
    try:
        for index in range(header.record_count):
            byte = records[at]
            length, at = (_SHORT[byte], at + 1) if byte < 0x80 else read_varint(records, at, _VARINT_BYTES)
            end = at + length
            byte = records[at + 1]
            delta, at = (
                (_SHORT[byte], at + 2) if byte < 0x80 else read_varint(records, at + 1, _VARLONG_BYTES)
            )
            if delta < lowest and delta != no_time:
                lowest = delta
            if delta > highest and delta != no_time:
                highest = delta
            byte = records[at]
            delta, at = (_SHORT[byte], at + 1) if byte < 0x80 else read_varint(records, at, _VARINT_BYTES)
            if delta != index:
                has_gaps = True
            # Key and value: an even byte is a length, and 1 stands for null.
            for _ in _KEY_AND_VALUE:
                byte = records[at]
                if byte > 0x7F or (byte & 1 and byte != 1):
                    at = _skip_field(records, at, NULL_LENGTH)
                else:
                    at += 1 + (byte >> 1)
            at = _skip_headers(records, at) if records[at] else at + 1
            if at != end:
                raise BadLayoutError
            if at > next_pause or not index % STRETCH_RECORDS:
                next_pause = at + STRETCH_BYTES
                yield
    except (IndexError, BadLayoutError) as error:
        detail = f"record {index} of the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{detail} is not filled by what it holds") from error
    _check_end(header, records, at)
    if lowest > highest:
        return RecordsSurvey(NO_TIMESTAMP, NO_TIMESTAMP, has_gaps)
    earliest = header.base_timestamp + lowest
    latest = max(header.base_timestamp + highest, NO_TIMESTAMP)
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


def _skip_headers(records: Bytes, position: int) -> int:
    """Return the position after the headers, whose number is at ``position``."""
    headers, position = read_varint(records, position, _VARINT_BYTES)
    if not 0 <= headers <= MAX_HEADERS:
        raise BadLayoutError
    for _ in range(headers):
        position = _skip_field(records, _skip_field(records, position, 0), NULL_LENGTH)
    return position


def _skip_field(records: Bytes, position: int, at_least: int) -> int:
    """Return the position after a field, whose length must be ``at_least`` or more."""
    length, start = read_varint(records, position, _VARINT_BYTES)
    if length > 0:
        return start + length
    if length < at_least:
        raise BadLayoutError
    return start


def decompress(batch: RecordBatch, limit: int = MAX_DECOMPRESSED_SIZE) -> Bytes:
    """Decompress the records of a batch.

    Raises:
        CorruptRecordsError: They are not a stream of the header's codec, or unpack to more than ``limit``
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


def read_varint(data: Bytes, position: int, most: int) -> tuple[int, int]:
    """Return the zig-zag integer of at most ``most`` bytes at ``position``, and the position after it."""
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
    raise BadLayoutError


def write_varint(value: int) -> bytes:
    """Encode a number of 0 or more as a zig-zag varint."""
    rest = value << 1
    if rest <= 0x7F:
        return bytes((rest,))
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


class BadLayoutError(Exception):
    """A length that is negative or too small, or an integer of more bytes than its type allows."""

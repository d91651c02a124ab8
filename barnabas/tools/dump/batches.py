"""The lines about the batches and the records of a ``.log`` file.

Source: ``dumpLog`` and ``printBatchLevel`` in ``kafka.tools.DumpLogSegments`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import (
    NO_SEQUENCE,
    BatchHeader,
    Codec,
    RecordBatch,
    TimestampType,
    advance_sequence,
    parse_header,
)
from barnabas.broker.core.records.records import (
    BadLayoutError,
    CorruptRecordsError,
    RecordPlace,
    decompress,
    read_varint,
    record_places,
)
from barnabas.broker.core.records.transactions import ControlRecordType, end_marker

MAX_DUMPED_BYTES = 2**31 - 1
"""The most bytes to which a batch is unpacked; a broker unpacks less, because its memory is shared."""

_VARINT_BYTES = 5
_TIMESTAMP_TYPES = {
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
_CODECS = {int(codec): codec.name for codec in Codec} | {int(Codec.UNCOMPRESSED): "NONE"}


class Record(NamedTuple):
    """A record of a batch.

    Attributes:
        offset: Its offset.
        timestamp: Milliseconds since 1970, or -1.
        sequence: Its sequence, or -1.
        key: Its key; None for null.
        value: Its value; None for null.
        header_keys: The keys of its headers.
    """

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    header_keys: tuple[str, ...]


Decode = Callable[[Record], tuple[str | None, str | None]]
"""The type of functions that return the texts of a record's key and value, None for a part not printed."""


class RecordOptions(NamedTuple):
    """The choice of what is printed of each record.

    Attributes:
        is_deep: Whether there are lines about records at all.
        has_metadata: Whether such a line has more than key and value.
        decode: Returns the texts of key and value; None if they are not printed.
    """

    is_deep: bool
    has_metadata: bool
    decode: Decode | None


@dataclass(slots=True)
class OffsetCheck:
    """The places at which an offset does not follow the one before it.

    Attributes:
        gaps: The offsets before and after each place.
    """

    gaps: list[tuple[int, int]] = field(default_factory=list)
    _last: int = -1

    def add(self, offset: int) -> None:
        """Note the offset of the next record."""
        if self._last not in (-1, offset - 1):
            self.gaps.append((self._last, offset))
        self._last = offset


def batch_line(batch: RecordBatch, position: int) -> str:
    """Return the line about a batch at ``position`` of its file."""
    header = batch.header
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_bool(value=header.is_transactional)} "
        f"isControl: {_bool(value=header.is_control)} "
        f"position: {position} {_TIMESTAMP_TYPES[header.timestamp_type]}: {header.max_timestamp} "
        f"size: {header.size} magic: {header.magic} compresscodec: {_codec(header)} crc: {header.crc} "
        f"isvalid: {_bool(value=batch.has_valid_crc)}"
    )


def lines_of(data: bytes, position: int, options: RecordOptions, check: OffsetCheck) -> Iterator[str]:
    """Yield the lines about a batch and its records.

    Args:
        data: The bytes of the batch.
        position: Its position in the file.
        options: What is printed of each record.
        check: The check of the file's offsets, to which those of the records are added.

    Raises:
        CorruptRecordsError: The records cannot be read; the line about the batch comes first.
    """
    batch = RecordBatch(parse_header(data), memoryview(data))
    yield batch_line(batch, position)
    if not options.is_deep:
        return
    marker = _marker_text(batch) if batch.header.is_control else ""
    for record in records_of(batch):
        check.add(record.offset)
        text = f"| {_metadata(batch.header, record, position)}{marker}" if options.has_metadata else ""
        if options.decode is not None and not batch.header.is_control:
            key, value = options.decode(record)
            if key is not None:
                text += f"{' ' if text else '| '}key: {key}"
            # As in Kafka, there is no bar before a payload that comes first.
            text += "" if value is None else f" payload: {value}"
        yield text


def records_of(batch: RecordBatch) -> Iterator[Record]:
    """Yield the records of a batch.

    Raises:
        CorruptRecordsError: They cannot be read.
    """
    header = batch.header
    records = bytes(decompress(batch, MAX_DUMPED_BYTES))
    for place in record_places(header, records):
        try:
            yield _record(header, records, place)
        except (IndexError, BadLayoutError, UnicodeDecodeError) as error:
            offset = header.base_offset + place.offset_delta
            raise CorruptRecordsError(f"the record at offset {offset} cannot be read") from error


def _record(header: BatchHeader, records: bytes, place: RecordPlace) -> Record:
    key, at = _field(records, place.key_at)
    value, at = _field(records, at)
    count, at = read_varint(records, at, _VARINT_BYTES)
    keys = []
    for _ in range(count):
        name, at = _field(records, at)
        _, at = _field(records, at)
        keys.append((name or b"").decode())
    has_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    has_sequence = header.base_sequence > NO_SEQUENCE
    return Record(
        header.base_offset + place.offset_delta,
        header.max_timestamp if has_append_time else header.base_timestamp + place.timestamp_delta,
        advance_sequence(header.base_sequence, place.offset_delta) if has_sequence else NO_SEQUENCE,
        key,
        value,
        tuple(keys),
    )


def _field(records: bytes, at: int) -> tuple[bytes | None, int]:
    length, start = read_varint(records, at, _VARINT_BYTES)
    if start + max(length, 0) > len(records):
        raise BadLayoutError
    return (None, start) if length < 0 else (records[start : start + length], start + length)


def _metadata(header: BatchHeader, record: Record, position: int) -> str:
    return (
        f"offset: {record.offset} isValid: true crc: null keySize: {_size(record.key)} "
        f"valueSize: {_size(record.value)} {_TIMESTAMP_TYPES[header.timestamp_type]}: {record.timestamp} "
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"batchSize: {header.size} magic: {header.magic} compressType: {_codec(header)} position: {position} "
        f"sequence: {record.sequence} headerKeys: [{','.join(record.header_keys)}]"
    )


def _marker_text(batch: RecordBatch) -> str:
    """Return the text of a control record.

    For types other than a transaction's end, Kafka prints the number.
    """
    marker = end_marker(batch)
    if marker is not None:
        name = ControlRecordType(marker.control_type).name
        return f" endTxnMarker: {name} coordinatorEpoch: {marker.coordinator_epoch}"
    key = next((record.key for record in records_of(batch)), None) or b""
    return f" controlType: UNKNOWN({int.from_bytes(key[2:4], signed=True)})"


def _codec(header: BatchHeader) -> str:
    return _CODECS.get(header.codec_number, "UNKNOWN")


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _bool(*, value: bool) -> str:
    return "true" if value else "false"

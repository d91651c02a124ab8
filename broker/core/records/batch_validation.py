"""The checks of record batches before they are written, at the leader and at a follower.

The leader's checks, their order and their error codes are those of ``KafkaApis.handleProduceRequest``,
``ProduceRequest.validateRecords`` and ``core/log/LogValidator.scala`` of Kafka 2.8, as far as they are
possible without decoding a record. In an uncompressed batch the records are counted by their lengths; in a
compressed one only the header's numbers are checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum, auto
from itertools import islice

from barnabas.broker.core.records.log_config import UNLIMITED, LogConfig
from barnabas.broker.core.records.record_batch import (
    FRAME_SIZE,
    HEADER_SIZE,
    MAGIC,
    MIN_BATCH_LENGTH,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    Codec,
    RecordBatch,
    TimestampType,
    parse_header,
    peek_frame,
)
from barnabas.broker.core.records.records import CorruptRecordsError, RecordTime, record_times
from barnabas.broker.core.records.refusals import Reason, RecordFault, Refusal
from barnabas.cluster.model.ids import Offset

MAGIC_OFFSET = 16
MIN_RECORD_SIZE = 7
"""The smallest record: its length, attributes, two deltas, two null lengths and no headers, a byte each."""

MAX_FAULTS = 1000
"""The most records that a refusal names."""

MAX_NAMED_RECORDS = 2_000
MAX_NAMED_BYTES = 65_536
"""The most records, and bytes if compressed, that are read to name those with a bad timestamp.

The batch is refused anyway, and a larger compressed one is not unpacked. A record takes about a microsecond.
"""

_MAX_CODEC = max(Codec)

_SHORTEST_STRETCH = 8
_LONGEST_STRETCH = 256
"""Bounds of the number of records to skip singly before looking for a run of equal length again."""

_FIRST_WINDOW = 16
"""Half the number of records that are compared first."""


class AppendOrigin(Enum):
    """The writer of a batch (``core/log/AppendOrigin`` of 2.8).

    A coordinator, which is this broker itself, may write control batches, and its sequences are not checked.
    """

    CLIENT = auto()
    COORDINATOR = auto()


def check_leader_append(
    records: Buffer | None, config: LogConfig, now_ms: int, origin: AppendOrigin
) -> RecordBatch | Refusal:
    """Return the one batch of a Produce request's record field, or the reason for refusing it.

    Args:
        records: The field as it came; clients may send null.
        config: The topic's settings.
        now_ms: The broker's wall clock.
        origin: The writer of the batch.
    """
    batch = _only_batch(memoryview(records or b""))
    if isinstance(batch, Refusal):
        return batch
    header = batch.header
    return (
        _check_envelope(header, config)
        or _check_crc(batch)
        or _check_header(header, origin)
        or _check_timestamps(batch, config, now_ms)
        or _check_records(batch)
        or batch
    )


def check_fetched(records: Buffer, log_end_offset: Offset, *, gaps_end: int) -> list[RecordBatch] | Refusal:
    """Return the whole batches that a follower got from its leader, or the reason for refusing them all.

    Each must have a valid checksum and start where the one before it ended, the first one at
    ``log_end_offset``. A partial tail is left out.

    Args:
        records: What the leader sent.
        log_end_offset: The follower's.
        gaps_end: The offset up to which a batch may also start later, because compaction may have left gaps
            below it in the leader's log.
    """
    view, position, end = memoryview(records), 0, len(records)
    batches: list[RecordBatch] = []
    expected: int = log_end_offset
    while end - position >= FRAME_SIZE:
        size = peek_frame(view, position)[1]
        if size < HEADER_SIZE:
            return Refusal(Reason.SHORTER_THAN_HEADER, f"{size} bytes at byte {position} of a fetch")
        if size > end - position:
            break
        batch = RecordBatch(parse_header(view, position), view[position : position + size])
        header = batch.header
        if header.magic != MAGIC:
            return Refusal(Reason.BAD_MAGIC, f"magic {header.magic} in a fetch, expected {MAGIC}")
        refusal = _check_crc(batch)
        if refusal:
            return refusal
        if header.base_offset < expected or header.last_offset_delta < 0:
            detail = f"batch {header.base_offset} to {header.last_offset}, expected {expected} or later"
            return Refusal(Reason.OFFSETS_NOT_MONOTONIC, detail)
        if header.base_offset > max(expected, gaps_end):
            detail = f"a gap from {expected} to {header.base_offset}, which compaction does not explain"
            return Refusal(Reason.OFFSETS_NOT_MONOTONIC, detail)
        expected = header.next_offset
        batches.append(batch)
        position += size
    return batches


def gaps_limit(gaps_end: int | None, config: LogConfig) -> int:
    """Return the offset below which batches from another replica may have gaps.

    Args:
        gaps_end: What that replica says; None from brokers of releases that do not say it.
        config: The topic's settings, which decide then.
    """
    if gaps_end is not None:
        return gaps_end
    return UNLIMITED if config.is_compacted else 0


def _only_batch(view: memoryview) -> RecordBatch | Refusal:
    present = len(view)
    if present < FRAME_SIZE:
        return Refusal(Reason.NO_BATCH, f"{present} bytes, expected a batch")
    size = peek_frame(view)[1]
    if size < MIN_BATCH_LENGTH + FRAME_SIZE:
        return Refusal(
            Reason.BAD_FRAME, f"batch length {size - FRAME_SIZE}, expected {MIN_BATCH_LENGTH} or more"
        )
    if size > present:
        return Refusal(Reason.NO_BATCH, f"a batch of {size} bytes of which {present} came")
    magic = view[MAGIC_OFFSET]
    if magic > MAGIC:
        return Refusal(Reason.BAD_MAGIC, f"magic {magic}, expected {MAGIC}")
    if magic < MAGIC:
        return Refusal(Reason.OLD_MAGIC, f"magic {magic}, expected {MAGIC}")
    rest = present - size
    if rest >= FRAME_SIZE and peek_frame(view, size)[1] <= rest:
        return Refusal(Reason.SEVERAL_BATCHES, f"{rest} more bytes behind the first batch")
    if size < HEADER_SIZE:
        return Refusal(Reason.SHORTER_THAN_HEADER, f"{size} bytes, expected {HEADER_SIZE} or more")
    return RecordBatch(parse_header(view), view[:size])


def _check_envelope(header: BatchHeader, config: LogConfig) -> Refusal | None:
    if header.base_offset != 0:
        return Refusal(Reason.NONZERO_BASE_OFFSET, f"base offset {header.base_offset}, expected 0")
    return check_size(header, config)


def check_size(header: BatchHeader, config: LogConfig) -> Refusal | None:
    """Return the refusal of a batch that is too large, or None."""
    if header.size > config.max_message_bytes:
        detail = f"{header.size} bytes, expected {config.max_message_bytes} or less"
        return Refusal(Reason.TOO_LARGE, detail)
    if header.size > config.segment_bytes:
        return Refusal(
            Reason.LARGER_THAN_SEGMENT, f"{header.size} bytes, expected {config.segment_bytes} or less"
        )
    return None


def _check_crc(batch: RecordBatch) -> Refusal | None:
    if batch.has_valid_crc:
        return None
    return Refusal(Reason.BAD_CRC, f"batch of {batch.header.size} bytes with CRC {batch.header.crc:#010x}")


def _check_header(header: BatchHeader, origin: AppendOrigin) -> Refusal | None:
    if header.codec_number > _MAX_CODEC:
        return Refusal(Reason.UNKNOWN_CODEC, f"codec {header.codec_number}, expected 0 to {_MAX_CODEC}")
    records = header.last_offset_delta + 1
    if header.record_count <= 0:
        return Refusal(Reason.NO_RECORDS, f"record count {header.record_count}, expected 1 or more")
    if records != header.record_count:
        detail = f"record count {header.record_count}, lastOffsetDelta {header.last_offset_delta}"
        return Refusal(Reason.BAD_COUNT, detail)
    if header.is_control and origin is AppendOrigin.CLIENT:
        return Refusal(Reason.CONTROL_FROM_CLIENT, f"attributes {header.attributes:#x}")
    if header.is_transactional and origin is AppendOrigin.CLIENT:
        return Refusal(Reason.TRANSACTIONAL_FROM_CLIENT, f"attributes {header.attributes:#x}")
    if header.has_producer_id and header.base_sequence < 0 and origin is AppendOrigin.CLIENT:
        detail = f"producer id {header.producer_id}, sequence {header.base_sequence}, expected 0 or more"
        return Refusal(Reason.SEQUENCE_MISSING, detail)
    return None


def _check_timestamps(batch: RecordBatch, config: LogConfig, now_ms: int) -> Refusal | None:
    header = batch.header
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return Refusal(Reason.LOG_APPEND_TIME_FROM_CLIENT, f"attributes {header.attributes:#x}")
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        return None
    for timestamp in (header.base_timestamp, header.max_timestamp):
        if is_far_from(now_ms, timestamp, config):
            return timestamps_refused(timestamp, batch, config, now_ms)
    return None


def is_far_from(now_ms: int, timestamp: int, config: LogConfig) -> bool:
    """Return whether ``timestamp`` differs from now by more than ``message.timestamp.difference.max.ms``."""
    limit = config.message_timestamp_difference_max_ms
    return timestamp != NO_TIMESTAMP and abs(timestamp - now_ms) > limit


def timestamps_refused(timestamp: int, batch: RecordBatch, config: LogConfig, now_ms: int) -> Refusal:
    """Return the refusal of a batch for ``timestamp``; it names the first records at fault."""
    expected = f"expected {now_ms} give or take {config.message_timestamp_difference_max_ms} ms"
    faults = (
        RecordFault(index, f"timestamp {time}, {expected}")
        for index, (time, _) in enumerate(islice(_times(batch), MAX_NAMED_RECORDS))
        if is_far_from(now_ms, time, config)
    )
    named = tuple(islice(faults, MAX_FAULTS))
    return Refusal(Reason.TIMESTAMP_OUT_OF_RANGE, f"timestamp {timestamp}, {expected}", named)


def _times(batch: RecordBatch) -> Iterator[RecordTime]:
    """Yield the records' timestamps in a batch that is refused anyway, within ``MAX_NAMED_BYTES``."""
    limit = MAX_NAMED_BYTES if batch.header.codec_number else len(batch.data)
    with contextlib.suppress(CorruptRecordsError):
        yield from record_times(batch, limit)


def _check_records(batch: RecordBatch) -> Refusal | None:
    header, size = batch.header, len(batch.data)
    if header.codec_number != Codec.UNCOMPRESSED:
        if size == HEADER_SIZE:
            return Refusal(Reason.RECORDS_MISCOUNTED, f"{header.record_count} compressed records in 0 bytes")
        return None
    if size - HEADER_SIZE < header.record_count * MIN_RECORD_SIZE:
        detail = f"{header.record_count} records in {size - HEADER_SIZE} bytes"
        return Refusal(Reason.RECORDS_MISCOUNTED, detail)
    return hop_records(batch.data, header.record_count)


def hop_records(data: memoryview, count: int) -> Refusal | None:
    """Check that ``count`` records fill the batch to its last byte, going by their lengths alone.

    This is the one loop of the write path that runs once per record, so it is written for speed. Lengths of
    one and two bytes, the usual ones, are decoded in line. After a stretch of records ``_count_alike`` looks
    for a run of records with the length of the last one and skips them at once; if all records have one size,
    that is nearly all of them. A zig-zag length is odd only if it is negative, so the low bits are collected
    and tested once.
    """
    position, end, low_bits = HEADER_SIZE, len(data), 0
    left, stretch = count, _SHORTEST_STRETCH
    try:
        while left > 0:
            start = position
            for _ in range(min(stretch, left)):
                start = position
                byte = data[position]
                low_bits |= byte
                if byte < 0x80:
                    position += 1 + (byte >> 1)
                    continue
                second = data[position + 1]
                if second < 0x80:
                    position += 2 + ((byte & 0x7F) >> 1) + (second << 6)
                else:
                    position = _hop_long(data, position)
            left -= min(stretch, left)
            passed = _count_alike(data, start, position - start, left)
            position += passed * (position - start)
            left -= passed
            stretch = _SHORTEST_STRETCH if passed else min(2 * stretch, _LONGEST_STRETCH)
    except IndexError:
        return Refusal(Reason.BAD_RECORD_LENGTH, f"a record starts beyond the {end} bytes of the batch")
    if low_bits & 1:
        return Refusal(Reason.BAD_RECORD_LENGTH, "a record's length is negative")
    if position != end:
        detail = f"{count} records end at byte {position} of a batch of {end} bytes"
        return Refusal(Reason.RECORDS_MISCOUNTED, detail)
    return None


def _count_alike(data: memoryview, start: int, size: int, most: int) -> int:
    """Return how many records in a row have the length of the one at ``start``, of ``size`` bytes.

    One strided copy per byte of the length fetches that byte of all records compared. The number of records
    compared doubles, so a batch made to mislead costs no more than one whose records are skipped singly.

    Args:
        data: The batch.
        start: The position of a record.
        size: Its bytes, with its length.
        most: The number of records that follow, at most.
    """
    behind = start + size
    most = min(most, (len(data) - behind) // size)
    if most <= 0 or data[behind] != data[start]:
        return 0
    width = 1
    while data[start + width - 1] >= 0x80:
        width += 1
    done, window = 0, _FIRST_WINDOW
    # Compare windows of twice as many records each, until one holds a record of another length.
    while done < most:
        window = min(2 * window, most - done)
        first, beyond = behind + done * size, behind + (done + window) * size
        alike = window
        for column in range(width):
            found = data[first + column : beyond : size].tobytes()
            byte = data[start + column : start + column + 1]
            alike = min(alike, window - len(found.lstrip(byte)))
        done += alike
        if alike < window:
            break
    return done


def _hop_long(data: memoryview, position: int) -> int:
    """Return the position after a record with a length of up to five bytes; beyond the batch if more."""
    value = shift = 0
    for at in range(position, position + 5):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return at + 1 + (value >> 1)
        shift += 7
    return len(data) + 1

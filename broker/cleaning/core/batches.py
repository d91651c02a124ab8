"""The records that a cleaning keeps of one batch.

Source: ``LogCleaner.scala`` (``Cleaner.shouldRetainRecord``) and ``MemoryRecords.java`` (``filterTo``) of
Kafka 2.8; KIP-58, KIP-98. Offsets never change and batches never merge. Unlike in Kafka, the remaining
records are copied as they are, so the base timestamp, from which theirs are counted, stays too.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.cleaning.core.offset_map import OffsetMap
from barnabas.broker.core.records.compression import compress
from barnabas.broker.core.records.keyed_records import NO_KEY, keyed_records
from barnabas.broker.core.records.record_batch import (
    CODEC_MASK,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    Codec,
    RecordBatch,
    TimestampType,
    with_records,
)
from barnabas.broker.core.records.records import CorruptRecordsError, decompress, most_records


class CleanedBatch(NamedTuple):
    """A batch after cleaning.

    Attributes:
        batch: The batch itself if nothing was dropped, a smaller one, or None if nothing is kept.
        kept: The number of records that stay.
        without_key: The number of records without a key, which a compacted topic should not have.
    """

    batch: RecordBatch | None
    kept: int
    without_key: int


def cleaned(
    batch: RecordBatch, offsets: OffsetMap, *, retains_deletes: bool, keeps_sequence: bool
) -> CleanedBatch:
    """Remove the records of a data batch whose keys have a later record.

    Args:
        batch: The batch.
        offsets: The last offset of each key in the dirty section.
        retains_deletes: Whether tombstones stay.
        keeps_sequence: Whether the batch is the last one of an active producer: its header stays at least.

    Raises:
        CorruptRecordsError: The records cannot be read.
    """
    header = batch.header
    if header.base_offset > offsets.latest_offset:
        return CleanedBatch(batch, header.record_count, 0)
    records = records_in(batch)
    base_offset, latest, last_of = header.base_offset, offsets.latest_offset, offsets.get
    runs: list[bytes] = []
    run_begin = run_end = kept = without_key = 0
    max_delta: int | None = None
    for begin, end, timestamp_delta, offset_delta, key_begin, key_end, has_value in keyed_records(
        header, records
    ):
        offset = base_offset + offset_delta
        if offset > latest:
            stays = True
        elif key_begin == NO_KEY:
            stays = False
            without_key += 1
        else:
            stays = (has_value or retains_deletes) and offset >= last_of(records[key_begin:key_end])
        if not stays:
            continue
        kept += 1
        if max_delta is None or timestamp_delta > max_delta:
            max_delta = timestamp_delta
        if begin != run_end:
            runs.append(records[run_begin:run_end])
            run_begin = begin
        run_end = end
    if kept == header.record_count and kept:
        return CleanedBatch(batch, kept, without_key)
    if max_delta is None:
        return CleanedBatch(emptied(batch) if keeps_sequence else None, 0, without_key)
    runs.append(records[run_begin:run_end])
    return CleanedBatch(_rebuilt(header, b"".join(runs), kept, max_delta), kept, without_key)


def records_in(batch: RecordBatch) -> bytes:
    """Return the records of a batch, decompressed.

    Raises:
        CorruptRecordsError: They cannot be, or are more than fit into the batch.
    """
    header, most = batch.header, most_records(batch.header)
    if header.record_count > most:
        found = f"{header.record_count} records in the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{found}, expected {most} at most")
    return bytes(decompress(batch))


def emptied(batch: RecordBatch) -> RecordBatch:
    """Return the header of a batch alone: it holds the offsets, and the sequence of its producer."""
    header = batch.header
    if not header.record_count:
        return batch
    return with_records(
        header._replace(
            attributes=header.attributes & ~CODEC_MASK, base_timestamp=NO_TIMESTAMP, record_count=0
        ),
        b"",
    )


def _rebuilt(header: BatchHeader, records: Buffer, count: int, max_delta: int) -> RecordBatch:
    """Make the batch of ``header`` with fewer records; offsets, sequence and epochs stay."""
    if header.timestamp_type is TimestampType.CREATE_TIME:
        header = header._replace(max_timestamp=header.base_timestamp + max_delta)
    content = compress(Codec(header.codec_number), records)
    return with_records(header._replace(record_count=count), content)

"""The search for the first record of a time, in steps: a batch of a few KB may unpack to millions of records.

Source: ``Log.fetchOffsetByTimestamp`` and ``FileRecords.searchForTimestamp`` of Kafka 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.offsets_before import MAX_TIMESTAMP, OffsetAndTime
from barnabas.broker.core.records.records import CorruptRecordsError, first_record_since
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.results import TimestampAndOffset
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset
from barnabas.cluster.model.steps import Steps


def offset_at(log: Log, timestamp: int) -> Steps[TimestampAndOffset | None]:
    """Return the first record whose timestamp is ``timestamp`` (milliseconds) or later, or None.

    `MAX_TIMESTAMP` finds the first record with the largest timestamp of the log (KIP-734), as in Kafka since
    3.7.1; before, Kafka gave the last offset of that record's batch (KAFKA-16310). If DeleteRecords has
    deleted that record, but not its segment yet, there is none.

    The record may lie at or above the high watermark, which the caller checks. The log may change or be
    closed between two steps.

    Raises:
        CorruptLogError: There is no valid batch where one should begin, or the batch of the record cannot be
            decoded.
        KafkaStorageError: The disk fails, or the log was closed meanwhile.
    """
    offset = log.log_start_offset
    # The batch may have no such record from the log start on, although its maximum timestamp is large
    # enough: try the next.
    while (found := log.batch_since(timestamp, offset)) is not None:
        header = found.batch.header
        if timestamp == MAX_TIMESTAMP:
            timestamp = header.max_timestamp
        try:
            record = yield from first_record_since(found.batch, timestamp, log.log_start_offset)
        except CorruptRecordsError as error:
            at = Offset(header.base_offset)
            raise CorruptLogError(found.path, found.position, at, str(error)) from error
        if record is not None:
            epoch = LeaderEpoch(header.partition_leader_epoch)
            return TimestampAndOffset(record.timestamp, record.offset, epoch)
        offset = Offset(header.next_offset)
        yield None
    return None


def segment_times(log: Log, now_ms: int) -> list[OffsetAndTime]:
    """Return the start of each segment with the time of its last write, and the log's end if it lies above.

    Raises:
        KafkaStorageError: The disk fails.
    """
    spans = log.spans()
    rows = []
    for span in spans:
        try:
            modified_ns = span.path.stat().st_mtime_ns if span.size else now_ms * 1_000_000
        except OSError as error:
            raise log.storage_error("reading the time of a segment", error) from error
        start = max(span.base_offset, log.log_start_offset)
        rows.append(OffsetAndTime(start, modified_ns // 1_000_000))
    if spans and spans[-1].size:
        rows.append(OffsetAndTime(log.log_end_offset, now_ms))
    return rows

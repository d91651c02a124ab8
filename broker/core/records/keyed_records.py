"""The keys of the records in a batch, which compaction goes by.

Record layout: ``clients/.../record/DefaultRecord.java`` of Kafka 2.8. This is the inner loop of compaction,
about a microsecond a record, so integers of one and two bytes are decoded in line.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.core.records.batch_validation import MAX_FAULTS
from barnabas.broker.core.records.record_batch import BatchHeader, RecordBatch
from barnabas.broker.core.records.records import (
    STRETCH_BYTES,
    STRETCH_RECORDS,
    BadLayoutError,
    CorruptRecordsError,
    bad_layout,
    opened,
    read_varint,
)
from barnabas.broker.core.records.refusals import Reason, RecordFault, Refusal
from barnabas.cluster.model.steps import Steps

NO_KEY = -1

_VARINT_BYTES = 5
_VARLONG_BYTES = 10


KeyedRecord = tuple[int, int, int, int, int, int, bool]
"""A record among the decompressed records of its batch, as positions and deltas.

The position of its length; the position of the next record; its timestamp in milliseconds from the batch's
base timestamp; its offset from the batch's base offset; the positions at which its key begins and ends, both
-1 without a key; whether its value is not null (a record with a null value is a tombstone).
"""


def keyed_records(header: BatchHeader, records: bytes) -> Iterator[KeyedRecord]:
    """Yield each of the records that ``header`` counts, in order.

    Raises: ``records``, or a key does not fit into its record.
    """
    begin, size = 0, len(records)
    try:
        for _ in range(header.record_count):
            byte = records[begin]
            if byte < 0x80:
                end = begin + 1 + ((byte >> 1) ^ -(byte & 1))
                at = begin + 2
            else:
                length, at = read_varint(records, begin, _VARINT_BYTES)
                end, at = at + length, at + 1
            byte = records[at]
            timestamp_delta, at = (
                ((byte >> 1) ^ -(byte & 1), at + 1)
                if byte < 0x80
                else read_varint(records, at, _VARLONG_BYTES)
            )
            byte = records[at]
            offset_delta, at = (
                ((byte >> 1) ^ -(byte & 1), at + 1)
                if byte < 0x80
                else read_varint(records, at, _VARINT_BYTES)
            )
            byte = records[at]
            length, key_begin = (
                ((byte >> 1) ^ -(byte & 1), at + 1)
                if byte < 0x80
                else read_varint(records, at, _VARINT_BYTES)
            )
            if length >= 0:
                at = key_end = key_begin + length
            else:
                at, key_begin, key_end = key_begin, NO_KEY, NO_KEY
            if at >= end or end > size:
                raise bad_layout(header, records)
            # A length below zero, which is null, is odd in the zig-zag encoding.
            yield begin, end, timestamp_delta, offset_delta, key_begin, key_end, not records[at] & 1
            begin = end
    except (IndexError, BadLayoutError) as error:
        raise bad_layout(header, records) from error
    if begin != size:
        raise bad_layout(header, records)


def check_keys(batch: RecordBatch, partition: str) -> Steps[Refusal | None]:
    """Check that every record of a client's batch has a key, as a compacted topic wants it.

    One record without a key refuses the whole batch (``LogValidator.validateKey``).

    Args:
        batch: As ``batch_validation.check_leader_append`` has let it through.
        partition: The partition's name, for the message.

    Returns:
        The refusal, or None where all have keys.
    """
    faults: list[RecordFault] = []
    header, next_pause = batch.header, STRETCH_BYTES
    message = f"Compacted topic cannot accept message without key in topic partition {partition}."
    try:
        records = bytes((yield from opened(batch)))
        for index, (_, end, _, _, key_begin, _, _) in enumerate(keyed_records(header, records)):
            if key_begin == NO_KEY and len(faults) < MAX_FAULTS:
                faults.append(RecordFault(index, message))
            if end > next_pause or not index % STRETCH_RECORDS:
                next_pause = end + STRETCH_BYTES
                yield None
    except CorruptRecordsError as error:
        return Refusal(Reason.UNREADABLE_RECORDS, str(error))
    return Refusal(Reason.KEY_MISSING, "", tuple(faults)) if faults else None

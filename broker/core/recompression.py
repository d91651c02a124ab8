"""A batch as a topic's ``compression.type`` wants it, where that is not what the producer chose.

The one thing on the write path that opens a batch: its records must be had uncompressed to be compressed
anew, so they are checked one by one, as Kafka checks all. Source: ``LogValidator.scala``
(``validateMessagesAndAssignOffsetsCompressed``) of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from broker.core.batch_validation import check_size, is_far_from, timestamps_refused
from broker.core.compression import compress
from broker.core.log_config import LogConfig
from broker.core.record_batch import (
    CODEC_MASK,
    BatchHeader,
    Codec,
    RecordBatch,
    TimestampType,
    with_records,
)
from broker.core.records import CorruptRecordsError, decompress, record_places, survey
from broker.core.refusals import Reason, Refusal

AS_PRODUCED = "producer"
"""The ``compression.type`` that keeps what the producer chose."""

_TARGETS = {
    "uncompressed": Codec.UNCOMPRESSED,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def recompress(batch: RecordBatch, config: LogConfig, now_ms: int) -> RecordBatch | Refusal:
    """A client's batch under the codec of ``config``: the same one where it has that codec already.

    What is made anew has offset deltas without gaps and the true maximum timestamp; producer, epoch, sequence
    and the transactional bit stay. Control batches are left alone.

    Args:
        batch: As ``batch_validation.check_leader_append`` has let it through.
        config: The topic's settings.
        now_ms: The broker's wall clock.

    Returns:
        The batch to write; a refusal where its records cannot be read, or the result is too large.
    """
    header, target = batch.header, _TARGETS.get(config.compression_type)
    if target is None or target == header.codec_number or header.is_control:
        return batch
    try:
        records = decompress(batch)
        seen = survey(header, records)
    except CorruptRecordsError as error:
        return Refusal(Reason.UNREADABLE_RECORDS, str(error))
    if config.message_timestamp_type is TimestampType.CREATE_TIME:
        for timestamp in (seen.earliest, seen.latest):
            if is_far_from(now_ms, timestamp, config):
                return timestamps_refused(timestamp, batch, config, now_ms)
        header = header._replace(max_timestamp=seen.latest)
    if seen.has_gaps:
        records = b"".join(chain.from_iterable(_renumbered(header, records)))
    header = header._replace(attributes=header.attributes & ~CODEC_MASK | target)
    rebuilt = with_records(header, compress(target, records))
    return check_size(rebuilt.header, config) or rebuilt


def _renumbered(header: BatchHeader, records: bytes) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """The parts of each record with its index as offset delta."""
    for index, place in enumerate(record_places(header, records)):
        before, delta = records[place.start : place.offset_at], _varint(index)
        after = records[place.key_at : place.end]
        yield _varint(len(before) + len(delta) + len(after)), before, delta, after


def _varint(value: int) -> bytes:
    """A number that is not negative, zig-zag encoded."""
    rest, encoded = value << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)

"""The recompression of a batch whose codec is not the topic's ``compression.type``.

This is the one step of the write path that opens a batch. Its records must be uncompressed before they can be
compressed again, so they are checked one by one, as Kafka checks all.
Source: ``LogValidator.scala`` (``validateMessagesAndAssignOffsetsCompressed``) of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

from barnabas.broker.core.records.batch_validation import (
    AppendOrigin,
    check_leader_append,
    check_size,
    is_far_from,
    timestamps_refused,
)
from barnabas.broker.core.records.compression import compress
from barnabas.broker.core.records.keyed_records import check_keys
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import (
    CODEC_MASK,
    BatchHeader,
    Buffer,
    Codec,
    RecordBatch,
    TimestampType,
    with_records,
)
from barnabas.broker.core.records.records import (
    STRETCH_BYTES,
    CorruptRecordsError,
    most_records,
    opened,
    record_places,
    survey,
    write_varint,
)
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.cluster.model.steps import Steps, at_once

AS_PRODUCED = "producer"
"""The ``compression.type`` that keeps the producer's codec."""

_TARGETS = {
    "uncompressed": Codec.UNCOMPRESSED,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

SHORT_BATCH_BYTES = 1_024
SHORT_BATCH_RECORDS = 100
"""The largest batch, in bytes and records, that is recompressed without pausing: 1 to 2 ms.

A zstd batch is never short, because 1 KB may unpack to 32 MB; with gzip, it unpacks to 1 MB at most.
"""

Recompression = Steps[RecordBatch | Refusal]
"""Steps whose result is the batch to write, or the refusal."""


def target_codec(header: BatchHeader, config: LogConfig) -> Codec | None:
    """Return the codec to recompress a client's batch with, or None to write it unchanged.

    Control batches are never recompressed.
    """
    target = _TARGETS.get(config.compression_type)
    return None if target is None or target == header.codec_number or header.is_control else target


def is_short(header: BatchHeader) -> bool:
    """Return whether the batch can be recompressed without pausing."""
    is_small = header.size <= SHORT_BATCH_BYTES and header.record_count <= SHORT_BATCH_RECORDS
    return is_small and header.codec_number != Codec.ZSTD


def must_open(config: LogConfig) -> bool:
    """Return whether clients' batches must be opened, to recompress them or to check for keys."""
    return config.compression_type != AS_PRODUCED or config.is_compacted


def long_recompression(
    records: Buffer | None, config: LogConfig, now_ms: int, partition: str
) -> Recompression | None:
    """Return the recompression that must precede the append of a client's record field, or None.

    None means that the field can be appended at once, or will be refused.
    """
    if not must_open(config):
        return None
    batch = check_leader_append(records, config, now_ms, AppendOrigin.CLIENT)
    if isinstance(batch, Refusal) or is_short(batch.header):
        return None
    if not config.is_compacted and target_codec(batch.header, config) is None:
        return None
    return recompression(batch, config, now_ms, partition)


def recompress(batch: RecordBatch, config: LogConfig, now_ms: int, partition: str) -> RecordBatch | Refusal:
    """Recompress a client's batch without pausing; see ``recompression``."""
    return at_once(recompression(batch, config, now_ms, partition))


def recompression(batch: RecordBatch, config: LogConfig, now_ms: int, partition: str) -> Recompression:
    """Recompress a client's batch with the codec of ``config``; return the same batch if it has that codec.

    A recompressed batch has offset deltas without gaps and the true maximum timestamp. Producer, epoch,
    sequence and the transactional bit stay.

    Args:
        batch: A batch that ``batch_validation.check_leader_append`` admitted.
        config: The topic's settings.
        now_ms: The broker's wall clock.
        partition: The partition's name, for the message of a refusal.

    Returns:
        The batch to write; a refusal if a record has no key though the topic is compacted, or if the records
        cannot be read, are too many, or the result is too large.
    """
    header, target = batch.header, target_codec(batch.header, config)
    if config.is_compacted and not header.is_control:
        refusal = yield from check_keys(batch, partition)
        if refusal is not None:
            return refusal
    if target is None:
        return batch
    most = most_records(header)
    if header.record_count > most:
        detail = f"{header.record_count} records, expected {most} at most"
        return Refusal(Reason.UNREADABLE_RECORDS, detail)
    try:
        records = yield from opened(batch)
        seen = yield from survey(header, records)
    except CorruptRecordsError as error:
        return Refusal(Reason.UNREADABLE_RECORDS, str(error))
    if config.message_timestamp_type is TimestampType.CREATE_TIME:
        for timestamp in (seen.earliest, seen.latest):
            if is_far_from(now_ms, timestamp, config):
                return timestamps_refused(timestamp, batch, config, now_ms)
        header = header._replace(max_timestamp=seen.latest)
    content: Buffer = (yield from _renumbered(header, records)) if seen.has_gaps else records
    header = header._replace(attributes=header.attributes & ~CODEC_MASK | target)
    rebuilt = yield lambda: with_records(header, compress(target, content))
    return check_size(rebuilt.header, config) or cast("RecordBatch", rebuilt)


def _renumbered(header: BatchHeader, records: bytes | memoryview) -> Generator[None, None, bytearray]:
    """Return the records with their indexes as offset deltas, which leaves no gaps."""
    renumbered, next_pause = bytearray(), STRETCH_BYTES
    for index, place in enumerate(record_places(header, records)):
        delta = write_varint(index)
        size = place.offset_at - place.start + len(delta) + place.end - place.key_at
        renumbered += write_varint(size)
        renumbered += records[place.start : place.offset_at]
        renumbered += delta
        renumbered += records[place.key_at : place.end]
        if place.end > next_pause:
            next_pause = place.end + STRETCH_BYTES
            yield
    return renumbered

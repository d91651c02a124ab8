"""A batch as a topic's ``compression.type`` wants it, where that is not what the producer chose.

The one thing on the write path that opens a batch: its records must be had uncompressed to be compressed
anew, so they are checked one by one, as Kafka checks all. Source: ``LogValidator.scala``
(``validateMessagesAndAssignOffsetsCompressed``) of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

from barnabas.broker.core.batch_validation import (
    AppendOrigin,
    check_leader_append,
    check_size,
    is_far_from,
    timestamps_refused,
)
from barnabas.broker.core.compression import compress
from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.core.record_batch import (
    CODEC_MASK,
    BatchHeader,
    Buffer,
    Codec,
    RecordBatch,
    TimestampType,
    with_records,
)
from barnabas.broker.core.records import (
    STRETCH_BYTES,
    CorruptRecordsError,
    most_records,
    opened,
    record_places,
    survey,
)
from barnabas.broker.core.refusals import Reason, Refusal
from barnabas.broker.core.steps import Steps, at_once

AS_PRODUCED = "producer"
"""The ``compression.type`` that keeps what the producer chose."""

_TARGETS = {
    "uncompressed": Codec.UNCOMPRESSED,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

SHORT_BATCH_BYTES = 1_024
SHORT_BATCH_RECORDS = 100
"""A batch of at most so many bytes and records is recompressed within a millisecond or two, or refused.

Not one of zstd, of which 1 KB may unpack to 32 MB; with gzip that is 1 MB at most.
"""

Recompression = Steps[RecordBatch | Refusal]
"""Comes to what is written, or why nothing is."""


def target_codec(header: BatchHeader, config: LogConfig) -> Codec | None:
    """The codec under which a client's batch must be written anew, or None where it is written as it came.

    Control batches are left alone.
    """
    target = _TARGETS.get(config.compression_type)
    return None if target is None or target == header.codec_number or header.is_control else target


def is_short(header: BatchHeader) -> bool:
    """Whether recompressing the batch takes no time to speak of."""
    is_small = header.size <= SHORT_BATCH_BYTES and header.record_count <= SHORT_BATCH_RECORDS
    return is_small and header.codec_number != Codec.ZSTD


def long_recompression(records: Buffer | None, config: LogConfig, now_ms: int) -> Recompression | None:
    """What must be done with a client's record field before it is appended, where that takes long.

    None where it may be appended at once, or will be refused.
    """
    if config.compression_type == AS_PRODUCED:
        return None
    batch = check_leader_append(records, config, now_ms, AppendOrigin.CLIENT)
    if isinstance(batch, Refusal) or is_short(batch.header) or target_codec(batch.header, config) is None:
        return None
    return recompression(batch, config, now_ms)


def recompress(batch: RecordBatch, config: LogConfig, now_ms: int) -> RecordBatch | Refusal:
    """A client's batch under the codec of ``config``, all of it at once; see ``recompression``."""
    return at_once(recompression(batch, config, now_ms))


def recompression(batch: RecordBatch, config: LogConfig, now_ms: int) -> Recompression:
    """A client's batch under the codec of ``config``: the same one where it has that codec already.

    What is made anew has offset deltas without gaps and the true maximum timestamp; producer, epoch, sequence
    and the transactional bit stay.

    Args:
        batch: As ``batch_validation.check_leader_append`` has let it through.
        config: The topic's settings.
        now_ms: The broker's wall clock.

    Returns:
        The batch to write; a refusal where its records cannot be read, are too many, or the result is too
        large.
    """
    header, target = batch.header, target_codec(batch.header, config)
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
    """The records with their indexes as offset deltas."""
    renumbered, next_pause = bytearray(), STRETCH_BYTES
    for index, place in enumerate(record_places(header, records)):
        delta = _varint(index)
        size = place.offset_at - place.start + len(delta) + place.end - place.key_at
        renumbered += _varint(size)
        renumbered += records[place.start : place.offset_at]
        renumbered += delta
        renumbered += records[place.key_at : place.end]
        if place.end > next_pause:
            next_pause = place.end + STRETCH_BYTES
            yield
    return renumbered


def _varint(value: int) -> bytes:
    """A number that is not negative, zig-zag encoded."""
    rest, encoded = value << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)

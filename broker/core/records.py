"""The timestamps of the records in a batch: the one question for which a batch is opened.

A lookup by time must name a record, not a batch (``FileRecords.searchForTimestamp`` of Kafka 2.8). Record
layout: ``clients/.../record/DefaultRecord.java``; Snappy framing: ``SnappyInputStream`` of xerial's snappy-
java.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

import cramjam

from broker.core.record_batch import HEADER_SIZE, Codec, RecordBatch, TimestampType
from cluster.model.ids import Offset

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE = 16
_BLOCK_SIZE = Struct(">i")


class RecordTime(NamedTuple):
    """A record's timestamp in milliseconds, and its offset."""

    timestamp: int
    offset: Offset


class CorruptRecordsError(Exception):
    """The records of a batch cannot be read, although its checksum is right."""


def record_times(batch: RecordBatch) -> Iterator[RecordTime]:
    """Timestamp and offset of each record, in order.

    Raises:
        CorruptRecordsError: The records are not what the header says.
    """
    header = batch.header
    data = decompress(batch)
    is_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    position = 0
    try:
        for _ in range(header.record_count):
            length, body = _varint(data, position)
            timestamp_delta, after = _varint(data, body + 1)
            offset_delta, _ = _varint(data, after)
            timestamp = header.max_timestamp if is_append_time else header.base_timestamp + timestamp_delta
            yield RecordTime(timestamp, Offset(header.base_offset + offset_delta))
            position = body + length
    except IndexError as error:
        detail = f"{header.record_count} records of the batch at offset {header.base_offset}"
        raise CorruptRecordsError(f"{detail} do not fit into {len(data)} bytes") from error


def decompress(batch: RecordBatch) -> bytes:
    """The records of a batch, one behind the other, not compressed."""
    body = bytes(batch.data[HEADER_SIZE:])
    try:
        match batch.header.codec_number:
            case Codec.UNCOMPRESSED:
                return body
            case Codec.GZIP:
                return bytes(cramjam.gzip.decompress(body))
            case Codec.SNAPPY:
                return _decompress_snappy(body)
            case Codec.LZ4:
                return bytes(cramjam.lz4.decompress(body))
            case Codec.ZSTD:
                return bytes(cramjam.zstd.decompress(body))
            case unknown:
                raise CorruptRecordsError(
                    f"codec {unknown} of the batch at offset {batch.header.base_offset}"
                )
    except cramjam.DecompressionError as error:
        detail = f"the batch at offset {batch.header.base_offset} cannot be decompressed"
        raise CorruptRecordsError(f"{detail}: {error}") from error


def _decompress_snappy(body: bytes) -> bytes:
    if not body.startswith(_XERIAL_MAGIC):
        return bytes(cramjam.snappy.decompress_raw(body))
    blocks, position = [], _XERIAL_HEADER_SIZE
    while position + _BLOCK_SIZE.size <= len(body):
        (size,) = _BLOCK_SIZE.unpack_from(body, position)
        position += _BLOCK_SIZE.size
        blocks.append(bytes(cramjam.snappy.decompress_raw(body[position : position + size])))
        position += size
    return b"".join(blocks)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The zig-zag integer at ``position``, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7

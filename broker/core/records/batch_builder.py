"""Record batches that this broker writes itself, such as a coordinator's.

Layout: ``clients/.../record/DefaultRecord.java`` of Kafka 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.records.compression import compress
from barnabas.broker.core.records.record_batch import (
    HEADER_SIZE,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    Codec,
    RecordBatch,
    with_records,
)
from barnabas.broker.core.records.records import write_varint

_NULL = b"\x01"
"""The length -1, zig-zag encoded."""

_FIXED_BYTES = 3
"""Attributes, a timestamp delta of 0 and no headers: a byte each."""


class BatchBuilder:
    """Collects the records of one batch; all have the same timestamp.

    Args:
        timestamp_ms: The timestamp, milliseconds since 1970.
        max_bytes: The size that the batch may have before it is compressed, header included.
    """

    def __init__(self, timestamp_ms: int, max_bytes: int) -> None:
        self._timestamp_ms = timestamp_ms
        self._max_bytes = max_bytes
        self._records = bytearray()
        self._count = 0

    @property
    def count(self) -> int:
        """The number of records so far."""
        return self._count

    def add(self, key: bytes, value: bytes | None) -> bool:
        """Append a record; return False, and append nothing, if the batch would become too large."""
        delta, key_length = write_varint(self._count), write_varint(len(key))
        value_length = _NULL if value is None else write_varint(len(value))
        size = _FIXED_BYTES + len(delta) + len(key_length) + len(key) + len(value_length) + len(value or b"")
        length = write_varint(size)
        if HEADER_SIZE + len(self._records) + len(length) + size > self._max_bytes:
            return False
        parts = (length, b"\0\0", delta, key_length, key, value_length, value or b"", b"\0")
        self._records += b"".join(parts)
        self._count += 1
        return True

    def build(self, codec: Codec) -> RecordBatch:
        """Return the batch, which has one record at least; its leader stamps offset and leader epoch."""
        header = BatchHeader(
            base_offset=0,
            batch_length=0,
            partition_leader_epoch=-1,
            magic=MAGIC,
            crc=0,
            attributes=codec,
            last_offset_delta=self._count - 1,
            base_timestamp=self._timestamp_ms,
            max_timestamp=self._timestamp_ms,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=-1,
            base_sequence=NO_SEQUENCE,
            record_count=self._count,
        )
        return with_records(header, compress(codec, self._records))

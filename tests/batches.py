"""Record batches as tests read them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from barnabas.broker.core.records.record_batch import (
    FRAME_SIZE,
    HEADER_SIZE,
    Buffer,
    RecordBatch,
    parse_header,
)


def whole_batches(data: Buffer) -> Iterator[RecordBatch]:
    """Yield the whole batches of ``data`` as views; stop before a partial tail or a bad length."""
    view = memoryview(data)
    position, end = 0, len(view)
    while end - position >= HEADER_SIZE:
        header = parse_header(view, position)
        batch_end = position + header.batch_length + FRAME_SIZE
        if batch_end > end or header.batch_length < HEADER_SIZE - FRAME_SIZE:
            return
        yield RecordBatch(header, view[position:batch_end])
        position = batch_end


def batch_builder(codec: int, producer: tuple[int, int, int]) -> DefaultRecordBatchBuilder:
    """A builder without a limit of size; ``producer`` is id, epoch and first sequence, -1 for none."""
    producer_id, producer_epoch, sequence = producer
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        batch_size=1 << 30,
    )


def keyed_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    base_offset: int = 0,
    codec: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    timestamp: int = 1_700_000_000_000,
    epoch: int = 0,
    step_ms: int = 1,
) -> bytes:
    """A batch of these keys and values, as a library that is not ours builds it.

    The first record has ``timestamp``, each further one is ``step_ms`` later.
    """
    builder = batch_builder(codec, producer)
    for index, (key, value) in enumerate(records):
        builder.append(
            index, timestamp=timestamp + index * step_ms, key=key, value=value, headers=[("h", b"1")]
        )
    built = bytes(builder.build())
    return Struct(">qii").pack(base_offset, len(built) - FRAME_SIZE, epoch) + built[16:]


def records_of(batch: RecordBatch) -> list[tuple[int, bytes | None, bytes | None, int]]:
    """Offset, key, value and timestamp of each record, as a library that is not ours reads them."""
    if not batch.header.record_count:
        return []
    read = DefaultRecordBatch(bytes(batch.data))
    assert read.validate_crc()
    return [(each.offset, each.key, each.value, each.timestamp) for each in read]

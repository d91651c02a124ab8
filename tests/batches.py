"""Record batches as tests read them back."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.core.record_batch import FRAME_SIZE, HEADER_SIZE, Buffer, RecordBatch, parse_header


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

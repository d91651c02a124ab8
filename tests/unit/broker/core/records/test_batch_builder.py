"""Batches that the broker writes itself: read back, by our reader and by one that is not ours."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.broker.core.records.record_batch import HEADER_SIZE, Codec
from barnabas.broker.core.records.records import CorruptRecordsError, decompress, key_values, write_varint

NOW = 1_700_000_000_000


def builder(max_bytes=10_000):
    return BatchBuilder(NOW, max_bytes)


@pytest.mark.parametrize("codec", [Codec.UNCOMPRESSED, Codec.GZIP, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY])
def test_records_are_read_back(codec):
    written = [(b"k" * 300, b"v"), (b"", b""), (b"gone", None)]
    batch = builder()
    assert all(batch.add(key, value) for key, value in written)
    assert batch.count == 3
    built = batch.build(codec)
    assert built.has_valid_crc
    assert built.header.codec_number == codec
    read = list(key_values(built.header, bytes(decompress(built))))
    assert read == [(number, *each) for number, each in enumerate(written)]


def test_a_value_that_reaches_into_the_next_record_is_refused():
    batch = builder()
    batch.add(b"k", b"vv")
    batch.add(b"k", b"vv")
    built = batch.build(Codec.UNCOMPRESSED)
    longer = bytes(decompress(built)).replace(write_varint(2) + b"vv", write_varint(5) + b"vv", 1)
    with pytest.raises(
        CorruptRecordsError, match="a record of the batch at offset 0 is not filled by what it holds"
    ):
        list(key_values(built.header, longer))


def test_another_library_reads_the_same():
    batch = builder()
    batch.add(b"key", b"value")
    batch.add(b"gone", None)
    read = DefaultRecordBatch(bytearray(batch.build(Codec.UNCOMPRESSED).data))
    assert read.validate_crc()
    assert [(each.offset, each.timestamp, each.key, each.value) for each in read] == [
        (0, NOW, b"key", b"value"),
        (1, NOW, b"gone", None),
    ]


def test_a_record_that_does_not_fit_is_left_out():
    size = len(b"\x00\x00\x00\x02k\x04vv\x00") + 1
    batch = builder(HEADER_SIZE + 2 * size)
    assert [batch.add(b"k", b"vv") for _ in range(3)] == [True, True, False]
    assert batch.count == 2
    assert batch.build(Codec.UNCOMPRESSED).header.size == HEADER_SIZE + 2 * size


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, b"\x00"), (63, b"\x7e"), (64, b"\x80\x01"), (8192, b"\x80\x80\x01")]
)
def test_numbers_are_zig_zag_encoded(value, encoded):
    assert write_varint(value) == encoded

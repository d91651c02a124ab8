from __future__ import annotations

import contextlib
import re
import tracemalloc
from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records import records as records_module
from barnabas.broker.core.records.batch_validation import check_leader_append
from barnabas.broker.core.records.compression import compress
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.recompression import is_short, long_recompression, recompress, recompression
from barnabas.broker.core.records.record_batch import (
    HEADER_SIZE,
    BatchHeader,
    Codec,
    RecordBatch,
    TimestampType,
    parse_header,
    with_records,
)
from barnabas.broker.core.records.refusals import Reason, Refusal
from tests.batches import keyed_batch, records_of

NOW = 1_700_000_000_000
TIMES = [NOW + 5, NOW - 3, NOW + 90, NOW]
NAMES = {codec: codec.name.lower() for codec in Codec}


def config(codec, **more):
    return LogConfig(compression_type=NAMES.get(codec, codec), **more)


def taken(data):
    batch = check_leader_append(data, LogConfig(), NOW, None)
    assert isinstance(batch, RecordBatch), batch
    return batch


def contents(data):
    """What a decoder that is not ours reads, and the checksum is right."""
    read = DefaultRecordBatch(bytes(data))
    assert read.validate_crc()
    return [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in read]


@pytest.mark.parametrize("target", Codec)
@pytest.mark.parametrize("source", Codec)
def test_every_codec_becomes_every_other(batch, source, target):
    data = batch(4, value=b"value" * 50, timestamps=TIMES, codec=source, producer=(7, 3, 11))
    before = taken(data)
    after = recompress(before, config(target), NOW, "t-0")
    assert isinstance(after, RecordBatch)
    assert after.header.codec_number == target
    assert after.has_valid_crc
    assert after.header.size == len(after.data)
    assert contents(after.data) == contents(data)
    same = ("producer_id", "producer_epoch", "base_sequence", "record_count", "last_offset_delta")
    assert [getattr(after.header, each) for each in same] == [getattr(before.header, each) for each in same]
    assert after.header.max_timestamp == max(TIMES)


@pytest.mark.parametrize("codec", Codec)
def test_what_has_the_codec_already_is_the_very_same(batch, codec):
    before = taken(batch(4, codec=codec))
    assert recompress(before, config(codec), NOW, "t-0") is before
    assert recompress(before, config("producer"), NOW, "t-0") is before


def test_a_control_batch_is_left_alone(batch, patch_batch):
    data = patch_batch(batch(1), 21, b"\x00\x20")
    control = RecordBatch(parse_header(data), memoryview(data))
    assert recompress(control, config(Codec.GZIP), NOW, "t-0") is control


def test_a_wrong_maximum_timestamp_is_put_right(batch, patch_batch):
    data = patch_batch(batch(4, timestamps=TIMES), 35, (NOW + 7777).to_bytes(8))
    assert recompress(taken(data), config(Codec.LZ4), NOW, "t-0").header.max_timestamp == max(TIMES)


@pytest.mark.parametrize("target", ["producer", Codec.LZ4])
def test_a_compacted_topic_takes_only_records_with_keys(target):
    compacted = config(target, cleanup_policy=frozenset({"compact"}))
    without = taken(keyed_batch([(b"a", b"v"), (None, b"v")]))
    refusal = recompress(without, compacted, NOW, "t-0")
    assert refusal.reason is Reason.KEY_MISSING
    assert [fault.index for fault in refusal.faults] == [1]
    with_keys = taken(keyed_batch([(b"a", b"v"), (b"b", None)]))
    after = recompress(with_keys, compacted, NOW, "t-0")
    assert records_of(after) == records_of(with_keys)


def test_each_timestamp_is_checked(batch, patch_batch):
    times = [NOW, NOW + 5000, NOW, NOW - 2001]
    data = patch_batch(batch(4, timestamps=times), 35, NOW.to_bytes(8))
    limited = config(Codec.ZSTD, message_timestamp_difference_max_ms=2000)
    refusal = recompress(taken(data), limited, NOW, "t-0")
    assert refusal.reason is Reason.TIMESTAMP_OUT_OF_RANGE
    assert [fault.index for fault in refusal.faults] == [1, 3]
    stamped = replace(limited, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert isinstance(recompress(taken(data), stamped, NOW, "t-0"), RecordBatch)


def test_records_without_timestamps_have_none(batch):
    after = recompress(taken(batch(2, timestamps=[-1, -1])), config(Codec.GZIP), NOW, "t-0")
    assert after.header.max_timestamp == -1


def test_the_result_must_not_be_too_large(batch):
    data = batch(1, value=bytes(5000), codec=Codec.ZSTD)
    limit = config(Codec.UNCOMPRESSED, max_message_bytes=5000)
    assert recompress(taken(data), limit, NOW, "t-0").reason is Reason.TOO_LARGE
    small = config(Codec.UNCOMPRESSED, segment_bytes=5000)
    assert recompress(taken(data), small, NOW, "t-0").reason is Reason.LARGER_THAN_SEGMENT


def varint(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def record(offset_delta, *, key=b"k", value=b"v", headers=(), timestamp_delta=0, tail=b""):
    def field(data):
        return varint(-1) if data is None else varint(len(data)) + data

    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + field(key) + field(value)
    body += varint(len(headers)) + b"".join(field(k) + field(v) for k, v in headers) + tail
    return varint(len(body)) + body


def batch_of(*records, count=None):
    count = len(records) if count is None else count
    header = BatchHeader(0, 0, -1, 2, 0, 0, count - 1, NOW, NOW, -1, -1, -1, count)
    return with_records(header, b"".join(records))


fields = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.binary(max_size=5), fields), max_size=2)


@given(
    st.lists(st.tuples(st.integers(0, 300), fields, fields, headers), min_size=1, max_size=5),
    st.sampled_from([codec for codec in Codec if codec]),
)
def test_offset_deltas_become_0_1_2_whatever_they_were(records, codec):
    before = batch_of(*(record(d, key=k, value=v, headers=h) for d, k, v, h in records))
    after = recompress(before, config(codec), NOW, "t-0")
    plain = recompress(after, config(Codec.UNCOMPRESSED), NOW, "t-0")
    expected = b"".join(record(i, key=k, value=v, headers=h) for i, (_, k, v, h) in enumerate(records))
    assert bytes(plain.data[HEADER_SIZE:]) == expected


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (batch_of(record(0), record(1, tail=b"x")), "record 1 .* not filled"),
        (batch_of(record(0)[:-1]), "record 0 .* not filled"),
        (batch_of(record(0), record(1), count=1), "1 records .* fill 9 of 18 bytes"),
        (batch_of(record(0), count=3), "record 1 .* not filled"),
        (batch_of(b"\x10" + b"\0\0\0" + varint(-2) + b"\0\0\0\0"), "not filled"),
        (batch_of(b"\x10" + b"\0\0\0" + b"\x01\x01" + varint(-1) + b"\0\0"), "not filled"),
        (batch_of(varint(-3) + b"\0\0\0"), "not filled"),
        (batch_of(b"\x02" + b"\0\0\0"), "not filled"),
        (batch_of(b"\x20\0" + b"\xff" * 11 + b"\0" * 5), "not filled"),
        (batch_of(record(0, timestamp_delta=2**63 - 1)), "expected 64 bits"),
    ],
)
def test_what_is_no_record_is_refused(broken, what):
    refusal = recompress(broken, config(Codec.GZIP), NOW, "t-0")
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.UNREADABLE_RECORDS
    assert re.search(what, refusal.detail), refusal.detail


def test_a_stream_that_is_none_is_refused(batch, patch_batch):
    refusal = recompress(taken(patch_batch(batch(2), 21, b"\x00\x01")), config(Codec.ZSTD), NOW, "t-0")
    assert refusal.reason is Reason.UNREADABLE_RECORDS
    assert "cannot be decompressed" in refusal.detail


def many(count, codec=Codec.GZIP, *, header_count=None):
    """Records of seven bytes, all with offset delta 0, so that each must be written anew."""
    header_count = count if header_count is None else header_count
    header = BatchHeader(0, 0, -1, 2, 0, codec, header_count - 1, NOW, NOW, -1, -1, -1, header_count)
    return with_records(header, compress(codec, b"\x0c\0\0\0\x01\x01\0" * count))


def test_too_many_records_are_refused_before_they_are_unpacked():
    steps = recompression(many(10, header_count=9_000_000), config(Codec.LZ4), NOW, "t-0")
    with pytest.raises(StopIteration) as end:
        next(steps)
    refusal = end.value.value
    assert refusal.reason is Reason.UNREADABLE_RECORDS
    assert refusal.detail == "9000000 records, expected 1000000 at most"


def test_an_uncompressed_batch_may_hold_as_many_as_fit(monkeypatch):
    monkeypatch.setattr(records_module, "MAX_RECORDS", 10)
    assert isinstance(recompress(many(50, Codec.UNCOMPRESSED), config(Codec.LZ4), NOW, "t-0"), RecordBatch)
    assert isinstance(recompress(many(50), config(Codec.LZ4), NOW, "t-0"), Refusal)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_thousand_bytes_that_may_be_megabytes_take_long(batch, codec):
    """A KB of zstd may hold 32 MB in one record, one of gzip 1 MB."""
    data = batch(1, value=bytes(100), codec=codec)
    is_long = long_recompression(data, config(Codec.LZ4), NOW, "t-0") is not None
    assert is_long is (codec is Codec.ZSTD)


def test_others_can_go_on_every_few_hundred_records():
    count = 20_000
    steps, result, calls, pauses = recompression(many(count), config(Codec.LZ4), NOW, "t-0"), None, 0, 0
    with contextlib.suppress(StopIteration):
        while True:
            work = steps.send(result)
            calls, pauses = calls + (work is not None), pauses + (work is None)
            result = None if work is None else work()
    assert isinstance(result, RecordBatch)
    assert calls == 2
    assert pauses > count / 300 + count * 7 / 9000


def test_what_is_made_of_a_hundred_thousand_records_takes_a_few_times_their_bytes():
    before = many(100_000)
    tracemalloc.start()
    assert isinstance(recompress(before, config(Codec.LZ4), NOW, "t-0"), RecordBatch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 700_000


def test_a_record_of_too_many_headers_is_refused():
    headers = [(b"", b"")] * 10_001
    refusal = recompress(batch_of(record(0, headers=headers)), config(Codec.GZIP), NOW, "t-0")
    assert refusal.reason is Reason.UNREADABLE_RECORDS
    assert isinstance(
        recompress(batch_of(record(0, headers=headers[1:])), config(Codec.GZIP), NOW, "t-0"), RecordBatch
    )


@pytest.mark.parametrize(("count", "value", "short"), [(1, 10, True), (101, 1, False), (1, 2000, False)])
def test_what_is_short(batch, count, value, short):
    assert is_short(taken(batch(count, value=bytes(value))).header) is short


def test_only_what_is_long_and_will_be_written_is_recompressed_before_the_append(batch):
    gzip, as_produced = config(Codec.GZIP), config("producer")
    long, short = batch(200), batch(2)
    assert long_recompression(long, gzip, NOW, "t-0") is not None
    assert long_recompression(short, gzip, NOW, "t-0") is None
    assert long_recompression(long, as_produced, NOW, "t-0") is None
    assert long_recompression(batch(200, codec=Codec.GZIP), gzip, NOW, "t-0") is None
    assert long_recompression(long[:-1], gzip, NOW, "t-0") is None
    assert long_recompression(None, gzip, NOW, "t-0") is None

"""The lines of kafka-dump-log.sh about batches; those of a log are what Kafka 2.8.2's tool printed of it."""

from __future__ import annotations

from struct import Struct

import pytest

from barnabas.broker.core.records.record_batch import (
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    parse_header,
    with_records,
)
from barnabas.broker.core.records.records import CorruptRecordsError
from barnabas.tools.dump.batches import OffsetCheck, Record, RecordOptions, lines_of
from tests.batches import keyed_batch

SHALLOW = RecordOptions(is_deep=False, has_metadata=True, decode=None)
DEEP = RecordOptions(is_deep=True, has_metadata=True, decode=None)
BATCH = keyed_batch([(b"k", b"hello"), (None, None)], base_offset=7, producer=(5, 1, 2**31 - 1), epoch=3)


def decode(record: Record) -> tuple[str | None, str | None]:
    key = None if record.key is None else record.key.decode()
    return key, None if record.value is None else record.value.decode()


def lines(data: bytes, options: RecordOptions) -> list[str]:
    return list(lines_of(data, 40, options, OffsetCheck()))


def test_a_batch_has_a_line() -> None:
    header = parse_header(BATCH)
    assert lines(BATCH, SHALLOW) == [
        (
            "baseOffset: 7 lastOffset: 8 count: 2 baseSequence: 2147483647 lastSequence: 0 producerId: 5 "
            "producerEpoch: 1 partitionLeaderEpoch: 3 isTransactional: false isControl: false position: 40 "
            f"CreateTime: 1700000000001 size: {len(BATCH)} magic: 2 compresscodec: NONE crc: {header.crc} "
            "isvalid: true"
        )
    ]


def test_each_record_has_a_line() -> None:
    common = (
        "baseOffset: 7 lastOffset: 8 baseSequence: 2147483647 lastSequence: 0 producerEpoch: 1 "
        f"partitionLeaderEpoch: 3 batchSize: {len(BATCH)} magic: 2 compressType: NONE position: 40"
    )
    first = (
        "| offset: 7 isValid: true crc: null keySize: 1 valueSize: 5 CreateTime: 1700000000000 "
        f"{common} sequence: 2147483647 headerKeys: [h]"
    )
    second = (
        "| offset: 8 isValid: true crc: null keySize: -1 valueSize: -1 CreateTime: 1700000000001 "
        f"{common} sequence: 0 headerKeys: [h]"
    )
    assert lines(BATCH, DEEP)[1:] == [first, second]
    assert lines(BATCH, DEEP._replace(decode=decode))[1:] == [f"{first} key: k payload: hello", second]


def test_records_without_their_metadata() -> None:
    plain = keyed_batch([(b"k", b"v"), (None, b"v"), (b"k", None), (None, None)])
    options = RecordOptions(is_deep=True, has_metadata=False, decode=decode)
    assert lines(plain, options)[1:] == ["| key: k payload: v", " payload: v", "| key: k", ""]
    assert lines(plain, options._replace(decode=None))[1:] == ["", "", "", ""]


@pytest.mark.parametrize(("codec", "name"), [(1, "GZIP"), (3, "LZ4")])
def test_compressed_batches_are_opened(codec: int, name: str) -> None:
    data = keyed_batch([(b"k", b"v" * 100)], codec=codec)
    assert f"compresscodec: {name} " in lines(data, SHALLOW)[0]
    assert f" compressType: {name} " in lines(data, DEEP._replace(decode=decode))[1]
    assert lines(data, DEEP._replace(decode=decode))[1].endswith(f"payload: {'v' * 100}")


def test_with_append_time_all_records_have_the_batchs_timestamp() -> None:
    header = parse_header(BATCH)
    stamped = with_records(
        header._replace(attributes=LOG_APPEND_TIME_BIT, max_timestamp=1_800_000_000_000), BATCH[61:]
    )
    batch, first, second = lines(bytes(stamped.data), DEEP)
    assert all("LogAppendTime: 1800000000000" in line for line in (batch, first, second))


def test_a_damaged_batch_is_said_to_be_so() -> None:
    assert lines(BATCH[:-1] + b"x", SHALLOW)[0].endswith("isvalid: false")
    empty = with_records(parse_header(BATCH), b"\x7f")
    with pytest.raises(CorruptRecordsError):
        lines(bytes(empty.data), DEEP)
    short = with_records(parse_header(BATCH)._replace(record_count=1), b"\x08\x00\x00\x00\x40")
    with pytest.raises(CorruptRecordsError, match="the record at offset 7 cannot be read"):
        lines(bytes(short.data), DEEP)


def control_batch(kind: int) -> bytes:
    key, value = Struct(">hh").pack(0, kind), Struct(">hi").pack(0, 9)
    body = b"\x00\x00\x00" + bytes([len(key) * 2]) + key + bytes([len(value) * 2]) + value + b"\x00"
    header = BatchHeader(
        4, 0, 0, 2, 0, CONTROL_BIT | TRANSACTIONAL_BIT, 0, 1_700_000_000_000, 1_700_000_000_000, 5, 1, -1, 1
    )
    return bytes(with_records(header, bytes([len(body) * 2]) + body).data)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (0, "endTxnMarker: ABORT coordinatorEpoch: 9"),
        (1, "endTxnMarker: COMMIT coordinatorEpoch: 9"),
        (5, "controlType: UNKNOWN(5)"),
    ],
)
def test_control_records_say_what_they_are(kind: int, text: str) -> None:
    batch, record = lines(control_batch(kind), DEEP._replace(decode=decode))
    assert "isTransactional: true isControl: true" in batch
    assert record.endswith(f"sequence: -1 headerKeys: [] {text}")


def test_offsets_that_do_not_follow_each_other_are_noted() -> None:
    check = OffsetCheck()
    for offset in (4, 5, 9, 10, 2):
        check.add(offset)
    assert check.gaps == [(5, 9), (10, 2)]

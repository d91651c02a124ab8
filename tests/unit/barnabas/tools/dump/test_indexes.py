"""The lines of kafka-dump-log.sh about indexes and snapshots."""

from __future__ import annotations

from struct import Struct

import pytest

from barnabas.broker.core.records.producer_state import CachedBatch, ProducerEntry
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.cluster.model.ids import Offset, ProducerId
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.dump.indexes import (
    TimedBatch,
    TimeIndexErrors,
    check_offset_index,
    check_time_index,
    check_times,
    finding_lines,
    offset_entries,
    offset_lines,
    offset_mismatches,
    producer_lines,
    time_entries,
    time_lines,
    transaction_lines,
)

OFFSETS = Struct(">ii")
TIMES = Struct(">qi")
INDEX = OFFSETS.pack(9, 4096) + OFFSETS.pack(20, 8192)
TIME_INDEX = TIMES.pack(1600, 9) + TIMES.pack(1700, 20)


def test_entries_end_where_the_unused_ones_begin() -> None:
    assert offset_lines(offset_entries(INDEX + bytes(80), 100)) == [
        "offset: 109 position: 4096",
        "offset: 120 position: 8192",
    ]
    assert time_lines(time_entries(TIME_INDEX + bytes(120), 100)) == [
        "timestamp: 1600 offset: 109",
        "timestamp: 1700 offset: 120",
    ]


def test_an_index_of_unused_entries_alone_has_one() -> None:
    assert offset_lines(offset_entries(bytes(80), 100)) == ["offset: 100 position: 0"]
    assert time_lines(time_entries(bytes(120), 100)) == ["timestamp: 0 offset: 100"]
    assert offset_entries(b"", 100) == []


@pytest.mark.parametrize("data", [b"", INDEX, bytes(80)])
def test_a_sane_offset_index(data: bytes) -> None:
    check_offset_index("/f.index", data, 100)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            OFFSETS.pack(-3, 1),
            (
                "Corrupt index found, index file (/f.index) has non-zero size but the last offset is 97 "
                "which is "
                "less than the base offset 100."
            ),
        ),
        (
            INDEX + b"x",
            "Index file /f.index is corrupt, found 17 bytes which is neither positive nor a multiple of 8.",
        ),
    ],
)
def test_a_damaged_offset_index(data: bytes, message: str) -> None:
    with pytest.raises(ToolError) as refused:
        check_offset_index("/f.index", data, 100)
    assert str(refused.value) == message


@pytest.mark.parametrize("data", [b"", TIME_INDEX, bytes(120)])
def test_a_sane_time_index(data: bytes) -> None:
    check_time_index("/f.timeindex", data, 100)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            TIME_INDEX + bytes(12),
            (
                "Corrupt time index found, time index file (/f.timeindex) has non-zero size but the last "
                "timestamp is 0 which is less than the first timestamp 1600"
            ),
        ),
        (
            TIMES.pack(5, -1),
            (
                "Corrupt time index found, time index file (/f.timeindex) has non-zero size but the last "
                "offset is "
                "99 which is less than the first offset 100"
            ),
        ),
        (
            TIME_INDEX + b"x",
            (
                "Time index file /f.timeindex is corrupt, found 25 bytes which is neither positive nor a "
                "multiple "
                "of 12."
            ),
        ),
    ],
)
def test_a_damaged_time_index(data: bytes, message: str) -> None:
    with pytest.raises(ToolError) as refused:
        check_time_index("/f.timeindex", data, 100)
    assert str(refused.value) == message


def test_an_offset_index_is_compared_with_the_log() -> None:
    entries = offset_entries(INDEX, 100)
    assert offset_mismatches(entries, {4096: 109, 8192: 120}.get) == []
    assert offset_mismatches(entries, {4096: 110}.get) == [(109, 110), (120, -1)]


def test_a_time_index_is_compared_with_the_log() -> None:
    entries = time_entries(TIME_INDEX, 100)
    good = {109: TimedBatch(109, 1600), 120: TimedBatch(120, 1700)}
    assert check_times(entries, good.get) == TimeIndexErrors()
    bad = {109: TimedBatch(109, 1599), 120: TimedBatch(130, 1700)}
    assert check_times(entries, bad.get) == TimeIndexErrors(mismatches=[(1600, 1599)], not_found=[(120, 130)])
    assert check_times(entries, {109: TimedBatch(109, 1600)}.get).not_found == [(120, -1)]
    backwards = time_entries(TIMES.pack(1700, 9) + TIMES.pack(1600, 20), 100)
    assert check_times(backwards, good.get).out_of_order == [(1600, 1700)]


def test_findings_are_listed_by_file() -> None:
    errors = TimeIndexErrors([(1600, 1599)], [(1600, 1700)], [(120, -1)])
    assert finding_lines(
        {"/i": [(9, 8), (20, 19)], "/j": []}, {"/t": errors}, {"/l": [(5, 9)], "/m": []}
    ) == [
        "Mismatches in :/i",
        "  Index offset: 20, log offset: 19",
        "  Index offset: 9, log offset: 8",
        "Found timestamp mismatch in :/t",
        "  Index timestamp: 1600, log timestamp: 1599",
        "Found out of order timestamp in :/t",
        "  Index timestamp: 1600, Previously indexed timestamp: 1700",
        "The following indexed offsets are not found in the log.",
        "Indexed offset: 120, found log offset: -1",
        "Non-consecutive offsets in /l",
        "  5 is followed by 9",
    ]
    assert finding_lines({}, {"/t": TimeIndexErrors()}, {}) == []


def test_aborted_transactions() -> None:
    assert transaction_lines([AbortedTransaction(5, Offset(0), Offset(9), Offset(10))]) == [
        "version: 0 producerId: 5 firstOffset: 0 lastOffset: 9 lastStableOffset: 10"
    ]


def test_producers_have_a_line_for_each_batch() -> None:
    batches = (CachedBatch(0, 4, Offset(0), Offset(4), 100), CachedBatch(5, 9, Offset(5), Offset(9), 200))
    busy = ProducerEntry(ProducerId(7), 1, batches, 201, 3, Offset(5))
    idle = ProducerEntry(ProducerId(8), 0)
    head = "producerId: 7 producerEpoch: 1 coordinatorEpoch: 3 currentTxnFirstOffset: Some(5) "
    assert producer_lines([busy, idle]) == [
        f"{head}firstSequence: 0 lastSequence: 4 lastOffset: 4 offsetDelta: 4 timestamp: 100",
        f"{head}firstSequence: 5 lastSequence: 9 lastOffset: 9 offsetDelta: 4 timestamp: 201",
        "producerId: 8 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: None ",
    ]

"""kafka-dump-log.sh on files."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

import pytest

from barnabas.broker.core.records.producer_state import ProducerState
from barnabas.broker.core.records.record_batch import CONTROL_BIT, BatchHeader
from barnabas.tools.dump_log import main
from tests.batches import keyed_batch

FIRST = keyed_batch([(b"k", b"v"), (b"l", b"w")], timestamp=1000)
SECOND = keyed_batch([(None, b"x")], base_offset=5, timestamp=2000)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment of two batches with a gap between their offsets, an index of them and a time index."""
    (tmp_path / f"{0:020}.log").write_bytes(FIRST + SECOND)
    entries = Struct(">ii").pack(1, 0) + Struct(">ii").pack(5, len(FIRST))
    (tmp_path / f"{0:020}.index").write_bytes(entries)
    (tmp_path / f"{0:020}.timeindex").write_bytes(Struct(">qi").pack(1001, 1) + Struct(">qi").pack(2000, 5))
    return tmp_path / f"{0:020}.log"


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    """The exit code, and the lines of both outputs."""
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err.splitlines()


def test_a_log_is_printed_batch_by_batch(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dumped(capsys, "--files", str(segment))
    assert (code, out[:2], err) == (0, [f"Dumping {segment}", "Starting offset: 0"], [])
    assert [line.split(" count")[0] for line in out[2:]] == [
        "baseOffset: 0 lastOffset: 1",
        "baseOffset: 5 lastOffset: 5",
    ]
    assert f" position: {len(FIRST)} CreateTime: 2000 " in out[3]


def test_records_are_printed_and_gaps_are_found(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dumped(capsys, "--files", str(segment), "--print-data-log", "--skip-record-metadata")
    assert (code, out[3:5], out[6:]) == (0, ["| key: k payload: v", "| key: l payload: w"], [" payload: x"])
    assert err == [f"Non-consecutive offsets in {segment}", "  1 is followed by 5"]


def test_the_end_of_a_log_that_is_no_batch(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment.write_bytes(FIRST + SECOND[:-1])
    code, out, _ = dumped(capsys, "--files", str(segment))
    assert (code, out[-1]) == (0, f"Found {len(SECOND) - 1} invalid bytes at the end of {segment.name}")


@pytest.mark.parametrize(
    ("tail", "complaint"),
    [
        (
            bytes(80),
            "Found record size 0 smaller than minimum record overhead (14) in file ",
        ),
        (
            SECOND[:16] + b"\x01" + SECOND[17:],
            "has a message of format 1",
        ),
        (
            Struct(">qi").pack(0, 20) + SECOND[12:32],
            "Found record size 20 ",
        ),
    ],
)
def test_what_is_no_log(
    segment: Path, capsys: pytest.CaptureFixture[str], tail: bytes, complaint: str
) -> None:
    segment.write_bytes(FIRST + tail)
    code, out, err = dumped(capsys, "--files", str(segment))
    assert (code, len(out)) == (1, 3)
    assert complaint in err[0]


def test_records_that_cannot_be_read(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment.write_bytes(FIRST[:61] + b"\xff" * (len(FIRST) - 61))
    assert dumped(capsys, "--files", str(segment), "--deep-iteration")[0] == 1


def test_indexes_are_printed_and_compared_with_the_log(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, times = segment.with_suffix(".index"), segment.with_suffix(".timeindex")
    code, out, err = dumped(capsys, "--files", f"{index},{times}")
    assert (code, err) == (0, [])
    assert out == [
        f"Dumping {index}",
        "offset: 1 position: 0",
        f"offset: 5 position: {len(FIRST)}",
        f"Dumping {times}",
        "timestamp: 1001 offset: 1",
        "timestamp: 2000 offset: 5",
    ]
    segment.write_bytes(keyed_batch([(b"k", b"v")], timestamp=999))
    code, out, err = dumped(capsys, "--files", f"{index},{times}", "--verify-index-only")
    assert (code, out) == (0, [f"Dumping {index}", f"Dumping {times}"])
    assert err == [
        f"Mismatches in :{index}",
        "  Index offset: 5, log offset: -1",
        "  Index offset: 1, log offset: 0",
        "The following indexed offsets are not found in the log.",
        "Indexed offset: 1, found log offset: -1",
        "Indexed offset: 5, found log offset: -1",
    ]


def test_indexes_are_checked_as_at_a_start(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index, times = segment.with_suffix(".index"), segment.with_suffix(".timeindex")
    code, out, _ = dumped(capsys, "--files", f"{index},{times}", "--index-sanity-check")
    assert code == 0
    assert out[1::2] == [f"{index} passed sanity check.", f"{times} passed sanity check."]
    index.write_bytes(b"")
    assert dumped(capsys, "--files", str(index), "--index-sanity-check")[1][1:] == [f"{index} is empty."]
    times.write_bytes(b"x" * 13)
    code, _, err = dumped(capsys, "--files", str(times), "--index-sanity-check")
    assert code == 1
    assert str(times) in err[0]


def test_snapshots_and_aborted_transactions(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, transactions = segment.with_suffix(".snapshot"), segment.with_suffix(".txnindex")
    state = ProducerState()
    state.update(BatchHeader(0, 78, 0, 2, 0, CONTROL_BIT, 0, 0, 0, 8, 0, -1, 1))
    snapshot.write_bytes(state.snapshot().encode())
    transactions.write_bytes(Struct(">hqqqq").pack(0, 5, 0, 9, 10))
    assert dumped(capsys, "--files", f"{snapshot},{transactions}")[1] == [
        f"Dumping {snapshot}",
        "producerId: 8 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: None ",
        f"Dumping {transactions}",
        "version: 0 producerId: 5 firstOffset: 0 lastOffset: 9 lastStableOffset: 10",
    ]
    snapshot.write_bytes(b"damaged!!")
    code, _, err = dumped(capsys, "--files", str(snapshot))
    assert code == 0
    assert err[0].startswith(f"Snapshot file '{snapshot}' is corrupted: ")


def test_other_files_are_ignored(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dumped(capsys, "--files", "leader-epoch-checkpoint")
    assert (code, out) == (0, ["Dumping leader-epoch-checkpoint"])
    assert err == ["Ignoring unknown file leader-epoch-checkpoint"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--print-data-log", "--files"),
        ("--files 00.log --cluster-metadata-decoder", "--cluster-metadata-decoder is not served"),
        ("--files nix.log", 'For input string: "nix"'),
        ("--files /none/00.log", "/none/00.log (No such file or directory)"),
    ],
)
def test_what_cannot_be_dumped(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = dumped(capsys, *arguments.split())
    assert code == 1
    assert complaint in err[-1]


def test_offsets_are_decoded_on_demand(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = dumped(capsys, "--files", str(segment), "--offsets-decoder")
    assert code == 1
    assert "Failed to decode message using offset topic decoder" in err[0]


def test_transactions_are_decoded_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(keyed_batch([(b"\0\0\0\2tx", None)]))
    code, out, err = dumped(capsys, "--files", str(path), "--transaction-log-decoder")
    assert (code, err) == (0, [])
    assert out[-1].endswith("key: transaction_metadata::transactionalId=tx payload: <DELETE>")

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import FRAME_SIZE, parse_header
from barnabas.broker.core.records.refusals import Reason
from barnabas.broker.disk.log.recovery import LogState, load_log, new_log
from barnabas.broker.disk.names import files_with, offset_of
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset
from tests.batches import whole_batches

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)
BIG = 1 << 20


def write(log, batch, count):
    """Batches of two records, all of producer 9, the epoch raised at every third."""
    for _ in range(count):
        data = batch(2, producer=(9, 0, log.log_end_offset))
        log.append_as_leader(data, LeaderEpoch(log.log_end_offset // 6))
    return log


def everything(log):
    out, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, BIG, log.log_end_offset)
        out, offset = out + found.records, found.next_offset
    return out


def segment_bytes(log):
    return {path.name: path.read_bytes() for path in log.directory.iterdir()}


def reads(monkeypatch):
    """How many bytes are read of each file from now on."""
    read, real = Counter(), os.pread

    def counted(fd, size, at):
        read[Path(f"/proc/self/fd/{fd}").readlink().name] += size
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", counted)
    return read


def is_sound(log, batch, original):
    """A valid prefix of what was written, with its epochs and producers, that takes appends."""
    content = everything(log)
    assert original.startswith(content)
    found = list(whole_batches(content))
    assert sum(b.header.size for b in found) == len(content)
    assert all(b.has_valid_crc for b in found)
    end = log.log_end_offset
    assert end == 2 * len(found)
    assert log.latest_epoch == (max(b.header.partition_leader_epoch for b in found) if found else None)
    for offset in range(0, end, 2):
        assert parse_header(log.read(offset, 1, end).records).base_offset == offset
    if end:
        assert log.append_as_leader(batch(2, producer=(9, 0, end - 2)), LeaderEpoch(99)).duplicate
        gap = log.append_as_leader(batch(1, producer=(9, 0, end + 1)), LeaderEpoch(99))
        assert gap.reason is Reason.SEQUENCE_GAP
    assert log.append_as_leader(batch(2, producer=(9, 0, end)), LeaderEpoch(99)).first_offset == end


def test_a_new_log_is_what_an_empty_directory_is_loaded_as(tmp_path):
    made, found = tmp_path / "made", tmp_path / "found"
    made.mkdir()
    found.mkdir()
    new, loaded = new_log(made, SMALL, 5), load_log(found, SMALL, LogState(clean=True), 5)
    assert new.epochs.entries == loaded.epochs.entries
    assert list(new.producers) == list(loaded.producers)
    for field in ("log_start_offset", "log_end_offset", "recovery_point", "dropped_bytes"):
        assert getattr(new, field) == getattr(loaded, field)
    assert [path.name for path in made.iterdir()] == [path.name for path in found.iterdir()]
    for log in (new, loaded):
        (segment,) = log.segments
        assert (segment.base_offset, segment.size) == (0, 0)
        segment.close()


def test_a_clean_stop_is_reopened_without_reading_batches(logs, batch, monkeypatch):
    log = write(logs.open(SMALL), batch, 20)
    original, end = everything(log), log.log_end_offset
    log.close()
    before = segment_bytes(log)
    read = reads(monkeypatch)
    again = logs.open(SMALL, clean=True, recovery_point=end)
    # The end of the active segment alone, for the largest timestamp, the end and the epoch of the log.
    active = max(before.keys(), key=lambda name: (name.endswith(".log"), name))
    assert read.keys() == {active}
    assert read[active] <= 3 * SMALL.segment_bytes
    assert (again.log_end_offset, again.recovery_point) == (end, end)
    again.close()
    assert segment_bytes(again) == before
    is_sound(logs.open(SMALL, clean=True, recovery_point=end), batch, original)


@pytest.fixture
def crashed(logs, batch):
    """A log of three batches as SIGKILL leaves it, and a way to reopen it with other bytes in its segment."""
    log = write(logs.open(), batch, 3)
    original = everything(log)
    log.abandon()
    epochs = log.directory / "leader-epoch-checkpoint"
    checkpoint = epochs.read_bytes()

    def reopen(content):
        shutil.rmtree(log.directory)
        log.directory.mkdir()
        logs.path(".log").write_bytes(content)
        epochs.write_bytes(checkpoint)
        return logs.open()

    return original, reopen


def test_cut_at_every_byte(crashed, batch):
    original, reopen = crashed
    size = len(original) // 3
    for cut in range(len(original) + 1):
        again = reopen(original[:cut])
        assert everything(again) == original[: cut // size * size]
        is_sound(again, batch, original)
        again.abandon()


def test_flipped_at_every_byte(crashed, batch):
    original, reopen = crashed
    size = len(original) // 3
    for at in range(len(original)):
        flipped = bytearray(original)
        flipped[at] ^= 0x40
        again = reopen(flipped)
        # Base offset and leader epoch are not under the checksum: such a batch may pass.
        if at % size in range(8) or at % size in range(12, 16):
            assert len(everything(again)) % size == 0
            assert all(b.has_valid_crc for b in whole_batches(everything(again)))
        else:
            assert everything(again) == original[: at // size * size]
            is_sound(again, batch, original)
        again.abandon()


@pytest.mark.parametrize("damage", ["cut", "flip", "zeros", "garbage"])
@pytest.mark.parametrize("segment", [0, 1, 2])
def test_damage_in_any_segment_ends_the_log_there(logs, batch, damage, segment):
    log = write(logs.open(SMALL), batch, 12)
    original = everything(log)
    bases = sorted(int(p.stem) for p in log.directory.glob("*.log"))
    log.abandon()
    path = logs.path(".log", bases[segment])
    content = path.read_bytes()
    path.write_bytes(
        {
            "cut": content[:-1],
            "flip": content[:-1] + bytes([content[-1] ^ 1]),
            "zeros": content + bytes(500),
            "garbage": content + b"\x07" * 500,
        }[damage]
    )
    again = logs.open(SMALL)
    assert max(int(p.stem) for p in log.directory.glob("*.log")) == bases[segment]
    is_sound(again, batch, original)


def test_nothing_below_the_recovery_point_is_read_again(logs, batch, monkeypatch):
    log = write(logs.open(SMALL), batch, 30)
    recovery_point, end = log.recovery_point, log.log_end_offset
    original = everything(log)
    log.abandon()
    read = reads(monkeypatch)
    again = logs.open(SMALL, recovery_point=recovery_point)
    monkeypatch.undo()
    assert 0 < recovery_point < end
    last = logs.path(".log", recovery_point)
    assert read.keys() == {last.name}
    # Once, but for the length of the first batch, and the header of the last for its epoch.
    assert read[last.name] <= 2 * last.stat().st_size + FRAME_SIZE
    is_sound(again, batch, original)


def test_after_each_recovered_segment_there_is_a_snapshot(logs, batch, monkeypatch):
    log = write(logs.open(SMALL), batch, 30)
    log.abandon()
    bases = [offset_of(path) for path in files_with(log.directory, ".log")]
    for path in log.directory.glob("*.snapshot"):
        path.unlink()
    read = reads(monkeypatch)
    again = logs.open(SMALL)
    assert [offset_of(path) for path in files_with(log.directory, ".snapshot")] == [*bases[1:], 60]
    # All batches once, the first of each segment's lengths, and the last header for its epoch.
    assert sum(read.values()) <= log.size + SMALL.segment_bytes + FRAME_SIZE * len(bases)
    assert again.append_as_leader(batch(2, producer=(9, 0, 58)), LeaderEpoch(9)).duplicate


def test_a_recovery_point_beyond_the_end_is_not_believed(logs, batch):
    log = write(logs.open(SMALL), batch, 12)
    log.abandon()
    path = logs.path(".log")
    path.write_bytes(path.read_bytes()[:-1])
    loaded = load_log(log.directory, SMALL, LogState(recovery_point=Offset(99)), 0)
    assert (loaded.log_end_offset, loaded.recovery_point) == (6, 6)
    for segment in loaded.segments:
        segment.close()


def test_the_recovery_point_is_moved_by_flushing_only(logs, batch):
    log = write(logs.open(SMALL), batch, 30)
    log.abandon()
    again = logs.open(SMALL, recovery_point=12)
    assert again.recovery_point == 12
    again.flush()
    assert again.recovery_point == 60


def test_indexes_are_rebuilt_as_they_were(logs, batch):
    log = write(logs.open(SMALL), batch, 30)
    log.close()
    before = segment_bytes(log)
    for path in log.directory.iterdir():
        if path.suffix in {".index", ".timeindex"}:
            path.write_bytes(b"nonsense")
    again = logs.open(SMALL)
    again.close()
    assert segment_bytes(again) == before


def test_a_missing_index_of_a_trusted_segment_is_rebuilt(logs, batch):
    log = write(logs.open(SMALL), batch, 30)
    log.close()
    before = segment_bytes(log)
    logs.path(".index").unlink()
    logs.path(".timeindex", max(int(p.stem) for p in log.directory.glob("*.log"))).unlink()
    again = logs.open(SMALL, clean=True, recovery_point=60)
    again.close()
    assert segment_bytes(again) == before


def test_a_clean_mark_over_a_partial_batch_is_not_believed(logs, batch):
    log = write(logs.open(), batch, 3)
    log.close()
    with logs.path(".log").open("ab") as file:
        file.write(batch(2)[:70])
    assert logs.open(clean=True, recovery_point=6).log_end_offset == 6


def test_leftovers_are_removed(logs, batch):
    log = write(logs.open(), batch, 3)
    log.close()
    for name in ("1.log.deleted", "1.index.cleaned", "leader-epoch-checkpoint.tmp", f"{77:020d}.index"):
        (log.directory / name).touch()
    logs.path(".snapshot", 99).write_bytes(logs.path(".snapshot", 6).read_bytes())
    logs.open(clean=True, recovery_point=6)
    assert sorted(p.name for p in log.directory.iterdir()) == [
        f"{0:020d}.index",
        f"{0:020d}.log",
        f"{0:020d}.timeindex",
        f"{6:020d}.snapshot",
        "leader-epoch-checkpoint",
    ]


def test_a_log_that_ends_before_its_start_is_emptied(logs, batch):
    write(logs.open(), batch, 3).close()
    again = logs.open(clean=True, recovery_point=6, log_start_offset=50)
    assert (again.log_start_offset, again.log_end_offset, again.latest_epoch) == (50, 50, None)
    assert [p.name for p in again.directory.glob("*.log")] == [f"{50:020d}.log"]


def test_a_log_start_inside_a_segment_is_kept(logs, batch):
    write(logs.open(), batch, 6).close()
    again = logs.open(clean=True, recovery_point=12, log_start_offset=8)
    assert (again.log_start_offset, again.log_end_offset) == (8, 12)
    assert again.end_offset_for(LeaderEpoch(0)) == (0, 8)


def test_epochs_beyond_the_end_are_dropped(logs, batch):
    log = write(logs.open(), batch, 3)
    log.assign_epoch_start(LeaderEpoch(8))
    log.close()
    assert logs.open(clean=True, recovery_point=6).latest_epoch == 0


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "claimed",
    [
        "0\n5\n0 0\n1 6\n2 12\n3 18\n70 20\n",
        "0\n1\n70 0\n",
        "0\n3\n0 0\n1 6\n2 12\n",
        "0\n1\n3 18\n",
        "0\n0\n",
        "0\n9\nrubbish\n",
        None,
    ],
    ids=[
        "one from the future",
        "only that",
        "without the last",
        "without the first",
        "empty",
        "rubbish",
        "missing",
    ],
)
def test_epochs_that_the_batches_do_not_bear_out_are_read_from_them(logs, batch, claimed, clean):
    log = write(logs.open(SMALL), batch, 12)
    checkpoint = log.directory / "leader-epoch-checkpoint"
    log.close()
    if claimed is None:
        checkpoint.unlink()
    else:
        checkpoint.write_text(claimed)
    assert logs.open(SMALL, clean=clean, recovery_point=24).latest_epoch == 3
    assert checkpoint.read_text() == "0\n4\n0 0\n1 6\n2 12\n3 18\n"


def test_an_epoch_whose_first_batches_are_compacted_away_begins_where_it_began(logs, batch):
    logs.open().abandon()
    built = [
        batch(2, base_offset=4, epoch=0),
        batch(2, base_offset=6, epoch=1),
        batch(1, base_offset=20, epoch=3),
    ]
    logs.path(".log").write_bytes(b"".join(built))
    checkpoint = logs.directory / "events-0" / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n3\n0 0\n1 5\n3 15\n")
    assert logs.reopen_after_crash().log_end_offset == 21
    # The second's claim is contradicted by the batch before it.
    assert checkpoint.read_text() == "0\n3\n0 0\n1 6\n3 15\n"


@pytest.mark.parametrize("clean", [True, False])
def test_epochs_of_batches_that_compaction_dropped_are_kept(logs, batch, clean):
    """Epochs 1 and 2 have no batch any more, and 4 none before the empty active segment."""
    compacted = replace(SMALL, cleanup_policy=frozenset({"compact"}))
    log = logs.open(compacted)
    log.append_as_follower(batch(2, base_offset=0, epoch=0) + batch(2, base_offset=8, epoch=3))
    log.close()
    logs.path(".log", 20).touch()
    checkpoint = log.directory / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n5\n0 0\n1 3\n2 5\n3 7\n4 12\n")
    again = logs.open(compacted, clean=clean, recovery_point=20 if clean else 0)
    assert again.log_end_offset == 20
    before_the_last_batch = ["0 0", "1 3", "2 5", "3 7"]
    kept = [*before_the_last_batch, "4 12"] if clean else before_the_last_batch
    assert checkpoint.read_text().splitlines()[2:] == kept


def test_epochs_are_borne_out_by_the_last_batch_before_an_empty_segment(logs, batch):
    log = write(logs.open(SMALL), batch, 12)
    log.close()
    logs.path(".log", 24).touch()
    again = logs.open(SMALL, clean=True, recovery_point=24)
    assert (again.log_end_offset, again.latest_epoch) == (24, 3)
    again.close()
    (log.directory / "leader-epoch-checkpoint").write_text("0\n1\n70 3\n")
    assert logs.open(SMALL, clean=True, recovery_point=24).latest_epoch == 3


def test_a_log_without_records_to_read_has_no_epochs(logs, batch):
    write(logs.open(), batch, 3).close()
    again = logs.open(clean=True, recovery_point=6, log_start_offset=6)
    assert (again.log_start_offset, again.log_end_offset, again.latest_epoch) == (6, 6, None)


def test_the_report_of_a_recovery(logs, batch):
    log = write(logs.open(), batch, 3)
    size = log.size
    log.abandon()
    with logs.path(".log").open("ab") as file:
        file.write(b"\x01" * 30)
    loaded = load_log(log.directory, LogConfig(), LogState(), 0)
    assert (loaded.log_end_offset, loaded.segments.size, loaded.dropped_bytes) == (6, size, 30)
    for segment in loaded.segments:
        segment.close()


@pytest.mark.parametrize("preallocate", [False, True])
def test_zeros_instead_of_batches_are_reported_unless_preallocated(logs, batch, preallocate):
    config = LogConfig(segment_bytes=5000, preallocate=preallocate)
    log = write(logs.open(config), batch, 3)
    size = log.size
    log.abandon()
    with logs.path(".log").open("r+b") as file:
        file.truncate(size + 40)
    with capture_logs() as said:
        logs.open(config)
    assert len(said) == (not preallocate)
    with logs.path(".log").open("r+b") as file:
        file.truncate(size + 200)
        file.seek(size + 199)
        file.write(b"x")
    with capture_logs() as said:
        logs.open(config)
    assert f"at byte offset {size}" in said[0]["event"]
    assert said[0]["event"].endswith("truncating to offset 6: 200 bytes are cut off")


def test_each_segment_that_recovery_drops_is_logged(logs, batch):
    config = LogConfig(segment_bytes=100)
    log = write(logs.open(config), batch, 4)
    log.abandon()
    with logs.path(".log", 2).open("r+b") as file:
        file.seek(70)
        file.write(b"\xff")
    with capture_logs() as said:
        logs.open(config)
    notified = [line["event"] for line in said]
    assert [f"{base:020d}.log" in line for base, line in zip((2, 4, 6), notified, strict=True)] == [True] * 3
    assert all(line["log_level"] == "warning" for line in said)


def test_segments_below_the_log_start_are_logged_when_deleted(logs, batch):
    write(logs.open(), batch, 2).abandon()
    with capture_logs() as said:
        logs.open(clean=False, log_start_offset=9)
    assert said[0]["log_level"] == "error"
    assert "logEndOffset (4) is smaller than logStartOffset (9)" in said[0]["event"]

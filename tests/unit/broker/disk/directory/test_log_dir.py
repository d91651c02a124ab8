from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory import log_dir
from barnabas.broker.disk.errors import InconsistentDirectoryError, KafkaStorageError
from barnabas.broker.disk.log import flushing
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 7)
EPOCH = LeaderEpoch(0)
BASE_TIME = 1_700_000_000_000
HOLD_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""


def open_files(directory):
    """What this process has open there."""
    paths = (Path(file.path) for file in psutil.Process().open_files())
    return [path for path in paths if path.is_relative_to(directory)]


def listing(path):
    return sorted(entry.name for entry in path.iterdir())


def test_a_new_directory_is_claimed(open_dirs, tmp_path):
    open_dirs(tmp_path / "deep" / "logs")
    assert listing(tmp_path / "deep" / "logs") == [".lock", "meta.properties"]


def test_a_clean_stop_leaves_all_checkpoints_and_its_mark(open_dirs, tmp_path, batch):
    dirs = open_dirs(tmp_path)
    dirs.get_or_create(A).append_as_leader(batch(3), EPOCH)
    dirs.get_or_create(B).truncate_fully_and_start_at(10)
    dirs.get_or_create(B).append_as_leader(batch(5), EPOCH)
    dirs.get_or_create(B).raise_log_start(12)
    dirs.checkpoint_high_watermarks({A: 2, B: 14})
    dirs.close()
    assert listing(tmp_path) == [
        ".kafka_cleanshutdown",
        ".lock",
        "a-0",
        "b-7",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n2\na 0 3\nb 7 15\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\nb 7 12\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\na 0 2\nb 7 14\n"
    with capture_logs() as said:
        again = open_dirs(tmp_path)
    assert [line["event"] for line in said[:-1]] == [
        f"Skipping recovery for all logs in {tmp_path} since clean shutdown file was found"
    ]
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert (again.high_watermark(A), again.high_watermark(B)) == (2, 14)
    assert (again.get(B).log_start_offset, again.get(B).log_end_offset) == (12, 15)


def test_before_a_log_counts_as_flushed_so_does_its_name(open_dirs, tmp_path, batch, monkeypatch):
    dirs = open_dirs(tmp_path)
    synced = []
    monkeypatch.setattr(flushing, "sync_directory", synced.append)
    for tp in (A, B):
        log = dirs.get_or_create(tp)
        log.append_as_leader(batch(), EPOCH)
        assert synced == []
        log.flush()
        log.append_as_leader(batch(), EPOCH)
        log.flush()
        assert synced == [log.directory, tmp_path, log.directory]
        synced.clear()


def test_a_stop_that_was_not_clean_is_recovered(open_dirs, tmp_path, batch):
    dirs = open_dirs(tmp_path)
    dirs.get_or_create(A).append_as_leader(batch(3), EPOCH)
    dirs.fail(tmp_path, "killed")
    with (tmp_path / "a-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"partial")
    with capture_logs() as said:
        again = open_dirs(tmp_path)
    unclean, cut, line, _ = said
    assert (
        unclean["event"]
        == f"Attempting recovery for all logs in {tmp_path} since no clean shutdown file was found"
    )
    for notified in (f"{0:020d}.log", "truncating to offset 3", ": 7 bytes"):
        assert notified in cut["event"]
    assert line["event"] == "Found invalid messages in the log of a-0, discarded its last bytes"
    assert (line["discarded_bytes"], line["log_end_offset"]) == (7, 3)
    assert again.get(A).log_end_offset == 3
    assert again.high_watermark(A) == 0


def test_the_mark_of_a_clean_stop_is_gone_for_good_before_a_log_is_opened(open_dirs, tmp_path, monkeypatch):
    dirs = open_dirs(tmp_path)
    dirs.get_or_create(A)
    dirs.close()
    seen, load = [], log_dir.load_log

    def synced(path):
        seen.append((path, (path / log_dir.CLEAN_SHUTDOWN).exists()))

    def loaded(directory, *more):
        seen.append(directory)
        return load(directory, *more)

    monkeypatch.setattr(log_dir, "sync_directory", synced)
    monkeypatch.setattr(log_dir, "load_log", loaded)
    open_dirs(tmp_path)
    assert seen == [(tmp_path, False), tmp_path / "a-0"]


def test_as_many_logs_are_opened_at_a_time_as_there_are_threads(open_dirs, tmp_path, batch):
    dirs = open_dirs(tmp_path)
    for tp in (A, B):
        dirs.get_or_create(tp).append_as_leader(batch(3), EPOCH)
    dirs.fail(tmp_path, "a crash")
    both = threading.Barrier(2)

    def config_for(_):
        both.wait(30)
        return LogConfig()

    again = open_dirs(tmp_path, config_for=config_for, recovery_threads=2)
    assert [again.get(tp).log_end_offset for tp in (A, B)] == [3, 3]


def test_a_log_that_cannot_be_opened_takes_the_directory_offline_with_the_others(
    open_dirs, tmp_path, batch, monkeypatch
):
    one, two = tmp_path / "one", tmp_path / "two"
    dirs = open_dirs(one)
    for tp in (A, B):
        dirs.get_or_create(tp).append_as_leader(batch(3), EPOCH)
    dirs.fail(one, "a crash")
    load = log_dir.load_log

    def load_or_fail(directory, *more):
        if directory.name == "a-0":
            raise OSError(5, "Input/output error")
        return load(directory, *more)

    monkeypatch.setattr(log_dir, "load_log", load_or_fail)
    again = open_dirs(one, two, recovery_threads=2)
    assert list(again.offline) == [one]
    assert again.logs == {}
    assert open_files(tmp_path) == [two / ".lock"]


@pytest.mark.parametrize("call", ["pread", "pwritev"])
def test_a_disk_that_refuses_has_no_file_open_any_more(open_dirs, tmp_path, batch, monkeypatch, call):
    """The failure is kept, and its traceback could keep the frames that refer to files."""
    dirs = open_dirs(tmp_path)
    log = dirs.get_or_create(A)
    log.append_as_leader(batch(3), EPOCH)

    def refuse(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(KafkaStorageError) as caught:
        log.read(0, 1000, 3) if call == "pread" else log.append_as_leader(batch(3), EPOCH)
    assert dirs.offline[tmp_path] is caught.value
    assert open_files(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"],
)
def test_a_damaged_checkpoint_costs_no_data(open_dirs, tmp_path, batch, name):
    dirs = open_dirs(tmp_path)
    dirs.get_or_create(A).append_as_leader(batch(3), EPOCH)
    dirs.close()
    (tmp_path / name).write_text("rubbish")
    assert open_dirs(tmp_path).get(A).log_end_offset == 3


def test_another_brokers_directory_is_refused_untouched(open_dirs, tmp_path):
    open_dirs(tmp_path, broker=2).close()
    before = listing(tmp_path)
    with pytest.raises(
        InconsistentDirectoryError, match=r"broker\.id=2 of cluster .* but this is broker 1 of"
    ):
        open_dirs(tmp_path)
    assert listing(tmp_path) == before


def test_a_directory_from_before_cluster_ids_gets_one(open_dirs, tmp_path):
    (tmp_path / "meta.properties").write_text("#\n#Thu Mar 19 00:06:10 GMT 2020\nversion=0\nbroker.id=1\n")
    open_dirs(tmp_path).close()
    assert "cluster.id=b4rnab4sb4rnab4sb4rnab\n" in (tmp_path / "meta.properties").read_text()


def test_a_directory_whose_owner_cannot_be_read_is_refused(open_dirs, tmp_path):
    (tmp_path / "meta.properties").write_text("version=7\n")
    with pytest.raises(InconsistentDirectoryError, match="version 7, expected 0"):
        open_dirs(tmp_path)


def test_a_locked_directory_is_refused(open_dirs, tmp_path):
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLD_LOCK,
            str(tmp_path / ".lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InconsistentDirectoryError, match=r"another process holds \.lock"):
            open_dirs(tmp_path)
        holder.communicate(b"\n")
    open_dirs(tmp_path)


def test_a_deleted_log_is_renamed_and_unlinked_later(open_dirs, tmp_path, batch):
    now = [1000]
    dirs = open_dirs(tmp_path, clock=lambda: now[0])
    dirs.get_or_create(A).append_as_leader(batch(3), EPOCH)
    dirs.get_or_create(B)
    dirs.checkpoint_high_watermarks({A: 3, B: 0})
    dirs.delete(A)
    dirs.delete(A)
    dirs.checkpoint_removals()
    assert dirs.get(A) is None
    assert [n for n in listing(tmp_path) if n.endswith("-delete")]
    now[0] += 59_999
    dirs.purge_deleted()
    now[0] += 1
    dirs.purge_deleted()
    dirs.close()
    assert not [n for n in listing(tmp_path) if n.endswith("-delete")]
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nb 7 0\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\nb 7 0\n"


def test_deleted_logs_share_one_write_of_each_checkpoint(open_dirs, tmp_path, monkeypatch):
    """A checkpoint names all logs: one per deleted log is quadratic, in memory, too (4,000 logs: 500 MB)."""
    written = []
    dirs = open_dirs(tmp_path)
    names = [TopicPartition("many", number) for number in range(5)]
    for tp in (A, *names):
        dirs.get_or_create(tp)
    monkeypatch.setattr(
        log_dir, "write_offsets", lambda path, offsets: written.append((path.name, [*offsets]))
    )
    for tp in names:
        dirs.delete(tp)
    dirs.checkpoint_removals()
    dirs.checkpoint_removals()
    dirs.close()
    while_open = written[:3]
    assert while_open == [
        ("recovery-point-offset-checkpoint", [A]),
        ("log-start-offset-checkpoint", []),
        ("replication-offset-checkpoint", []),
    ]
    assert [name for name, _ in written[3:]] == [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
    ]


def test_a_deletion_that_a_stop_cut_short_is_ended(open_dirs, tmp_path):
    (tmp_path / ("a-0." + "f" * 32 + "-delete")).mkdir()
    (tmp_path / "lost+found").mkdir()
    dirs = open_dirs(tmp_path)
    dirs.purge_deleted()
    dirs.close()
    assert [n for n in listing(tmp_path) if n.endswith(("-delete", "found"))] == ["lost+found"]


def test_a_lowered_recovery_point_is_written_at_once(open_dirs, tmp_path, batch):
    dirs = open_dirs(tmp_path)
    log = dirs.get_or_create(A)
    log.append_as_leader(batch(3), EPOCH)
    log.append_as_leader(batch(3), EPOCH)
    log.flush()
    dirs.checkpoint_recovery_points()
    log.truncate_to(3)
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\na 0 3\n"


def test_high_watermarks_of_logs_not_named_are_kept(open_dirs, tmp_path, batch):
    dirs = open_dirs(tmp_path)
    for tp in (A, B):
        dirs.get_or_create(tp).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({A: 1, B: 2, TopicPartition("nowhere", 0): 5})
    dirs.checkpoint_high_watermarks({A: 3})
    dirs.close()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\na 0 3\nb 7 2\n"


def test_high_watermarks_of_logs_that_are_not_there_are_forgotten(open_dirs, tmp_path, batch):
    """A partition of that name that is made later has nothing committed."""
    dirs = open_dirs(tmp_path)
    dirs.get_or_create(A).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({A: 3})
    dirs.close()
    checkpoint = tmp_path / "replication-offset-checkpoint"
    checkpoint.write_text("0\n2\na 0 3\nb 7 2\n")
    again = open_dirs(tmp_path)
    again.get_or_create(B).append_as_leader(batch(5), EPOCH)
    assert again.high_watermark(B) == 0
    again.checkpoint_high_watermarks({})
    again.close()
    assert checkpoint.read_text() == "0\n1\na 0 3\n"


def test_the_files_of_deleted_segments_are_unlinked_later(open_dirs, tmp_path, batch):
    now = [BASE_TIME]
    config = LogConfig(segment_bytes=100, retention_bytes=0, file_delete_delay_ms=500)
    dirs = open_dirs(tmp_path, clock=lambda: now[0], config=config)
    logs = [dirs.get_or_create(tp) for tp in (A, B)]
    for log in logs:
        for _ in range(4):
            log.append_as_leader(batch(3), EPOCH)
        assert len(log.delete_old_segments(12)) == 4
        log.flush()
    now[0] += 499
    dirs.purge_deleted()
    assert len(list(logs[0].directory.glob("*.log.deleted"))) == 4
    dirs.delete(B)
    now[0] += 1
    dirs.purge_deleted()
    dirs.close()
    assert [name[15:] for name in listing(logs[0].directory)] == [
        "00012.index",
        "00012.log",
        "00012.snapshot",
        "00012.timeindex",
        "eckpoint",
    ]

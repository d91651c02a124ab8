from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dir import CLEAN_SHUTDOWN
from barnabas.broker.disk.errors import (
    InconsistentDirectoryError,
    KafkaStorageError,
    LogNameError,
    MissingLogError,
)
from barnabas.broker.disk.files import rename
from barnabas.broker.disk.segment import segment
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition

EPOCH = LeaderEpoch(0)


def tp(partition):
    return TopicPartition("events", partition)


def test_new_logs_go_where_the_fewest_are(open_dirs, paths):
    dirs = open_dirs(*paths)
    for n in range(6):
        assert dirs.get_or_create(tp(n)) is dirs.get_or_create(tp(n))
    assert [len([p for p in path.iterdir() if p.is_dir()]) for path in paths] == [3, 3]
    assert dirs.logs.keys() == {tp(n) for n in range(6)}
    assert dirs.live == paths


def test_a_start_says_how_many_logs_it_loaded(open_dirs, paths):
    with capture_logs() as said:
        dirs = open_dirs(*paths)
    assert re.fullmatch(r"Loaded 0 logs in \d+ms\.", said[-1]["event"])
    for n in range(3):
        dirs.get_or_create(tp(n))
    dirs.close()
    with capture_logs() as said:
        open_dirs(*paths)
    assert re.fullmatch(r"Loaded 3 logs in \d+ms\.", said[-1]["event"])


def test_every_directory_has_its_own_checkpoints(open_dirs, paths, batch):
    dirs = open_dirs(*paths)
    for n in range(2):
        dirs.get_or_create(tp(n)).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({tp(0): 1, tp(1): 2})
    dirs.checkpoint_recovery_points()
    dirs.checkpoint_log_start_offsets()
    dirs.close()
    rows = [(path / "replication-offset-checkpoint").read_text().splitlines()[2:] for path in paths]
    assert rows == [["events 0 1"], ["events 1 2"]]
    assert all((path / CLEAN_SHUTDOWN).exists() for path in paths)
    again = open_dirs(*paths)
    assert [again.high_watermark(tp(n)) for n in range(2)] == [1, 2]


def test_there_is_no_high_watermark_without_a_log(open_dirs, paths):
    with pytest.raises(KeyError, match="no log of events-5"):
        open_dirs(*paths).high_watermark(tp(5))


def test_a_name_that_no_directory_can_have_takes_none_offline(open_dirs, paths):
    dirs = open_dirs(*paths)
    with pytest.raises(LogNameError, match=r"no log of x+-0 can be made: .*too long"):
        dirs.get_or_create(TopicPartition("x" * 300, 0))
    assert (dirs.live, dict(dirs.offline)) == (paths, {})
    assert dirs.get_or_create(tp(0)).log_end_offset == 0


def test_a_disk_that_refuses_a_new_directory_goes_offline(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)
    monkeypatch.setattr(os, "mkdir", Mock(side_effect=OSError(5, "Input/output error")))
    with pytest.raises(KafkaStorageError, match="creating events-0"):
        dirs.get_or_create(tp(0))
    assert dirs.live == paths[1:]


def test_a_log_that_cannot_be_deleted_goes_offline_with_its_directory(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)
    for n in range(2):
        dirs.get_or_create(tp(n))
    monkeypatch.setattr(os, "rename", Mock(side_effect=OSError(30, "Read-only file system")))
    with pytest.raises(KafkaStorageError, match="deleting events-0"):
        dirs.delete(tp(0))
    assert dirs.live == paths[1:]
    assert dirs.fail(paths[0], "again") == (tp(0),)


def test_one_failed_directory_does_not_take_the_other_with_it(open_dirs, paths, batch, monkeypatch):
    dirs = open_dirs(*paths)
    first, second = dirs.get_or_create(tp(0)), dirs.get_or_create(tp(1))
    monkeypatch.setattr(os, "pwritev", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(KafkaStorageError, match="No space"):
        first.append_as_leader(batch(1), EPOCH)
    monkeypatch.undo()
    assert dirs.fail(paths[0], "heard of it") == (tp(0),)
    assert (dirs.get(tp(0)), dirs.live) == (None, paths[1:])
    assert "No space" in str(dirs.offline[paths[0]])
    assert second.append_as_leader(batch(1), EPOCH).first_offset == 0
    assert dirs.get_or_create(tp(2)).directory.parent == paths[1]
    dirs.close()
    assert [(path / CLEAN_SHUTDOWN).exists() for path in paths] == [False, True]


def test_failing_work_in_passing_takes_the_directory_offline(open_dirs, paths, batch):
    dirs = open_dirs(*paths)
    log = dirs.get_or_create(tp(0))
    shutil.rmtree(paths[0])
    while not dirs.offline:  # the work is done on the directory's thread, and heard of at the next occasion
        dirs.checkpoint_recovery_points()
    assert list(dirs.offline) == [paths[0]]
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(batch(1), EPOCH)


def test_without_any_live_directory_there_are_no_logs(open_dirs, paths):
    dirs = open_dirs(paths[0])
    assert dirs.fail(paths[0], "pulled out") == ()
    with pytest.raises(KafkaStorageError, match="pulled out"):
        dirs.get_or_create(tp(0))


def test_a_directory_that_cannot_be_used_is_offline_from_the_start(open_dirs, paths):
    paths[0].write_text("a file")
    dirs = open_dirs(*paths)
    assert list(dirs.offline) == [paths[0]]
    assert dirs.get_or_create(tp(0)).directory.parent == paths[1]
    with pytest.raises(KafkaStorageError, match="opening"):
        open_dirs(paths[0])


@pytest.mark.parametrize("other", ["logs", "linked", "linked/../logs"])
def test_a_directory_that_is_named_twice_is_refused(open_dirs, tmp_path, other):
    (tmp_path / "logs").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "logs")
    with pytest.raises(InconsistentDirectoryError, match=r"logs and .* of log\.dirs are one directory"):
        open_dirs(tmp_path / "logs", tmp_path / other)
    assert list((tmp_path / "logs").iterdir()) == []


def test_logs_that_are_due_are_flushed(open_dirs, paths, batch):
    now = [1000]
    dirs = open_dirs(*paths, config=replace(LogConfig(), flush_ms=100), clock=lambda: now[0])
    log = dirs.get_or_create(tp(0))
    log.append_as_leader(batch(2), EPOCH)
    dirs.flush_due_logs()
    assert log.recovery_point == 0
    now[0] += 100
    dirs.flush_due_logs()
    log.flush()
    assert log.recovery_point == 2


def test_a_log_that_may_lie_in_a_failed_directory_is_not_made_elsewhere(open_dirs, paths):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0), is_new=False)
    dirs.fail(paths[1], "test")
    with pytest.raises(KafkaStorageError, match="no log of events-1 is made") as refusal:
        dirs.get_or_create(tp(1), is_new=False)
    assert refusal.value.log_dir == paths[1]
    assert dirs.get_or_create(tp(2), is_new=True).directory.parent == paths[0]


def test_a_log_that_must_be_there_is_not_made(open_dirs, paths):
    dirs = open_dirs(*paths)
    with pytest.raises(MissingLogError, match="there is no log of events-0, though the partition is not new"):
        dirs.get_or_create(tp(0), is_new=False, may_begin_empty=False)
    assert (dirs.live, dict(dirs.offline), dirs.logs) == (paths, {}, {})
    log = dirs.get_or_create(tp(0))
    assert dirs.get_or_create(tp(0), is_new=False, may_begin_empty=False) is log


def test_a_stray_is_kept_as_long_as_its_records_would_have_been(open_dirs, paths, batch):
    now = [1_700_000_000_000]
    config = replace(LogConfig(), retention_ms=100_000, file_delete_delay_ms=10)
    dirs = open_dirs(paths[0], config=config, clock=lambda: now[0], at_once=True)
    dirs.get_or_create(tp(0)).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({tp(0): 3})
    dirs.put_aside(tp(0), "of the test")
    dirs.put_aside(tp(1), "there is none")
    assert (dirs.get(tp(0)), dirs.get_or_create(tp(0)).log_end_offset, dirs.high_watermark(tp(0))) == (
        None,
        0,
        0,
    )
    dirs.close()
    (stray,) = paths[0].glob("events-0.*-stray")

    now[0] += 100_000 - 1
    dirs = open_dirs(paths[0], config=config, clock=lambda: now[0], at_once=True)
    assert set(dirs.logs) == {tp(0)}
    dirs.purge_deleted()
    assert (stray / f"{0:020d}.log").exists()
    now[0] += 1
    dirs.purge_deleted()
    assert not stray.exists()


def test_a_stray_that_cannot_be_put_aside_goes_offline_with_its_directory(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0))
    monkeypatch.setattr(os, "rename", Mock(side_effect=OSError(30, "Read-only file system")))
    with pytest.raises(KafkaStorageError, match="putting events-0 aside"):
        dirs.put_aside(tp(0), "of the test")
    assert dirs.live == paths[1:]


def test_each_directory_in_use_has_a_lock_of_its_own(open_dirs, paths):
    dirs = open_dirs(*paths)
    both = dirs.locks
    assert len(both) == 2
    dirs.fail(paths[0], "broken")
    assert dirs.locks < both
    assert len(dirs.locks) == 1


def test_what_retention_removes_stays_open_for_its_readers_for_a_while(open_dirs, tmp_path, batch):
    now_ms = [0]
    config = LogConfig(segment_bytes=30_000, retention_bytes=1, file_delete_delay_ms=1000)
    dirs = open_dirs(tmp_path, config=config, clock=lambda: now_ms[0])
    log = dirs.get_or_create(tp(0))
    for _ in range(2):
        log.append_as_leader(batch(1, value=b"v" * 20_000), EPOCH)
    records = log.find(0, 1 << 20, 1).records
    content = bytes(records)
    assert log.delete_old_segments(2)
    dirs.purge_deleted()
    log.flush()
    assert records.read(0, len(records)) == content
    now_ms[0] = 1000
    dirs.purge_deleted()
    log.flush()
    with pytest.raises(OSError, match="Bad file descriptor"):
        records.read(0, 1)
    assert (log.log_end_offset, dirs.offline) == (2, {})
    # A directory that goes offline closes at once what waits for its readers.
    (former,) = log.compaction.segments
    log.append_as_leader(batch(1, value=b"v" * 20_000), EPOCH)
    assert log.delete_old_segments(3)
    assert not former.is_closed
    dirs.fail(tmp_path, "a test says so")
    assert former.is_closed


def test_a_truncation_meets_the_removal_of_a_former_segment(open_dirs, tmp_path, batch, monkeypatch):
    """Compaction had replaced the segment: the directory's thread unlinks the names that it gets now."""
    log = open_dirs(tmp_path).get_or_create(tp(0))
    log.append_as_leader(batch(1), EPOCH)

    def renamed(path, name):
        rename(path, name).unlink()
        return path.with_name(name)

    monkeypatch.setattr(segment, "rename", renamed)
    log.truncate_fully_and_start_at(5)
    assert (log.log_end_offset, [*tmp_path.glob("*/*.deleted")]) == (5, [])

from __future__ import annotations

import ast
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk import files
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.files import (
    MAX_BUFFERS,
    expect_sequential_reads,
    make_directories,
    read_exactly,
    real_path,
    replace_file,
    sync_directory,
    write_all,
)
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.failpoints import DISK_FULL, Action


@pytest.fixture
def fd(tmp_path):
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def test_buffers_are_written_one_behind_the_other(fd):
    write_all(fd, [b"ab", memoryview(b"cde")], 5, 3)
    assert read_exactly(fd, 100, 0) == b"\0\0\0abcde"


@pytest.mark.parametrize(
    "write", [lambda fd, path: write_all(fd, [b"x"], 1, 0), lambda fd, path: replace_file(path, b"x")]
)
def test_a_full_disk_refuses_every_write_until_it_is_free_again(fd, tmp_path, write):
    DISK_FULL.arm(Action.ERROR)
    try:
        with pytest.raises(OSError, match="No space left on device"):
            write(fd, tmp_path / "other")
    finally:
        DISK_FULL.arm(Action.OFF)
    write(fd, tmp_path / "other")


def test_reads_are_the_same_where_the_system_expects_them_in_order(fd):
    write_all(fd, [b"abc"], 3, 0)
    expect_sequential_reads(fd)
    assert read_exactly(fd, 3, 0) == b"abc"


def test_a_write_of_nothing_is_an_error(fd, monkeypatch):
    monkeypatch.setattr(os, "pwritev", lambda *_: 0)
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with pytest.raises(OSError, match="nothing of 3 bytes was written at byte 7"):
        write_all(fd, [b"abc"], 3, 7)


def test_short_writes_are_continued(fd, monkeypatch):
    vector, single = os.pwritev, os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda f, buffers, at: vector(f, [buffers[0]], at))
    monkeypatch.setattr(os, "pwrite", lambda f, data, at: single(f, data[:2], at))
    write_all(fd, [b"abc", b"defgh"], 8, 0)
    assert read_exactly(fd, 8, 0) == b"abcdefgh"


def test_more_buffers_than_one_call_takes(fd):
    count = MAX_BUFFERS + 5
    write_all(fd, [b"x"] * count, count, 0)
    assert read_exactly(fd, 2 * count, 0) == b"x" * count


def test_short_reads_are_continued(fd, monkeypatch):
    write_all(fd, [b"abcdef"], 6, 0)
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda f, size, at: real(f, min(size, 2), at))
    assert read_exactly(fd, 5, 1) == b"bcdef"


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_as_a_whole(tmp_path, durable):
    path = tmp_path / "checkpoint"
    replace_file(path, b"one", durable=durable)
    replace_file(path, b"two", durable=durable)
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def test_a_failed_replacement_leaves_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    replace_file(path, b"one")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"two")
    assert path.read_bytes() == b"one"


def test_a_directory_is_synced(tmp_path):
    sync_directory(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_directory(tmp_path / "none")


def test_directories_are_made_for_good(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "sync_directory", synced.append)
    for _ in range(2):
        make_directories(tmp_path / "deep" / "logs")
        assert (tmp_path / "deep" / "logs").is_dir()
        assert synced == [tmp_path, tmp_path / "deep"]


def test_a_file_is_in_the_place_of_a_directory(tmp_path):
    (tmp_path / "logs").touch()
    with pytest.raises(FileExistsError):
        make_directories(tmp_path / "logs")


def test_a_lock_is_that_of_one_file_and_of_no_copy(tmp_path):
    def identity(name):
        fd = files.lock_file(tmp_path / name)
        try:
            return files.lock_identity(fd)
        finally:
            files.close_file(fd)

    first = identity("lock")
    assert len(first) == 22
    assert identity("lock") == first
    (tmp_path / "link").hardlink_to(tmp_path / "lock")
    assert identity("link") == first
    (tmp_path / "kept").hardlink_to(tmp_path / "lock")
    (tmp_path / "lock").unlink()
    assert identity("lock") != first


def test_a_lock_of_another_boot_or_machine_is_another(tmp_path, monkeypatch):
    fd = files.lock_file(tmp_path / "lock")
    try:
        here = files.lock_identity(fd)
        monkeypatch.setattr(files, "_BOOT_ID", tmp_path / "boot_id")
        (tmp_path / "boot_id").write_text("of another boot")
        elsewhere = files.lock_identity(fd)
        (tmp_path / "boot_id").unlink()
        assert len({here, elsewhere, files.lock_identity(fd)}) == 3
    finally:
        files.close_file(fd)


def test_two_names_of_a_directory_lead_to_one_place(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "linked").symlink_to(tmp_path / "made-later")
    assert real_path(tmp_path / "linked" / ".." / "linked") == real_path(tmp_path / "made-later")
    assert real_path(tmp_path / "loop") != real_path(tmp_path / "linked")


def test_nothing_else_in_the_package_changes_what_lies_on_disk():
    asked = {"os", "shutil", "fcntl", "tempfile"}
    changing = {"unlink", "rename", "replace", "mkdir", "rmdir", "touch", "write_bytes", "write_text"}
    for path in Path(files.__file__).parent.glob("*.py"):
        if path.name == "files.py":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text())))
        imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        called = {
            node.func.attr
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not imported & asked, path.name
        assert not called & changing, path.name


TP, OTHER = TopicPartition("events", 0), TopicPartition("others", 0)
SMALL = LogConfig(segment_bytes=200, index_interval_bytes=50, segment_index_bytes=96, file_delete_delay_ms=0)


class Life:
    """What a log directory goes through, and which batches must be in its log whatever fails.

    Attributes:
        kept: The batches of which a reader was told, and that nobody asked to drop.
    """

    def __init__(self, batch):
        self._batch = batch
        self.kept = []

    def run(self, dirs):
        log = dirs.get_or_create(TP)
        dirs.get_or_create(OTHER)
        self._append(log, 4, epoch=0)
        dirs.checkpoint_high_watermarks({TP: 4})
        dirs.checkpoint_recovery_points()
        del self.kept[2:]
        log.truncate_to(Offset(4))
        log.assign_epoch_start(LeaderEpoch(1))
        self._append(log, 2, epoch=1)
        log.flush()
        dirs.delete(OTHER)
        dirs.purge_deleted()
        dirs.checkpoint_log_start_offsets()
        self._append(log, 1, epoch=2)
        dirs.close()

    def _append(self, log, count, epoch):
        for _ in range(count):
            offset = log.log_end_offset
            log.append_as_leader(self._batch(2, producer=(9, 0, offset)), LeaderEpoch(epoch))
            self.kept.append(self._batch(2, producer=(9, 0, offset), base_offset=offset, epoch=epoch))


def content_of(log):
    content, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1, log.log_end_offset)
        content.append(found.records)
        offset = found.next_offset
    return content


@pytest.fixture
def live(open_dirs, tmp_path, batch):
    """Lets a directory go through its life; tells what must be in it, and whether a failure was told."""

    def live_(name):
        path, life, dirs = tmp_path / name, Life(batch), None
        try:
            dirs = open_dirs(path, config=SMALL, at_once=True)
            life.run(dirs)
        except KafkaStorageError:
            return path, life.kept, True
        return path, life.kept, bool(dirs.offline)

    return live_


@pytest.fixture
def content(open_dirs):
    def content_(path):
        dirs = open_dirs(path, config=SMALL, at_once=True)
        log = dirs.get(TP)
        found = content_of(log) if log else []
        dirs.close()
        return found

    return content_


def test_whichever_call_fails_it_is_reported_and_nothing_is_lost(faulty_disk, failure, live, content):
    live("sound")
    calls = faulty_disk.calls
    assert calls > 80
    for at in range(1, calls + 1):
        faulty_disk.fail(failure, at)
        path, kept, is_told = live(f"fails-at-{at}")
        assert is_told == faulty_disk.has_failed, at
        faulty_disk.heal()
        assert content(path)[: len(kept)] == kept, at


def test_short_writes_are_no_failure(faulty_disk, short_writes, live, content):
    faulty_disk.fail(short_writes, 1)
    path, kept, is_told = live("short")
    assert (is_told, content(path)) == (False, kept)

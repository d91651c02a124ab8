from __future__ import annotations

import os

import pytest

from broker.disk.files import MAX_BUFFERS, read_exactly, replace_file, sync_directory, write_all


@pytest.fixture
def fd(tmp_path):
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def test_buffers_are_written_one_behind_the_other(fd):
    write_all(fd, [b"ab", memoryview(b"cde")], 5, 3)
    assert read_exactly(fd, 100, 0) == b"\0\0\0abcde"


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

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"two")
    assert path.read_bytes() == b"one"


def test_a_directory_is_synced(tmp_path):
    sync_directory(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_directory(tmp_path / "none")

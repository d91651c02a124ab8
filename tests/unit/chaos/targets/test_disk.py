import errno
import os

import pytest

from barnabas.chaos.targets import disk as module
from barnabas.chaos.targets.disk import DiskError, SmallDisk, turn_read_only


@pytest.fixture
def commands(monkeypatch):
    run = []
    monkeypatch.setattr(module, "run", lambda *command: run.append(" ".join(command)))
    return run


def test_what_a_killed_process_left_mounted_is_removed(commands, monkeypatch):
    mounts = [
        f"barnabas-{os.getpid()} /mine tmpfs rw 0 0",
        "barnabas-0 /a\\040b tmpfs rw 0 0",
        "tmpfs /c tmpfs rw 0 0",
    ]
    monkeypatch.setattr(module.Path, "read_text", lambda *_, **__: "\n".join(mounts))
    module.remove_leftovers()
    assert commands == ["umount --lazy /a b"]


def test_only_a_disk_of_its_own_is_filled(tmp_path):
    with pytest.raises(DiskError, match="is no mounted disk"):
        SmallDisk(tmp_path, 8).fill()


class Full:
    """A file on a disk with room for so many writes."""

    def __init__(self, path, room, error=errno.ENOSPC):
        self._file = path.open("wb")
        self._room = room
        self._error = error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def write(self, chunk):
        if self._room == 0:
            raise OSError(self._error, "no")
        self._room -= 1
        self._file.write(chunk)


def test_it_is_filled_to_the_last_and_what_filled_it_is_taken_away(tmp_path, monkeypatch):
    monkeypatch.setattr(module.os.path, "ismount", lambda _: True)
    file = Full(tmp_path / module.FILLER, room=2)
    monkeypatch.setattr(module.Path, "open", lambda *_, **__: file)
    disk = SmallDisk(tmp_path, 8)
    disk.fill()
    assert [file.stat().st_size for file in tmp_path.iterdir()] == [2 << 20]
    disk.free()
    disk.free()
    assert list(tmp_path.iterdir()) == []


def test_another_failure_to_write_is_no_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(module.os.path, "ismount", lambda _: True)
    file = Full(tmp_path / module.FILLER, room=0, error=errno.EIO)
    monkeypatch.setattr(module.Path, "open", lambda *_, **__: file)
    with pytest.raises(OSError, match="no"):
        SmallDisk(tmp_path, 8).fill()


def test_a_process_that_shares_our_mounts_is_left_alone(tmp_path):
    with pytest.raises(DiskError, match="has no mount namespace of its own"):
        turn_read_only(tmp_path, os.getpid())

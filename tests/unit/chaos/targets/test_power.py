import os
from pathlib import Path

import pytest

from barnabas.chaos.targets import power as module
from barnabas.chaos.targets.disk import DiskError
from barnabas.chaos.targets.power import Loss, PowerDisk, SharedMounts, loss, why_not


@pytest.fixture
def disk(tmp_path):
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with (
        SharedMounts(tmp_path / "mounts"),
        PowerDisk(tmp_path / "mounts" / "disk", tmp_path / "image", 16) as disk,
    ):
        yield disk


def write(path, content, *, synced):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, content, os.fstat(fd).st_size)
    if synced:
        os.fsync(fd)
    os.close(fd)


def test_a_power_cut_takes_what_was_not_synced_and_nothing_else(disk):
    log, fresh = disk.directory / "log", disk.directory / "fresh"
    write(log, b"kept", synced=True)
    write(log, b" and lost", synced=False)
    write(fresh, b"lost", synced=False)
    assert disk.cut() == Loss(files=2, bytes=13)
    assert {file.name: file.read_bytes() for file in disk.directory.iterdir()} == {"log": b"kept"}


def test_a_rename_that_was_not_synced_is_undone(disk):
    log = disk.directory / "log"
    write(log, b"x", synced=True)
    log.rename(disk.directory / "log.deleted")
    assert disk.cut().files == 2
    assert [file.name for file in disk.directory.iterdir()] == ["log"]


def test_the_disk_is_used_on_after_a_cut(disk):
    for number in range(3):
        write(disk.directory / f"log-{number}", b"kept", synced=True)
        disk.cut()
    assert len([*disk.directory.iterdir()]) == 3


def test_a_disk_that_somebody_holds_is_not_cut_in_silence(disk):
    with (disk.directory / "held").open("w"), pytest.raises(DiskError, match=r"umount .*busy"):
        disk.cut()


def test_it_starts_empty_and_ends_with_its_mounts(disk):
    assert not [*disk.directory.iterdir()]
    assert os.path.ismount(disk.directory)


def test_a_loss_is_what_is_shorter_gone_or_back():
    assert loss({"a": 5, "b": 3, "c": 1}, {"a": 2, "c": 1, "d": 9}) == Loss(files=3, bytes=6)
    assert Loss(1, 2) + Loss(3, 4) == Loss(4, 6)


def test_a_machine_without_loop_devices_says_so(monkeypatch):
    def refuse(*command):
        raise DiskError("mount: no loop device")

    monkeypatch.setattr(module, "run", refuse)
    assert why_not() == "mount: no loop device"


def test_a_disk_that_loses_nothing_is_no_use(monkeypatch):
    monkeypatch.setattr(module, "run", lambda *_: "")
    monkeypatch.setattr(PowerDisk, "start", lambda disk: disk.directory.mkdir(parents=True))
    monkeypatch.setattr(PowerDisk, "cut", lambda disk: Loss())
    monkeypatch.setattr(PowerDisk, "stop", lambda disk: None)
    assert why_not() == "a file that was not synced outlived the power cut"


def test_an_image_that_is_still_in_use_is_not_mounted_twice(monkeypatch):
    monkeypatch.setattr(module, "run", lambda *_: "/dev/loop3: []: (/image)")
    monkeypatch.setattr(module, "_RELEASE_TIMEOUT_S", 0.0)
    with pytest.raises(DiskError, match="the loop device of /image to go"):
        PowerDisk(Path("/d"), Path("/image"), 1)._wait_until_released()

"""A disk that loses its power: an ext4 in a file, from which everything is lost that was never synced.

The file system is mounted from an image through a loop device. ``cut`` shuts it down as the loss of power
does (``EXT4_IOC_SHUTDOWN`` without a flush of the journal, with which xfstests tests file systems): what lies
in the page cache and in the running transaction of the journal never reaches the image. Mounted again, it has
what ``fsync`` promised: files end where they were synced last, and names that were made, changed or removed
since are as they were. Data stays in memory for half a minute or longer (``vm.dirty_expire_centisecs``), and
the journal does not commit by itself.

Needs root on Linux, ``mkfs.ext4`` (Debian's ``e2fsprogs``) and loop devices.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.chaos.disk import DiskError, SmallDisk, mine, run, sync
from barnabas.chaos.waiting import wait_until

_SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
"""``EXT4_IOC_SHUTDOWN``, which is ``_IOR('X', 125, __u32)``."""

_NO_LOG_FLUSH = struct.pack("I", 2)
"""``EXT4_GOING_FLAGS_NOLOGFLUSH``."""

_OPTIONS = "loop,noatime,commit=86400,noauto_da_alloc"
"""The journal commits once a day unless somebody syncs, and nothing is synced because it was renamed."""

_RELEASE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Loss:
    """What a power cut took.

    Attributes:
        files: How many files are gone, shorter, or back under an older name.
        bytes: By how much those files that were there before are shorter; what was never written in them
            (indexes are made large) does not count.
    """

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.files + other.files, self.bytes + other.bytes)


class PowerDisk(SmallDisk):
    """An ext4 at a directory, from ``start`` to ``stop``, in an image beside it.

    Args:
        directory: Where it is mounted, below mounts that are shared (``SharedMounts``); created where it is
            not there.
        image: The file that holds it; created.
        size_mib: Its size in MiB; the image takes no more room than what is written.
    """

    def __init__(self, directory: Path, image: Path, size_mib: int) -> None:
        super().__init__(directory, size_mib)
        self._image = image

    def start(self) -> None:
        """Make the file system and mount it, empty.

        Raises:
            DiskError: That is not possible here.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(self._size_mib << 20)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", str(self._image))
        self._mount()
        # Brokers refuse a log directory with a directory that is no partition's, as Kafka does.
        (self.directory / "lost+found").rmdir()
        sync(self.directory)

    def cut(self) -> Loss:
        """Lose what was not synced; nobody may have a file of it open.

        Raises:
            DiskError: It cannot be mounted again, or somebody holds it.
        """
        before = _sizes(self.directory)
        fd = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(fd)
        run("umount", str(self.directory))
        self._wait_until_released()
        self._mount()
        return loss(before, _sizes(self.directory))

    def _mount(self) -> None:
        run("mount", "-o", _OPTIONS, str(self._image), str(self.directory))

    def _wait_until_released(self) -> None:
        """Two file systems in one image at once would ruin it: the old one's last block must be written."""
        try:
            wait_until(
                lambda: not run("losetup", "--associated", str(self._image)),
                f"the loop device of {self._image} to go",
                _RELEASE_TIMEOUT_S,
            )
        except TimeoutError as error:
            raise DiskError(str(error)) from error


class SharedMounts:
    """A tmpfs for mount points: what is unmounted below it is unmounted in all younger namespaces.

    Processes in network namespaces have mounts of their own, copied when they start (``ip netns exec``). A
    disk that lives on in one of them could not be mounted anew.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "size=1m", mine(), str(self._directory))
        run("mount", "--make-shared", str(self._directory))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run("umount", "--lazy", str(self._directory))


def why_not() -> str | None:
    """Why no power can be cut on this machine; None where it can."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            with SharedMounts(Path(directory) / "mounts"):
                disk = PowerDisk(Path(directory) / "mounts" / "disk", Path(directory) / "image", 16)
                with disk:
                    (disk.directory / "unsynced").touch()
                    lost = disk.cut()
        except (DiskError, OSError) as error:
            return str(error)
    return None if lost == Loss(1, 0) else "a file that was not synced outlived the power cut"


def loss(before: dict[str, int], after: dict[str, int]) -> Loss:
    """What is lost between two looks at a disk, each the size of every file by its name."""
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return Loss(len(changed), sum(max(0, before.get(name, 0) - after.get(name, 0)) for name in changed))


def _sizes(directory: Path) -> dict[str, int]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): _written(path.stat()) for path in files}


def _written(stat: os.stat_result) -> int:
    return min(stat.st_size, stat.st_blocks * 512)

"""A disk that can lose its power: an ext4 in a file that then loses everything that was not synced.

The file system is mounted from an image through a loop device. ``cut`` shuts it down as a power cut does
(``EXT4_IOC_SHUTDOWN`` without a flush of the journal, as xfstests does): the page cache and the journal's
running transaction never reach the image. Mounted again, the disk holds what ``fsync`` promised: files have
the length of their last sync, and names that were created, changed or removed since then are as before. Data
stays in memory for half a minute or longer (``vm.dirty_expire_centisecs``), and the journal does not commit
by itself.

This needs root on Linux, ``mkfs.ext4`` (Debian's ``e2fsprogs``) and loop devices.
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

from barnabas.chaos.targets.disk import DiskError, SmallDisk, mine, run, sync
from barnabas.local.waiting import wait_until

_SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
"""The ioctl ``EXT4_IOC_SHUTDOWN``, which is ``_IOR('X', 125, __u32)``."""

_NO_LOG_FLUSH = struct.pack("I", 2)
"""The flag ``EXT4_GOING_FLAGS_NOLOGFLUSH``."""

_OPTIONS = "loop,noatime,commit=86400,noauto_da_alloc"
"""Mount options: the journal commits once a day unless a process syncs, and a rename syncs nothing."""

_RELEASE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a power cut.

    Attributes:
        files: The number of files that are gone, shorter, or back under an older name.
        bytes: The bytes by which files are shorter; holes (indexes are created large) do not count.
    """

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.files + other.files, self.bytes + other.bytes)


class PowerDisk(SmallDisk):
    """An ext4 in an image, mounted from ``start`` to ``stop``.

    Args:
        directory: The mount point, below ``SharedMounts``; it is created if it does not exist.
        image: The image file, which is created.
        size_mib: The size in MiB; the image is sparse.
    """

    def __init__(self, directory: Path, image: Path, size_mib: int) -> None:
        super().__init__(directory, size_mib)
        self._image = image

    def start(self) -> None:
        """Create an empty file system and mount it.

        Raises:
            DiskError: The file system cannot be created or mounted here.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(self._size_mib << 20)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", str(self._image))
        self._mount()
        # Brokers, as Kafka's, refuse a log directory that holds a folder which is not a partition's.
        (self.directory / "lost+found").rmdir()
        sync(self.directory)

    def cut(self) -> Loss:
        """Lose what was not synced; no process may have a file of the disk open.

        Raises:
            DiskError: The disk cannot be mounted again, or a process holds it.
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
        """Wait until the loop device is gone: a second mount of the image before that would ruin it."""
        try:
            wait_until(
                lambda: not run("losetup", "--associated", str(self._image)),
                f"the loop device of {self._image} to go",
                _RELEASE_TIMEOUT_S,
            )
        except TimeoutError as error:
            raise DiskError(str(error)) from error


class SharedMounts:
    """A tmpfs for mount points, below which an unmount applies to all later mount namespaces too.

    A process in a network namespace has its own mounts, copied at its start (``ip netns exec``). A disk that
    stays mounted in one of them could not be mounted again.
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
    """Return why power cannot be cut on this machine; None if it can."""
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
    """Compare the sizes of files, by name, before and after a cut."""
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return Loss(len(changed), sum(max(0, before.get(name, 0) - after.get(name, 0)) for name in changed))


def _sizes(directory: Path) -> dict[str, int]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): _written(path.stat()) for path in files}


def _written(stat: os.stat_result) -> int:
    return min(stat.st_size, stat.st_blocks * 512)

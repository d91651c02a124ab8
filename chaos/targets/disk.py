"""Disk faults: a small disk that can be filled, and a directory that becomes read-only for a running process.

This needs root on Linux. The disk is a tmpfs. The read-only view is a mount only in the process's own mount
namespace (``ip netns exec`` creates one), so it ends with the process.
"""

from __future__ import annotations

import errno
import os
import re
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.chaos.targets import commands

FILLER = "filler"
_SOURCE = re.compile(r"^barnabas-(\d+)$")
_CHUNK = bytes(1 << 20)


class DiskError(Exception):
    """An error for a disk that cannot be set up or changed, with the command and its output."""


run = partial(commands.run, DiskError)
"""The runner of system commands, which raises DiskError if one fails."""


class SmallDisk:
    """A tmpfs that is mounted from ``start`` to ``stop``.

    Args:
        directory: The mount point, which is created if it does not exist.
        size_mib: The size in MiB.
    """

    def __init__(self, directory: Path, size_mib: int) -> None:
        self.directory = directory
        self._size_mib = size_mib

    def start(self) -> None:
        """Mount an empty disk.

        Raises:
            DiskError: The disk cannot be mounted here.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={self._size_mib}m", mine(), str(self.directory))

    def stop(self) -> None:
        """Unmount the disk, even while files are open; its content is lost."""
        run("umount", "--lazy", str(self.directory))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def fill(self) -> None:
        """Use all free space, so that the next write fails with ENOSPC.

        Raises:
            DiskError: The disk is not mounted.
        """
        if not os.path.ismount(self.directory):
            raise DiskError(f"{self.directory} is no mounted disk: what would be filled is another")
        with (self.directory / FILLER).open("wb", buffering=0) as filler:
            # Write until the system reports ENOSPC: brokers write too, so the free space counted before is
            # outdated.
            while True:
                try:
                    filler.write(_CHUNK)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    return

    def free(self) -> None:
        """Release the space."""
        (self.directory / FILLER).unlink(missing_ok=True)


def remove_leftovers() -> None:
    """Unmount the disks of processes that were killed before they could do so."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        source, directory, *_ = line.split(" ")
        owner = _SOURCE.match(source)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            run("umount", "--lazy", directory.replace("\\040", " "))


def sync(directory: Path) -> None:
    """Sync a directory, so that the names in it survive a power cut."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def mine() -> str:
    """Return the source name of this process's mounts."""
    return f"barnabas-{os.getpid()}"


def turn_read_only(directory: Path, pid: int) -> None:
    """Make ``directory`` read-only (EROFS) for process ``pid``; files that are open stay writable.

    Raises:
        DiskError: The mount fails, or the process shares its mounts with this one.
    """
    namespaces = [Path(f"/proc/{each}/ns/mnt").readlink() for each in ("self", pid)]
    if namespaces[0] == namespaces[1]:
        raise DiskError(f"process {pid} has no mount namespace of its own")
    run("nsenter", f"--mount=/proc/{pid}/ns/mnt", "mount", "--bind", str(directory), str(directory))
    run("nsenter", f"--mount=/proc/{pid}/ns/mnt", "mount", "-o", "remount,bind,ro", str(directory))

"""A small disk that can be filled, and a directory that turns read-only under a running process.

Needs root on Linux: the disk is a tmpfs of its own, and the read-only view is a mount in the process's mount
namespace alone (``ip netns exec`` gives it one), so it ends with the process.
"""

from __future__ import annotations

import errno
import os
import re
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.chaos import commands

FILLER = "filler"
_SOURCE = re.compile(r"^barnabas-(\d+)$")
_CHUNK = bytes(1 << 20)


class DiskError(Exception):
    """The disk cannot be had or changed; the message names the command and what it said."""


run = partial(commands.run, DiskError)
"""Run a command of the system's; raises DiskError where it fails."""


class SmallDisk:
    """A tmpfs at a directory, from ``start`` to ``stop``.

    Args:
        directory: Where it is mounted; created where it is not there.
        size_mib: Its size in MiB.
    """

    def __init__(self, directory: Path, size_mib: int) -> None:
        self.directory = directory
        self._size_mib = size_mib

    def start(self) -> None:
        """Mount it, empty.

        Raises:
            DiskError: That is not possible here.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={self._size_mib}m", mine(), str(self.directory))

    def stop(self) -> None:
        """Unmount it, also while files are open; its content is gone."""
        run("umount", "--lazy", str(self.directory))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def fill(self) -> None:
        """Take all its free space: the next write meets ENOSPC.

        Raises:
            DiskError: It is not mounted.
        """
        if not os.path.ismount(self.directory):
            raise DiskError(f"{self.directory} is no mounted disk: what would be filled is another")
        with (self.directory / FILLER).open("wb", buffering=0) as filler:
            # Until the system says so: others write at the same time, and its own count is of a moment ago.
            while True:
                try:
                    filler.write(_CHUNK)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    return

    def free(self) -> None:
        """Give the space back."""
        (self.directory / FILLER).unlink(missing_ok=True)


def remove_leftovers() -> None:
    """Unmount the disks of processes that were killed before they could."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        source, directory, *_ = line.split(" ")
        owner = _SOURCE.match(source)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            run("umount", "--lazy", directory.replace("\\040", " "))


def sync(directory: Path) -> None:
    """Make the names in a directory outlive a loss of power."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def mine() -> str:
    """What mounts of this process name as their source."""
    return f"barnabas-{os.getpid()}"


def turn_read_only(directory: Path, pid: int) -> None:
    """Have process ``pid`` find ``directory`` read-only from now on (EROFS); files it has open stay writable.

    Raises:
        DiskError: That is not possible here, or the process shares its mounts with this one.
    """
    namespaces = [Path(f"/proc/{each}/ns/mnt").readlink() for each in ("self", pid)]
    if namespaces[0] == namespaces[1]:
        raise DiskError(f"process {pid} has no mount namespace of its own")
    run("nsenter", f"--mount=/proc/{pid}/ns/mnt", "mount", "--bind", str(directory), str(directory))
    run("nsenter", f"--mount=/proc/{pid}/ns/mnt", "mount", "-o", "remount,bind,ro", str(directory))

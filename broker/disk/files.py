"""The few calls to the operating system that need care: short writes, durable renames, synced directories."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from broker.core.record_batch import Buffer
from broker.disk.names import TEMPORARY_SUFFIX

MAX_BUFFERS = 1024
"""The most buffers that one ``pwritev`` takes (IOV_MAX)."""


def write_all(fd: int, buffers: Sequence[Buffer], size: int, position: int) -> None:
    """Write the buffers, ``size`` bytes in all, one behind the other from ``position`` on.

    One system call, unless the system writes less than it was given.
    """
    written = os.pwritev(fd, buffers, position) if len(buffers) <= MAX_BUFFERS else 0
    if written == size:
        return
    rest = memoryview(b"".join(buffers))[written:]
    while rest:
        position += written
        written = os.pwrite(fd, rest, position)
        rest = rest[written:]


def read_exactly(fd: int, size: int, position: int) -> bytes:
    """The ``size`` bytes from ``position`` on; fewer only where the file ends."""
    data = os.pread(fd, size, position)
    if len(data) == size or not data:
        return data
    return data + read_exactly(fd, size - len(data), position + len(data))


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put ``content`` in the place of what ``path`` holds, so that a reader sees the one or the other.

    Args:
        path: The file.
        content: All of it.
        durable: Whether it must survive a loss of power, not only of the process.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    with temporary.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in ``directory`` durable."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

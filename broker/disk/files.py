"""The seam to the operating system: every call that changes what a log has on disk is made here.

What needs care is done once: short writes, durable renames, synced directories. A test that has one of these
calls fail has seen all the ways in which a disk can refuse.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from broker.core.record_batch import Buffer
from broker.disk.names import TEMPORARY_SUFFIX

MAX_BUFFERS = 1024
"""The most buffers that one ``pwritev`` takes (IOV_MAX)."""

_MODE = 0o644


def open_file(path: Path) -> int:
    """A descriptor to read and write ``path``, which is created where it is missing."""
    return os.open(path, os.O_RDWR | os.O_CREAT, _MODE)


def close_file(fd: int) -> None:
    """Give a descriptor back."""
    os.close(fd)


def size_of(fd: int) -> int:
    """The file's bytes."""
    return os.fstat(fd).st_size


def last_change_ms(fd: int) -> int:
    """When the file was last written to, in milliseconds since 1970."""
    return os.fstat(fd).st_mtime_ns // 1_000_000


def set_size(fd: int, size: int) -> None:
    """Cut the file, or lengthen it by zeros."""
    os.ftruncate(fd, size)


def sync(fd: int) -> None:
    """Put the file on the disk itself."""
    os.fsync(fd)


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
        if not written:
            raise OSError(errno.EIO, f"nothing of {len(rest)} bytes was written at byte {position}")
        rest = rest[written:]


def read_exactly(fd: int, size: int, position: int) -> bytes:
    """The ``size`` bytes from ``position`` on; fewer only where the file ends."""
    data = os.pread(fd, size, position)
    if len(data) == size or not data:
        return data
    return data + read_exactly(fd, size - len(data), position + len(data))


def expect_sequential_reads(fd: int) -> None:
    """Tell the system that the file is about to be read from end to end, where it can be told."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)


def write_file(path: Path, content: Buffer, *, durable: bool = True) -> None:
    """Have the file hold ``content`` and nothing else; a crash may leave less.

    Args:
        path: The file.
        content: All of it.
        durable: Whether it must survive a loss of power, not only of the process.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    try:
        write_all(fd, [content], len(content), 0)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def write_zeros(path: Path, size: int) -> None:
    """Have the file hold ``size`` zeros, which take no room on the disk."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put ``content`` in the place of what ``path`` holds, so that a reader sees the one or the other.

    Args:
        path: The file.
        content: All of it.
        durable: As for ``write_file``.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    write_file(temporary, content, durable=durable)
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def rename(path: Path, name: str) -> Path:
    """Give a file or directory another name in the same directory; returns its new path."""
    return path.rename(path.with_name(name))


def remove(path: Path) -> None:
    """Unlink a file."""
    path.unlink()


def remove_whatever(path: Path) -> None:
    """Unlink a directory with all that lies in it, or a file, which may have gone meanwhile."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def real_path(path: Path) -> str:
    """Where a path leads in the end: two paths to one directory have the same, though it is not made yet."""
    return os.path.realpath(path)


def make_directory(directory: Path) -> None:
    """Make a new directory in one that exists."""
    directory.mkdir()


def make_directories(directory: Path) -> None:
    """Make a directory, and those above it, where they are missing."""
    directory.mkdir(parents=True, exist_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the names in ``directory`` durable."""
    sync_file(directory)


def sync_file(path: Path) -> None:
    """Put a file that was written before on the disk itself."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock_file(path: Path) -> int | None:
    """Create the file where it is missing and lock it for this process, until the descriptor is closed.

    Returns:
        The descriptor, or None where another process holds the lock.
    """
    fd = open_file(path)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError:
        os.close(fd)
        raise
    return fd

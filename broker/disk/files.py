"""The seam to the operating system: every call that changes what a log has on disk is made here.

What needs care is done once: short writes, durable renames, synced directories. A test that has one of these
calls fail has seen all the ways in which a disk can refuse.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

from barnabas.broker.core.record_batch import Buffer
from barnabas.broker.disk.errors import NO_DESCRIPTOR
from barnabas.broker.disk.names import TEMPORARY_SUFFIX

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux tells one boot of one machine from all others."""

MAX_BUFFERS = 1024
"""The most buffers that one ``pwritev`` takes (IOV_MAX)."""

CLOSED = -1
"""No file descriptor: what is done with it fails, and touches nobody else's file."""

_MODE = 0o644


class _SpareDescriptors:
    """Descriptors that are kept open on nothing, to be given up where a file could not be opened else.

    Any thread may open a file.
    """

    def __init__(self) -> None:
        self._spare: list[int] = []
        self._wanted = 0
        self._lock = threading.Lock()

    def keep(self, count: int) -> None:
        """Have ``count`` of them, or as many as there are."""
        with self._lock:
            self._wanted = count
            while len(self._spare) > count:
                os.close(self._spare.pop())
        while self._take_back():
            pass

    def open(self, path: Path, flags: int) -> int:
        """As ``os.open``, by giving up spare descriptors where there is no other."""
        while True:
            try:
                fd = os.open(path, flags, _MODE)
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR or not self._give_up():
                    raise
                continue  # unless somebody else was quicker
            self._take_back()
            return fd

    def _give_up(self) -> bool:
        """Close one; False if none is left."""
        with self._lock:
            if self._spare:
                os.close(self._spare.pop())
                return True
            return False

    def _take_back(self) -> bool:
        """Have one more; False if enough are there, or no more can be had."""
        with self._lock:
            if len(self._spare) >= self._wanted:
                return False
            try:
                self._spare.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return False
            return True


_SPARE = _SpareDescriptors()


def keep_spare_descriptors(count: int) -> None:
    """Keep so many descriptors of this process back for the files that are opened here."""
    _SPARE.keep(count)


def open_file(path: Path) -> int:
    """Return a descriptor to read and write ``path``, which is created where it is missing."""
    return _SPARE.open(path, os.O_RDWR | os.O_CREAT)


def open_to_read(path: Path) -> int:
    """Return a descriptor to read ``path``, which must be there."""
    return os.open(path, os.O_RDONLY)


def close_file(fd: int) -> None:
    """Give a descriptor back."""
    os.close(fd)


def size_of(fd: int) -> int:
    """Return the file's bytes."""
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
    """Return the ``size`` bytes from ``position`` on; fewer only where the file ends."""
    data = os.pread(fd, size, position)
    if len(data) == size or not data:
        return data
    return data + read_exactly(fd, size - len(data), position + len(data))


def send_file(socket: int, fd: int, position: int, size: int) -> int:
    """Send at most ``size`` bytes of the file from ``position`` on to a socket that does not block.

    Returns:
        How many the socket took, 0 where it is full.
    """
    try:
        return os.sendfile(socket, fd, position, size)
    except BlockingIOError:
        return 0


def read_file(path: Path) -> bytes:
    """Return all that a file holds."""
    with os.fdopen(_SPARE.open(path, os.O_RDONLY), "rb") as file:
        return file.read()


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
    fd = _SPARE.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(fd, [content], len(content), 0)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def append_to_file(path: Path, content: Buffer) -> None:
    """Have the file, which is made where it is missing, hold ``content`` behind what it holds."""
    fd = open_file(path)
    try:
        write_all(fd, [content], len(content), size_of(fd))
    finally:
        close_file(fd)


def write_zeros(path: Path, size: int) -> None:
    """Have the file hold ``size`` zeros, which take no room on the disk."""
    fd = _SPARE.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
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


def touch(path: Path, now_ms: int) -> None:
    """Set when the directory ``path`` was last changed."""
    os.utime(path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))


def touched_ms(path: Path) -> int:
    """When the directory ``path`` was last changed, in milliseconds since 1970."""
    return path.stat().st_mtime_ns // 1_000_000


def remove(path: Path) -> None:
    """Unlink a file."""
    path.unlink()


def remove_empty_directory(directory: Path) -> None:
    """Unlink a directory in which nothing lies; do nothing to another."""
    with contextlib.suppress(OSError):
        directory.rmdir()


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
    fd = _SPARE.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock_file(path: Path) -> int | None:
    """Create the file where it is missing and lock it for this process, until the descriptor is closed.

    Returns:
        The descriptor, or None if another process holds the lock.
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


def lock_identity(fd: int) -> str:
    """What tells the lock of an open file from all other locks: 22 characters of base64url.

    A lock belongs to a file of one running kernel, so the machine's boot counts as well as the file's device
    and number: a copy of the file, here or on another machine, is another lock.
    """
    status = os.fstat(fd)
    try:
        kernel = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        kernel = platform.node()
    whole = f"{kernel} {status.st_dev} {status.st_ino}"
    digest = hashlib.blake2b(whole.encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")

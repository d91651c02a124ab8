"""The system calls that change a log's files, all in this module.

The delicate ones are written once: short writes, durable renames, synced directories. A test that makes each
of these calls fail has seen all the ways in which a disk can fail.
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

from barnabas.broker.core.records.record_batch import Buffer
from barnabas.broker.disk.errors import NO_DESCRIPTOR
from barnabas.broker.disk.names import TEMPORARY_SUFFIX
from barnabas.cluster.runtime.failpoints import DISK_FULL

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""The file in which Linux keeps the id of the current boot."""

MAX_BUFFERS = 1024
"""The largest number of buffers for one ``pwritev`` (IOV_MAX)."""

CLOSED = -1
"""An invalid file descriptor: every call with it fails, so no other file is touched."""

_MODE = 0o644


class Descriptor(int):
    """A file descriptor that is closed with the last reference to it.

    The system gives the number of a closed descriptor to the next file that is opened, which may be another
    topic's. So a file that several threads use is not closed by its number: its owner drops the reference,
    and a system call in progress still has the descriptor as its argument. CPython counts the references.
    """

    __slots__ = ()

    def __del__(self) -> None:
        os.close(self)


class _SpareDescriptors:
    """Descriptors in reserve, opened on ``/dev/null`` and closed when a file cannot be opened otherwise.

    Neither they nor the files that stay open have a number of the ceiling or above. The system assigns the
    lowest free number, so the numbers above are left to sockets and to files that are closed at once.

    Any thread may open a file.
    """

    def __init__(self) -> None:
        self._spare: list[int] = []
        self._wanted = 0
        self._ceiling: int | None = None
        self._lock = threading.Lock()

    def keep(self, count: int, ceiling: int | None) -> None:
        """Keep ``count`` descriptors in reserve, or as many as can be opened below ``ceiling``."""
        with self._lock:
            self._wanted = count
            self._ceiling = ceiling
            while len(self._spare) > count:
                os.close(self._spare.pop())
        while self._take_back():
            pass

    def open(self, path: Path, flags: int, *, stays_open: bool = False) -> int:
        """Open a file as ``os.open`` does; if no descriptor is free, close one of the reserve first."""
        while True:
            try:
                if stays_open:
                    self._check_ceiling(path)
                fd = os.open(path, flags, _MODE)
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR or not self._give_up():
                    raise
                continue  # another thread may have taken the descriptor
            self._take_back()
            return fd

    def _check_ceiling(self, path: Path) -> None:
        """Raise ``EMFILE`` if a file that is opened now would get a number of the ceiling or above.

        The file itself is not opened for that, because opening may create it. If another thread opens one
        meanwhile, the next number is taken, which does no harm.
        """
        if self._ceiling is None:
            return
        lowest_free = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest_free)
        if lowest_free >= self._ceiling:
            allowed = f"logs may have the {self._ceiling} lowest descriptors; raise `ulimit -n`"
            raise OSError(errno.EMFILE, f"{os.strerror(errno.EMFILE)}: {allowed}", str(path))

    def _give_up(self) -> bool:
        """Close a descriptor of the reserve; return False if none is left."""
        with self._lock:
            if self._spare:
                os.close(self._spare.pop())
                return True
            return False

    def _take_back(self) -> bool:
        """Open a descriptor for the reserve; return False if it is complete, or no more can be opened."""
        with self._lock:
            if len(self._spare) >= self._wanted:
                return False
            try:
                spare = os.open(os.devnull, os.O_RDONLY)
            except OSError:
                return False
            if self._ceiling is not None and spare >= self._ceiling:
                os.close(spare)
                return False
            self._spare.append(spare)
            return True


_SPARE = _SpareDescriptors()


def keep_spare_descriptors(count: int, ceiling: int | None = None) -> None:
    """Reserve ``count`` descriptors of this process for the files that are opened here.

    Args:
        count: The number of descriptors.
        ceiling: The lowest descriptor number that no segment may have; None for no bound.
    """
    _SPARE.keep(count, ceiling)


def open_segment(path: Path) -> Descriptor:
    """Open a file that stays open, below the ceiling; otherwise as ``open_file``.

    Raises:
        OSError: ``EMFILE`` if all descriptors below the ceiling are in use; the file was not created.
    """
    return Descriptor(_SPARE.open(path, os.O_RDWR | os.O_CREAT, stays_open=True))


def open_file(path: Path) -> int:
    """Open ``path`` to read and write, and create it if it is missing; return the descriptor."""
    return _SPARE.open(path, os.O_RDWR | os.O_CREAT)


def open_to_read(path: Path) -> int:
    """Open the existing file ``path`` to read; return the descriptor."""
    return os.open(path, os.O_RDONLY)


def close_file(fd: int) -> None:
    """Close a descriptor."""
    os.close(fd)


def size_of(fd: int) -> int:
    """Return the file's size in bytes."""
    return os.fstat(fd).st_size


def last_change_ms(fd: int) -> int:
    """Return the time of the file's last change, in milliseconds since 1970."""
    return os.fstat(fd).st_mtime_ns // 1_000_000


def set_size(fd: int, size: int) -> None:
    """Truncate the file to ``size`` bytes, or extend it with zeros."""
    os.ftruncate(fd, size)


def sync(fd: int) -> None:
    """Flush the file to the disk."""
    os.fsync(fd)


def write_all(fd: int, buffers: Sequence[Buffer], size: int, position: int) -> None:
    """Write the buffers, ``size`` bytes in all, one after the other from ``position`` on.

    This takes one system call, unless the system writes less than it was given.
    """
    if DISK_FULL.armed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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
    """Read ``size`` bytes from ``position`` on; the result is shorter only if the file ends."""
    data = os.pread(fd, size, position)
    if len(data) == size or not data:
        return data
    return data + read_exactly(fd, size - len(data), position + len(data))


def send_file(socket: int, fd: int, position: int, size: int) -> int:
    """Send at most ``size`` bytes of the file, from ``position`` on, to a non-blocking socket.

    Returns:
        The number of bytes sent, 0 if the socket is full.
    """
    try:
        return os.sendfile(socket, fd, position, size)
    except BlockingIOError:
        return 0


def read_file(path: Path) -> bytes:
    """Return the content of a file."""
    with os.fdopen(_SPARE.open(path, os.O_RDONLY), "rb") as file:
        return file.read()


def expect_sequential_reads(fd: int) -> None:
    """Advise the system, if it takes advice, that the file is about to be read from end to end."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)


def write_file(path: Path, content: Buffer, *, durable: bool = True) -> None:
    """Replace the content of a file by ``content``; a crash may leave less.

    Args:
        path: The file.
        content: Its whole new content.
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
    """Append ``content`` to a file, which is created if it is missing."""
    fd = open_file(path)
    try:
        write_all(fd, [content], len(content), size_of(fd))
    finally:
        close_file(fd)


def write_zeros(path: Path, size: int) -> None:
    """Replace the content of a file by ``size`` zeros, which take no space on the disk."""
    fd = _SPARE.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file atomically: a reader sees the old content or the new one.

    Args:
        path: The file.
        content: Its whole new content.
        durable: As for ``write_file``.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    write_file(temporary, content, durable=durable)
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def rename(path: Path, name: str) -> Path:
    """Rename a file or directory within its directory; return its new path."""
    return path.rename(path.with_name(name))


def touch(path: Path, now_ms: int) -> None:
    """Set the time of the last change of the file or directory ``path``, in milliseconds since 1970."""
    os.utime(path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))


def touched_ms(path: Path) -> int:
    """Return the time of the last change of the file or directory ``path``, in milliseconds since 1970."""
    return path.stat().st_mtime_ns // 1_000_000


def remove(path: Path) -> None:
    """Unlink a file."""
    path.unlink()


def remove_empty_directory(directory: Path) -> None:
    """Remove a directory if it is empty."""
    with contextlib.suppress(OSError):
        directory.rmdir()


def remove_whatever(path: Path) -> None:
    """Remove a file or a directory with its content; a missing path is no error."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def real_path(path: Path) -> str:
    """Return the path with all links resolved; it need not exist.

    Two paths to one directory give the same.
    """
    return os.path.realpath(path)


def make_directory(directory: Path) -> None:
    """Create a directory in an existing one."""
    directory.mkdir()


def make_directories(directory: Path) -> None:
    """Create a directory, and those above it, if they are missing, so that a loss of power removes none."""
    if not directory.is_dir():
        make_directories(directory.parent)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)


def sync_directory(directory: Path) -> None:
    """Flush the names in ``directory`` to the disk."""
    sync_file(directory)


def sync_file(path: Path) -> None:
    """Flush a file, which was written before, to the disk."""
    fd = _SPARE.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock_file(path: Path) -> int | None:
    """Create the file if it is missing, and lock it for this process until the descriptor is closed.

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
    """Return an identifier of an open file's lock: 22 characters of base64url.

    A lock belongs to a file of one running kernel, so the id of the boot counts as well as the file's device
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

"""What a log has asked its directory's thread to put on the disk, and how far that has come."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.disk.errors import NO_DESCRIPTOR
from barnabas.broker.disk.files import sync_directory, sync_file
from barnabas.broker.disk.names import LEADER_EPOCH_CHECKPOINT, TOPIC_IDENTITY_CHECKPOINT
from barnabas.broker.disk.segment import LogSegment
from barnabas.cluster.model.ids import Offset


class _Flush(NamedTuple):
    future: Future[None]
    up_to: Offset


class Flushing:
    """The flushes of one log that were begun, in order; the recovery point follows those that ended well.

    The work runs on another thread; what came of it is collected here, by the log's own, so that nothing is
    written from two sides.
    """

    def __init__(self, executor: Executor, recovery_point: Offset) -> None:
        self._executor = executor
        self._recovery_point = recovery_point
        self._begun: deque[_Flush] = deque()

    def begin(self, work: Callable[[], None], up_to: Offset) -> None:
        """Have ``work`` done, after which all below ``up_to`` is on the disk."""
        self._begun.append(_Flush(self._executor.submit(work), up_to))

    def recovery_point(self) -> Offset:
        """Return the first offset not known to be on the disk.

        A flush for which no file could be opened has not flushed; the next one does what it left.

        Raises:
            OSError: A flush has failed.
        """
        while self._begun and self._begun[0].future.done():
            try:
                self._collect()
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR:
                    raise
        return self._recovery_point

    def finish(self) -> None:
        """Wait for all that was begun.

        Raises:
            OSError: A flush has failed.
        """
        while self._begun:
            self._collect()

    def lower_to(self, offset: Offset) -> bool:
        """The log was cut at ``offset``, nothing is under way; True if the recovery point lay above."""
        lowered = offset < self._recovery_point
        self._recovery_point = min(self._recovery_point, offset)
        return lowered

    def drop(self) -> None:
        """Wait for what is running, forget the rest and how it ended: the files are about to be closed."""
        while self._begun:
            flush = self._begun.popleft()
            if not flush.future.cancel():
                flush.future.exception()

    def _collect(self) -> None:
        flush = self._begun.popleft()
        flush.future.result()
        self._recovery_point = max(self._recovery_point, flush.up_to)


class DirectoryNames:
    """The names in a log directory: whether those of the partitions' directories are on the disk itself.

    Until they are, a log that was flushed may be gone after a loss of power, with all that lies in it.
    """

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._are_synced = False  # what made them may have been killed

    def changed(self) -> None:
        """A directory was made."""
        self._are_synced = False

    def sync(self) -> None:
        """Put the names on the disk, unless they are there; on the directory's thread.

        Raises:
            OSError: The disk refused.
        """
        if not self._are_synced:
            # First: what is made from now on may come too late for this time.
            self._are_synced = True
            sync_directory(self._log_dir)


def sync_segments(segments: Iterable[LogSegment], directory: Path) -> None:
    """Put the batches of these segments, the leader epochs and the names of the files on the disk."""
    for segment in segments:
        segment.sync()
    sync_epochs(directory)
    with contextlib.suppress(FileNotFoundError):
        sync_file(directory / TOPIC_IDENTITY_CHECKPOINT)
    sync_directory(directory)


def sync_epochs(directory: Path) -> None:
    """Put the leader epochs, which are replaced without waiting for the disk, on it."""
    with contextlib.suppress(FileNotFoundError):
        sync_file(directory / LEADER_EPOCH_CHECKPOINT)

"""The flushes of a log, which run on the directory's thread, and the recovery point that follows them."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.disk.errors import NO_DESCRIPTOR
from barnabas.broker.disk.files import sync_directory, sync_file
from barnabas.broker.disk.names import LEADER_EPOCH_CHECKPOINT, TOPIC_IDENTITY_CHECKPOINT
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import Offset


class LogFlushStats:
    """The observer of the flushes of this process's logs (Kafka's ``LogFlushStats``).

    Attributes:
        on_flushed: Called after each flush with its milliseconds, on the thread that flushed.
    """

    def __init__(self) -> None:
        self.on_flushed: Callable[[float], None] = lambda _milliseconds: None


FLUSH_STATS = LogFlushStats()
"""The observer of all flushes."""


class _Flush(NamedTuple):
    future: Future[None]
    up_to: Offset


class Flushing:
    """The flushes of one log that were submitted, in order; the recovery point follows those that succeeded.

    The work runs on another thread. The log's own thread collects the results, so that only one thread
    changes the recovery point.
    """

    def __init__(self, executor: Executor, recovery_point: Offset) -> None:
        self._executor = executor
        self._recovery_point = recovery_point
        self._begun: deque[_Flush] = deque()

    def begin(self, work: Callable[[], None], up_to: Offset) -> Future[None]:
        """Submit ``work``, after which all records below ``up_to`` are flushed."""
        future = self._executor.submit(work)
        self._begun.append(_Flush(future, up_to))
        return future

    def recovery_point(self) -> Offset:
        """Return the first offset that is not known to be flushed.

        A flush that could not open a file has flushed nothing; the next one covers what it left.

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

    @property
    def is_pending(self) -> bool:
        """Return whether a submitted flush has not ended yet."""
        return any(not flush.future.done() for flush in self._begun)

    def finish(self) -> None:
        """Wait for all submitted flushes.

        Raises:
            OSError: A flush has failed.
        """
        while self._begun:
            self._collect()

    def lower_to(self, offset: Offset) -> bool:
        """Note that the log was truncated to ``offset``; return whether the recovery point lay above.

        No flush may be pending.
        """
        lowered = offset < self._recovery_point
        self._recovery_point = min(self._recovery_point, offset)
        return lowered

    def drop(self) -> None:
        """Cancel the flushes, and wait for a running one: the files are about to be closed."""
        while self._begun:
            flush = self._begun.popleft()
            if not flush.future.cancel():
                flush.future.exception()

    def _collect(self) -> None:
        flush = self._begun.popleft()
        flush.future.result()
        self._recovery_point = max(self._recovery_point, flush.up_to)


class DirectoryNames:
    """The flush state of the names in a log directory.

    Until the names of the partitions' directories are flushed, a loss of power may remove a log that was
    flushed.
    """

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._changes = 1  # the former process, which created the names, may have been killed
        self._synced = 0

    @property
    def are_synced(self) -> bool:
        """Return whether a flush has ended that began after the last change."""
        return self._synced == self._changes

    def changed(self) -> None:
        """Note that a directory was created or renamed."""
        self._changes += 1

    def sync(self) -> None:
        """Flush the names, unless they are flushed already; called on the directory's thread.

        Raises:
            OSError: The disk refused.
        """
        if not self.are_synced:
            # A directory that is created during the flush needs another one.
            changes = self._changes
            sync_directory(self._log_dir)
            self._synced = changes


def sync_segments(segments: Iterable[LogSegment], directory: Path) -> None:
    """Flush the batches of these segments, the leader epochs and the names of the files."""
    began = time.perf_counter()
    for segment in segments:
        segment.sync()
    sync_epochs(directory)
    with contextlib.suppress(FileNotFoundError):
        sync_file(directory / TOPIC_IDENTITY_CHECKPOINT)
    sync_directory(directory)
    FLUSH_STATS.on_flushed((time.perf_counter() - began) * 1000)


def sync_epochs(directory: Path) -> None:
    """Flush the leader epochs, whose file is replaced without a flush."""
    with contextlib.suppress(FileNotFoundError):
        sync_file(directory / LEADER_EPOCH_CHECKPOINT)

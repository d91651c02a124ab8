"""One log directory: its lock, its checkpoints and the logs in it.

Source: ``core/log/LogManager.scala`` of Kafka 2.8. Checkpoints and removals are submitted to the directory's
thread, which runs them in order; the result of one is checked before the next is submitted.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import structlog

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.retention import stray_delay_ms
from barnabas.broker.disk.checkpoints import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    META_PROPERTIES,
    RECOVERY_POINT,
    MetaProperties,
    is_owned,
    read_offsets,
    write_meta_properties,
    write_offsets,
)
from barnabas.broker.disk.directory.cleaner_offsets import CleanerOffsets
from barnabas.broker.disk.directory.old_formats import refuse_old_formats
from barnabas.broker.disk.errors import (
    NO_DESCRIPTOR,
    CorruptCheckpointError,
    InconsistentDirectoryError,
    KafkaStorageError,
    LogNameError,
    storage_error,
)
from barnabas.broker.disk.files import (
    close_file,
    lock_file,
    lock_identity,
    make_directories,
    make_directory,
    remove,
    remove_empty_directory,
    rename,
    sync_directory,
    touch,
    touched_ms,
    write_file,
)
from barnabas.broker.disk.log.flushing import DirectoryNames
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.log_context import LogContext, LogDirsOptions
from barnabas.broker.disk.log.recovery import LoadedLog, LogState, load_log, new_log
from barnabas.broker.disk.log.removals import DelayedRemovals
from barnabas.broker.disk.names import (
    deleted_directory,
    future_directory,
    is_deleted_directory,
    parse_future_directory,
    parse_partition_directory,
    partition_directory,
    stray_directory,
    stray_topic,
)
from barnabas.cluster.model.ids import Offset, TopicPartition

_log = structlog.get_logger("kafka.log.LogManager")

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

NO_OFFSET = Offset(0)

_NAME_REFUSED = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
"""The error numbers of a file system that does not allow a name; they say nothing about the disk."""


class LogDir:
    """A directory of ``log.dirs``, locked by this process.

    Attributes:
        path: The directory.
        logs: The open logs in it.
        futures: The logs that are copied to it from other directories, and replace those there once they have
            caught up. No partition is in both.
        cleaner_offsets: The checkpoint of the log cleaner.
        was_clean: Whether the last shutdown was a clean one; set by the load.
        lock_id: The identifier of this process's lock on it (`files.lock_identity`).
    """

    def __init__(
        self, path: Path, options: LogDirsOptions, on_failure: Callable[[KafkaStorageError], None]
    ) -> None:
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}
        self.was_clean = False
        self._options = options
        self._executor = options.executor_for(path)
        self._names = DirectoryNames(path)
        self._removals = DelayedRemovals()
        self.cleaner_offsets = CleanerOffsets(path, self.logs, self._submit)
        self._context = LogContext(
            path,
            self._executor,
            options.clock,
            on_failure,
            self._write_lowered_recovery_point,
            self._removals.retire,
            self.cleaner_offsets.truncated,
            self.cleaner_offsets.keep,
            self._names.sync,
            options.producer_expiration_ms,
        )
        self._lock: int | None = None
        self.lock_id = ""
        self._high_watermarks: dict[TopicPartition, Offset] = {}
        self._has_removed = False
        self._submitted: deque[Future[None]] = deque()

    def lock(self) -> None:
        """Create the directory if it is missing, and lock it for this process.

        Raises:
            InconsistentDirectoryError: Another process holds the lock.
            OSError: It cannot be created, read or written.
        """
        make_directories(self.path)
        self._lock = lock_file(self.path / LOCK)
        if self._lock is None:
            raise InconsistentDirectoryError(
                f"{self.path}: another process holds {LOCK}; is a broker already running on this directory?"
            )
        self.lock_id = lock_identity(self._lock)

    def unlock(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            close_file(self._lock)
            self._lock = None

    def check_identity(self) -> bool:
        """Compare ``meta.properties`` with this broker; return whether the file is complete.

        Raises:
            InconsistentDirectoryError: The directory is another broker's or cluster's, or the file is
                invalid.
        """
        return is_owned(self.path, MetaProperties(self._options.broker_id, self._options.cluster_id))

    def claim(self) -> None:
        """Write ``meta.properties``, which makes the directory this broker's."""
        meta = MetaProperties(self._options.broker_id, self._options.cluster_id)
        write_meta_properties(self.path / META_PROPERTIES, meta)

    def begin_load(self) -> Future[None]:
        """Open all logs, on the directory's thread; they are recovered unless the last shutdown was clean."""
        return self._executor.submit(self._load)

    @property
    def _open(self) -> dict[TopicPartition, Log]:
        """All open logs; a checkpoint has a row for each."""
        return {**self.futures, **self.logs}

    def create(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log:
        """Create a new, empty log.

        Args:
            topic_partition: The partition.
            is_future: Whether it will replace the log in another directory.

        Raises:
            LogNameError: The file system allows no directory of that name.
            OSError: The disk refused.
        """
        name = future_directory(topic_partition) if is_future else partition_directory(topic_partition)
        directory = self.path / name
        try:
            make_directory(directory)
        except OSError as error:
            if error.errno in _NAME_REFUSED:
                raise LogNameError(self.path, topic_partition, error) from error
            raise
        self._names.changed()
        config = self._options.config_for(topic_partition.topic)
        try:
            loaded = new_log(directory, config, self._options.clock())
        except OSError as error:
            if error.errno in NO_DESCRIPTOR:
                remove_empty_directory(directory)
            raise
        return self._enter(topic_partition, directory, config, loaded)

    def delete(self, topic_partition: TopicPartition) -> None:
        """Close a log and rename its directory; it is unlinked ``file.delete.delay.ms`` later.

        The checkpoints keep its entries until ``checkpoint_removals``.
        """
        self._delete_from(self.logs, topic_partition)

    def delete_future(self, topic_partition: TopicPartition) -> None:
        """Close a future log and rename its directory, as ``delete`` does."""
        self._delete_from(self.futures, topic_partition)

    def _delete_from(self, logs: dict[TopicPartition, Log], topic_partition: TopicPartition) -> None:
        log, renamed = self._rename(logs, topic_partition, deleted_directory(topic_partition))
        self._removals.remove([renamed], self._options.clock() + log.config.file_delete_delay_ms)

    def adopt_future(self, topic_partition: TopicPartition) -> Log:
        """Rename the directory of a future log to the partition's name, which makes it the current log.

        No flush of the log may be pending.

        Raises:
            OSError: The disk refused; the log is still a future one.
        """
        log = self.futures[topic_partition]
        former = log.directory
        log.relocation.moved_to(rename(former, partition_directory(topic_partition)))
        self.logs[topic_partition] = self.futures.pop(topic_partition)
        self._names.changed()
        self._removals.moved(former, log.directory)
        return log

    def release(self, topic_partition: TopicPartition) -> None:
        """Delete a log that another directory's has replaced; its files stay open for their readers.

        Raises:
            OSError: The disk refused; the log is closed, and its directory is still there.
        """
        log = self.logs.pop(topic_partition)
        due_ms = self._options.clock() + log.config.file_delete_delay_ms
        segments = log.relocation.replaced()
        self._forget(topic_partition)
        try:
            renamed = rename(log.directory, deleted_directory(topic_partition))
        except OSError:
            for segment in segments:
                segment.close()
            raise
        self._names.changed()
        self._removals.close(segments, due_ms)
        self._removals.remove([renamed], due_ms)

    def put_aside(self, topic_partition: TopicPartition) -> Path:
        """Close a stray log and rename its directory, which is unlinked ``stray_delay_ms`` later.

        Returns:
            The new path of the directory.
        """
        log, renamed = self._rename(self.logs, topic_partition, stray_directory(topic_partition))
        # The directory's time records when it was renamed, for the next start of the broker.
        touch(renamed, self._options.clock())
        self._remove_stray_later(renamed, log.config)
        return renamed

    def _rename(
        self, logs: dict[TopicPartition, Log], topic_partition: TopicPartition, name: str
    ) -> tuple[Log, Path]:
        log = logs[topic_partition]
        log.abandon()
        renamed = rename(log.directory, name)
        self._names.changed()
        # Only now, because a log whose renaming failed goes offline with its directory.
        del logs[topic_partition]
        self._forget(topic_partition)
        return log, renamed

    def _forget(self, topic_partition: TopicPartition) -> None:
        """Drop the rows of a log that is gone; ``checkpoint_removals`` writes the checkpoints."""
        self._high_watermarks.pop(topic_partition, None)
        self.cleaner_offsets.forget(topic_partition)
        self._has_removed = True

    def checkpoint_removals(self) -> None:
        """Submit writes of the checkpoints, if logs were deleted or renamed since the last call."""
        if self._has_removed:
            self._has_removed = False
            self.checkpoint_recovery_points()
            self.checkpoint_log_start_offsets()
            self.checkpoint_high_watermarks({})
            self.cleaner_offsets.write()

    def begin_sync_of_names(self) -> Future[None] | None:
        """Submit a flush of the names of the logs' directories; return None if they are flushed already.

        The future's error is a ``KafkaStorageError``.
        """
        return None if self._names.are_synced else self._executor.submit(self._sync_names)

    def _sync_names(self) -> None:
        try:
            self._names.sync()
        except OSError as error:
            raise storage_error(self.path, "flushing the names of logs", error) from error

    def _remove_stray_later(self, directory: Path, config: LogConfig) -> None:
        delay_ms = stray_delay_ms(config)
        if delay_ms is not None:
            self._removals.remove([directory], touched_ms(directory) + delay_ms)

    def purge_deleted(self) -> None:
        """Submit the unlinking of directories and files whose delay is over."""
        for work in self._removals.due(self._options.clock()):
            self._submit(work)

    def high_watermark(self, log: Log) -> Offset:
        """Return the checkpointed high watermark of a log, limited to its range."""
        known = self._high_watermarks.get(log.topic_partition, log.log_start_offset)
        return max(log.log_start_offset, min(known, log.log_end_offset))

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, Offset]) -> None:
        """Submit a write of the high watermarks; logs that are not passed keep their last one."""
        known = self._open
        self._high_watermarks.update({tp: offset for tp, offset in high_watermarks.items() if tp in known})
        self._submit(partial(write_offsets, self.path / HIGH_WATERMARK, dict(self._high_watermarks)))

    def checkpoint_recovery_points(self) -> None:
        """Submit a write of the recovery points."""
        self._submit(partial(write_offsets, self.path / RECOVERY_POINT, self._recovery_points()))

    def flush_due_logs(self) -> None:
        """Submit flushes of the logs whose ``flush.ms`` has passed."""
        for log in self._open.values():
            if log.is_flush_due:
                log.begin_flush()

    def checkpoint_log_start_offsets(self) -> None:
        """Submit a write of the log start offsets above the logs' first segments."""
        self._submit(partial(write_offsets, self.path / LOG_START_OFFSET, self._log_start_offsets()))

    def close(self) -> None:
        """Close every log, write the checkpoints and the marker of a clean shutdown, and unlock.

        Raises:
            KafkaStorageError: The disk refused; there is no marker, so the next start recovers.
        """
        for log in self._open.values():
            log.close()
        try:
            self._finish()
            write_offsets(self.path / RECOVERY_POINT, self._recovery_points())
            write_offsets(self.path / LOG_START_OFFSET, self._log_start_offsets())
            write_file(self.path / CLEAN_SHUTDOWN, b"")
            sync_directory(self.path)
        except OSError as error:
            raise storage_error(self.path, "closing", error) from error
        finally:
            self._removals.close_all()
            self.unlock()

    def abandon(self, why: KafkaStorageError | None = None) -> tuple[TopicPartition, ...]:
        """Close the files of all logs as they are, after the disk failed.

        Return the partitions of the logs.
        """
        gone = tuple(self.logs)
        for log in self._open.values():
            log.abandon(why)
        self._removals.close_all()
        self.logs.clear()
        self.futures.clear()
        self.unlock()
        return gone

    def check_disk(self) -> None:
        """Raise the error of submitted work that has failed.

        Raises:
            OSError: Work has failed.
        """
        while self._submitted and self._submitted[0].done():
            self._submitted.popleft().result()

    def _load(self) -> None:
        marker = self.path / CLEAN_SHUTDOWN
        clean = self.was_clean = marker.exists()
        if not clean:
            _log.info(
                f"Attempting recovery for all logs in {self.path} since no clean shutdown file was found"
            )
        else:
            _log.info(f"Skipping recovery for all logs in {self.path} since clean shutdown file was found")
            remove(marker)
            # The removal must be durable: after a loss of power an old marker would hide later writes.
            sync_directory(self.path)
        points = self._read_offsets(RECOVERY_POINT)
        starts = self._read_offsets(LOG_START_OFFSET)
        self._high_watermarks = self._read_offsets(HIGH_WATERMARK)
        self.cleaner_offsets.load(self._read_offsets(CLEANER_OFFSET))
        with ThreadPoolExecutor(
            self._options.recovery_threads, thread_name_prefix=f"log-recovery-{self.path.name}"
        ) as pool:
            opening = []
            for directory in sorted(path for path in self.path.iterdir() if path.is_dir()):
                if is_deleted_directory(directory.name):
                    self._removals.remove([directory], self._options.clock())
                    continue
                stray = stray_topic(directory.name)
                if stray is not None:
                    _log.warning(f"Loaded stray log: {directory}")
                    self._remove_stray_later(directory, self._options.config_for(stray))
                    continue
                future = parse_future_directory(directory.name)
                tp = future or parse_partition_directory(directory.name)
                if tp is not None:
                    cleaned = tp in self.cleaner_offsets
                    state = LogState(clean, points.get(tp, NO_OFFSET), starts.get(tp, NO_OFFSET), cleaned)
                    opening.append(pool.submit(self._open_log, tp, directory, state))
            _first_failure_ends_all(opening)
        # A log of Kafka may have gaps. It gets an identity soon, so from then on only a row tells of them.
        self.cleaner_offsets.keep_loaded(
            [tp for tp, log in self.logs.items() if log.topic is None and log.compaction.gaps_end]
        )
        for tp in self._high_watermarks.keys() - self._open.keys():
            del self._high_watermarks[tp]

    def _open_log(self, topic_partition: TopicPartition, directory: Path, state: LogState) -> Log:
        config = self._options.config_for(topic_partition.topic)
        refuse_old_formats(directory)
        loaded = load_log(
            directory, config, state, self._options.clock(), self._options.producer_expiration_ms
        )
        if loaded.dropped_bytes:
            _log.warning(
                f"Found invalid messages in the log of {topic_partition}, discarded its last bytes",
                directory=str(directory),
                discarded_bytes=loaded.dropped_bytes,
                log_end_offset=loaded.log_end_offset,
            )
        return self._enter(topic_partition, directory, config, loaded)

    def _enter(
        self, topic_partition: TopicPartition, directory: Path, config: LogConfig, loaded: LoadedLog
    ) -> Log:
        log = Log(topic_partition, directory, config, loaded, self._context)
        logs = self.futures if parse_future_directory(directory.name) else self.logs
        logs[topic_partition] = log
        return log

    def _read_offsets(self, name: str) -> dict[TopicPartition, Offset]:
        """Read a checkpoint; a damaged one counts as empty, which costs a longer recovery and no data."""
        try:
            return read_offsets(self.path / name)
        except CorruptCheckpointError:
            return {}

    def _recovery_points(self) -> dict[TopicPartition, Offset]:
        return {tp: log.recovery_point for tp, log in self._open.items()}

    def _log_start_offsets(self) -> dict[TopicPartition, Offset]:
        return {
            tp: log.log_start_offset
            for tp, log in self._open.items()
            if log.log_start_offset > log.first_segment_offset
        }

    def _write_lowered_recovery_point(self) -> None:
        """Write the recovery points now: a crash after more appends must not find the higher one."""
        self._finish()
        write_offsets(self.path / RECOVERY_POINT, self._recovery_points())

    def _submit(self, work: Callable[[], None]) -> None:
        self.check_disk()
        self._submitted.append(self._executor.submit(work))

    def _finish(self) -> None:
        while self._submitted:
            self._submitted.popleft().result()


def _first_failure_ends_all(opening: Sequence[Future[Log]]) -> None:
    """Wait until all logs are open; after a failure, the logs whose opening has not begun stay closed."""
    done, _ = wait(opening, return_when=FIRST_EXCEPTION)
    for future in opening:
        future.cancel()
    for future in done:
        future.result()

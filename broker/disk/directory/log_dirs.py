"""All log directories of a broker and the logs in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import structlog

from barnabas.broker.disk.directory.future_logs import FutureLogs, is_marked
from barnabas.broker.disk.directory.log_dir import LogDir
from barnabas.broker.disk.errors import (
    InconsistentDirectoryError,
    KafkaStorageError,
    MissingLogError,
    NoDescriptorError,
    storage_error,
)
from barnabas.broker.disk.files import real_path
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.log_context import LogDirsOptions
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.line_limit import LINES

__all__ = ["LogDirs", "LogDirsOptions"]

_log = structlog.get_logger("kafka.log.LogManager")


MOST_PREFERRED = 100_000
"""The most partitions without a log for which the directory of a future log is remembered."""


class LogDirs:
    """The broker's ``log.dirs``: locked, recovered and open.

    A directory whose disk fails goes offline alone. From then on each of its logs raises
    ``KafkaStorageError``, and ``fail`` returns their partitions.

    Attributes:
        configured: All of ``log.dirs``, whether in use or not.
        futures: The logs that are copied to another of the directories.
    """

    def __init__(self, options: LogDirsOptions, configured: Sequence[Path] = ()) -> None:
        self.configured = tuple(configured)
        self._options = options
        self._live: dict[Path, LogDir] = {}
        self._offline: dict[Path, KafkaStorageError] = {}
        self._gone: dict[Path, tuple[TopicPartition, ...]] = {}
        self._preferred: dict[TopicPartition, Path] = {}
        self.futures = FutureLogs(self._live, self._fail)

    @classmethod
    def open(cls, directories: Sequence[Path], options: LogDirsOptions) -> LogDirs:
        """Lock the directories, check ``meta.properties`` and load every log, with recovery if necessary.

        This blocks as long as recovery takes; call it off the event loop. A directory that the disk refuses
        is offline from the start.

        Raises:
            InconsistentDirectoryError: A directory is configured twice, locked by another process, or belongs
                to another broker or cluster (nothing was changed then), or two hold logs of a
                partition that are of one topic.
            KafkaStorageError: No directory can be used.
        """
        _refuse_the_same(directories)
        self = cls(options, directories)
        begin = time.monotonic()
        try:
            self._lock(directories)
            self._load()
            self._settle_duplicates()
            self.futures.settle(self.logs, all_are_live=not self._offline)
        except InconsistentDirectoryError:
            for log_dir in self._live.values():
                log_dir.abandon()
            raise
        _log.info(f"Loaded {len(self.logs)} logs in {(time.monotonic() - begin) * 1_000:.0f}ms.")
        return self

    @property
    def logs(self) -> dict[TopicPartition, Log]:
        """The open logs of all live directories."""
        return {tp: log for log_dir in self._live.values() for tp, log in log_dir.logs.items()}

    def logs_in(self, directory: Path) -> Mapping[TopicPartition, Log] | None:
        """Return the open logs of one directory, or None if it is offline."""
        log_dir = self._live.get(directory)
        return None if log_dir is None else log_dir.logs

    def futures_in(self, directory: Path) -> Mapping[TopicPartition, Log]:
        """Return the future logs of one directory, none if it is offline."""
        log_dir = self._live.get(directory)
        return {} if log_dir is None else log_dir.futures

    @property
    def live(self) -> tuple[Path, ...]:
        """The directories in use."""
        return tuple(self._live)

    @property
    def locks(self) -> frozenset[str]:
        """The identifiers of the locks that this process holds, on the directories in use."""
        return frozenset(log_dir.lock_id for log_dir in self._live.values())

    @property
    def offline(self) -> Mapping[Path, KafkaStorageError]:
        """The directories that failed, with their errors."""
        return self._offline

    @property
    def were_clean(self) -> bool:
        """Return whether the last shutdown of all directories in use was clean."""
        return all(log_dir.was_clean for log_dir in self._live.values())

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """Return the partition's log, or None if no live directory has one."""
        log_dir = self._holder(topic_partition)
        return log_dir.logs[topic_partition] if log_dir else None

    def get_or_create(
        self, topic_partition: TopicPartition, *, is_new: bool = True, may_begin_empty: bool = True
    ) -> Log:
        """Return the partition's log; if there is none, create it.

        It is created in the directory of ``prefer``, or else in the live one with the fewest partitions.

        Args:
            topic_partition: The partition.
            is_new: Whether the partition never had a log. One that had may have it in an offline directory,
                and must not get an empty one elsewhere, which would lead, or be in sync, without the records.
            may_begin_empty: Whether a log may be created at all: a replica that leads or is in sync must have
                one.

        Raises:
            KafkaStorageError: The disk refused, or no directory is live, or the log may lie in one that is
                offline.
            MissingLogError: There is no log, and none may be created; all directories stay in use.
            LogNameError: No directory can have the partition's name; all directories stay in use.
        """
        log = self.get(topic_partition)
        if log is not None:
            return log
        if not is_new and self._offline:
            raise KafkaStorageError(
                next(iter(self._offline)), f"no log of {topic_partition} is made, because it may lie there"
            )
        if not self._live:
            raise next(iter(self._offline.values()))
        if not may_begin_empty:
            raise MissingLogError(next(iter(self._live)), topic_partition)
        self.futures.delete(topic_partition)
        emptiest = min(self._live.values(), key=lambda log_dir: len(log_dir.logs))
        chosen = self._live.get(self._preferred.pop(topic_partition, emptiest.path), emptiest)
        try:
            return chosen.create(topic_partition)
        except OSError as error:
            raise self._fail(chosen.path, f"creating {topic_partition}", error) from error

    def prefer(self, topic_partition: TopicPartition, directory: Path) -> None:
        """Remember the directory in which the partition's log is to be created, until this process ends.

        Beyond `MOST_PREFERRED` partitions the oldest preference is forgotten: those partitions may not
        exist.
        """
        self._preferred.pop(topic_partition, None)
        self._preferred[topic_partition] = directory
        if len(self._preferred) > MOST_PREFERRED:
            del self._preferred[next(iter(self._preferred))]

    def replace_with_future(self, topic_partition: TopicPartition) -> Log:
        """Replace the current log by the future one, which is complete and flushed; return the new log.

        Should the disk of the former log refuse, its directory goes offline, as ``offline`` shows.

        Raises:
            KafkaStorageError: The disk of the future log refused; the current log stays.
        """
        source = self._holder(topic_partition)
        if source is None:
            raise KeyError(f"no log of {topic_partition} in {', '.join(map(str, self._live))}")
        log = self.futures.replace_current(topic_partition, source)
        self._try(source, f"deleting {topic_partition}", partial(source.release, topic_partition))
        self._try(source, "writing checkpoints", source.checkpoint_removals)
        if source.path in self._live:
            self.futures.replaced(log, source)
        return log

    def delete(self, topic_partition: TopicPartition) -> None:
        """Close the log, if there is one, and rename its directory; ``purge_deleted`` unlinks it later.

        Raises:
            KafkaStorageError: The disk refused: the log is still there, and its directory offline.
        """
        self.futures.delete(topic_partition)
        log_dir = self._holder(topic_partition)
        if log_dir is None:
            return
        try:
            log_dir.delete(topic_partition)
        except OSError as error:
            raise self._fail(log_dir.path, f"deleting {topic_partition}", error) from error

    def put_aside(self, topic_partition: TopicPartition, because: str) -> None:
        """Close a stray log and rename its directory; ``purge_deleted`` unlinks it later.

        Args:
            topic_partition: The partition; nothing happens if it has no log.
            because: The reason why it is a stray, for the log line.

        Raises:
            KafkaStorageError: The disk refused: the log is still there, and its directory offline.
        """
        log_dir = self._holder(topic_partition)
        if log_dir is not None:
            self.futures.delete(topic_partition)
            self._put_aside(log_dir, topic_partition, because)

    def _put_aside(self, log_dir: LogDir, topic_partition: TopicPartition, because: str) -> None:
        end_offset = log_dir.logs[topic_partition].log_end_offset
        try:
            renamed = log_dir.put_aside(topic_partition)
        except OSError as error:
            raise self._fail(log_dir.path, f"putting {topic_partition} aside", error) from error
        _log.warning(
            f"Log for partition {topic_partition} is a stray, because {because}; it is renamed to {renamed}",
            log_end_offset=end_offset,
        )

    def checkpoint_removals(self) -> None:
        """Submit writes of the checkpoints of each directory that had a log deleted or renamed.

        Call it once per request, as Kafka does (``LogManager.asyncDelete`` of a set of partitions). A
        checkpoint has a row for every log of its directory, so writing it for each deleted log would cost the
        square of their number.
        """
        for log_dir in self._each():
            self._try(log_dir, "writing checkpoints", log_dir.checkpoint_removals)

    def begin_sync_of_names(self) -> list[Future[None]]:
        """Submit a flush of each directory in which logs were created since the last flush of names.

        Returns:
            A future for each such directory; its error is a ``KafkaStorageError``.
        """
        begun = [log_dir.begin_sync_of_names() for log_dir in self._each()]
        return [each for each in begun if each is not None]

    def expire_producers(self) -> Iterator[None]:
        """Make every log forget its idle producers; other work may run between two steps."""
        for log in (*self.logs.values(), *self.futures.all.values()):
            yield from log.expire_producers()
            yield

    def purge_deleted(self) -> None:
        """Submit the unlinking of logs and segments that were deleted ``file.delete.delay.ms`` ago."""
        for log_dir in self._each():
            self._try(log_dir, "removing deleted logs", log_dir.purge_deleted)
        self.futures.purge_marks()

    def high_watermark(self, topic_partition: TopicPartition) -> Offset:
        """Return the checkpointed high watermark of a log, limited to its range, or else its start."""
        log_dir = self._holder(topic_partition)
        if log_dir is None:
            raise KeyError(f"no log of {topic_partition} in {', '.join(map(str, self._live))}")
        return log_dir.high_watermark(log_dir.logs[topic_partition])

    def cleaner_offset(self, topic_partition: TopicPartition) -> Offset | None:
        """Return where the dirty section of a log begins, or None where no checkpoint has it."""
        log_dir = self._holder(topic_partition)
        return log_dir.cleaner_offsets.get(topic_partition) if log_dir else None

    def checkpoint_cleaner_offset(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Begin to write where the dirty section of a log begins, if the log is there still."""
        log_dir = self._holder(topic_partition)
        if log_dir is not None:
            work = partial(log_dir.cleaner_offsets.assign, topic_partition, offset)
            self._try(log_dir, "writing cleaner offsets", work)

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, Offset]) -> None:
        """Submit a write of ``replication-offset-checkpoint`` in every directory, each with its own logs."""
        for log_dir in self._each():
            work = partial(log_dir.checkpoint_high_watermarks, high_watermarks)
            self._try(log_dir, "writing high watermarks", work)

    def checkpoint_recovery_points(self) -> None:
        """Submit a write of ``recovery-point-offset-checkpoint`` in every directory."""
        for log_dir in self._each():
            self._try(log_dir, "writing recovery points", log_dir.checkpoint_recovery_points)

    def checkpoint_log_start_offsets(self) -> None:
        """Submit a write of ``log-start-offset-checkpoint`` in every directory."""
        for log_dir in self._each():
            self._try(log_dir, "writing log start offsets", log_dir.checkpoint_log_start_offsets)

    def flush_due_logs(self) -> None:
        """Submit flushes, to the directories' threads, of the logs whose ``flush.ms`` has passed."""
        for log_dir in self._each():
            self._try(log_dir, "flushing", log_dir.flush_due_logs)

    def fail(self, directory: Path, cause: str) -> tuple[TopicPartition, ...]:
        """Take a directory offline, if it is not yet; return the partitions of its logs."""
        self._take_offline(KafkaStorageError(directory, cause))
        return self._gone[directory]

    def close(self) -> None:
        """Close every log, write the checkpoints and ``.kafka_cleanshutdown``, and unlock the directories.

        Raises:
            KafkaStorageError: A directory could not be closed cleanly; the others were.
        """
        failures = []
        for log_dir in self._each():
            try:
                log_dir.close()
            except KafkaStorageError as error:
                failures.append(error)
        self._live.clear()
        if failures:
            raise failures[0]

    def _lock(self, directories: Sequence[Path]) -> None:
        new = []
        for path in directories:
            log_dir = LogDir(path, self._options, self._take_offline)
            try:
                log_dir.lock()
                self._live[path] = log_dir
                if not log_dir.check_identity():
                    new.append(log_dir)
            except OSError as error:
                self._fail_at_start(path, "opening", error)
        for log_dir in new:
            self._try(log_dir, "writing meta.properties", log_dir.claim)

    def _load(self) -> None:
        loading = {path: log_dir.begin_load() for path, log_dir in self._live.items()}
        for path, future in loading.items():
            try:
                future.result()
            except OSError as error:
                self._fail_at_start(path, "loading its logs", error)
        if not self._live:
            raise next(iter(self._offline.values()))

    def _settle_duplicates(self) -> None:
        """Put aside the log of a deleted topic if another directory has that of a later topic of its name.

        Delete the log that another directory's has replaced.

        Raises:
            InconsistentDirectoryError: Two logs of a partition are of one topic, as far as is known.
        """
        holders: dict[TopicPartition, LogDir] = {}
        strays: list[tuple[LogDir, TopicPartition]] = []
        replaced: list[tuple[LogDir, TopicPartition]] = []
        for log_dir in self._live.values():
            for tp, log in log_dir.logs.items():
                holder = holders.setdefault(tp, log_dir)
                if holder is log_dir:
                    continue
                if _is_former(holder.logs[tp], log):
                    strays.append((holder, tp))
                    holders[tp] = log_dir
                elif _is_former(log, holder.logs[tp]):
                    strays.append((log_dir, tp))
                elif is_marked(log) is not is_marked(holder.logs[tp]):
                    replaced.append((holder if is_marked(log) else log_dir, tp))
                    holders[tp] = log_dir if is_marked(log) else holder
                else:
                    raise InconsistentDirectoryError(
                        f"{tp} lies both in {_dated(holder.path, tp)} and in {_dated(log_dir.path, tp)}. One "
                        "of the directories was offline while the log was created in the other. Move one "
                        "log out of log.dirs, usually the one written earlier, start again, and keep it "
                        "until the partition is in sync"
                    )
        for log_dir, tp in strays:
            if log_dir.path in self._live:  # the disk may have refused another stray
                with suppress(KafkaStorageError):
                    self._put_aside(log_dir, tp, "it is of a former topic of that name")
        for log_dir, tp in replaced:
            _log.warning(f"Deleting the log of {tp} in {log_dir.path}: it has moved to {holders[tp].path}")
            if log_dir.path in self._live:
                self._try(log_dir, f"deleting {tp}", partial(log_dir.delete, tp))

    def _holder(self, topic_partition: TopicPartition) -> LogDir | None:
        return next((d for d in self._live.values() if topic_partition in d.logs), None)

    def _each(self) -> Iterator[LogDir]:
        """Return an iterator over the live directories that continues after one of them fails."""
        return iter(tuple(self._live.values()))

    def _try(self, log_dir: LogDir, doing: str, work: Callable[[], None]) -> None:
        """Run ``work`` of a directory; if its disk refuses, take it offline."""
        try:
            work()
        except OSError as error:
            self._fail(log_dir.path, doing, error)
        except KafkaStorageError:
            return  # a log has failed, and the directory is offline already

    def _fail(self, path: Path, doing: str, cause: OSError) -> KafkaStorageError:
        error = storage_error(path, doing, cause)
        if not isinstance(error, NoDescriptorError):
            self._take_offline(error)
        elif LINES.allow(f"too many open files: {doing}"):
            _log.error("too many open files", directory=str(path), doing=doing, error=str(cause))
        return error

    def _fail_at_start(self, path: Path, doing: str, cause: OSError) -> None:
        """Take a directory offline at the start; give up the start if too few files can be opened."""
        error = self._fail(path, doing, cause)
        if isinstance(error, NoDescriptorError):
            for log_dir in self._live.values():
                log_dir.abandon()
            raise error

    def _take_offline(self, error: KafkaStorageError) -> None:
        path = error.log_dir
        if path in self._offline or isinstance(error, NoDescriptorError):
            return
        self._offline[path] = error
        log_dir = self._live.pop(path, None)
        self._gone[path] = log_dir.abandon(error) if log_dir else ()


def _refuse_the_same(directories: Sequence[Path]) -> None:
    """Raise an error if two of the paths are one directory, whose logs would be loaded twice."""
    seen: dict[str, Path] = {}
    for path in directories:
        real = real_path(path)
        if real in seen:
            raise InconsistentDirectoryError(f"{seen[real]} and {path} of log.dirs are one directory")
        seen[real] = path


def _is_former(log: Log, other: Log) -> bool:
    """Return whether ``log`` is of a deleted topic, and ``other`` of a later one of that name."""
    return log.topic is not None and other.topic is not None and log.topic.precedes(other.topic)


def _dated(path: Path, topic_partition: TopicPartition) -> str:
    """Describe a log directory, with the time of the last write to the partition's log in it."""
    times = [each.stat().st_mtime for each in (path / str(topic_partition)).glob("*.log")]
    written = datetime.fromtimestamp(max(times), UTC).isoformat(" ", "seconds") if times else "never"
    return f"{path} (last written {written})"

"""The logs that are copied from one log directory to another, and replace the original there.

A future log lies in ``<topic>-<partition>.<uuid>-future`` of its new log directory. Once it has caught up
it takes the partition's name, and the original is renamed to be deleted. Two directories cannot be renamed
in one step, so a file in the future log, `MOVED_LOG`, first records that the log is complete. A start of
the broker that finds two logs keeps the one with the file; if a loss of power has undone the first rename
alone, it repeats it.

Source: ``LogManager.replaceCurrentWithFutureLog`` of Kafka 2.8, which has no such file and asks a person to
choose; KIP-113.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import structlog

from barnabas.broker.disk.directory.log_dir import LogDir
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.files import remove_whatever, sync_directory, write_file
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.names import MOVED_LOG
from barnabas.cluster.model.ids import Offset, TopicPartition

_log = structlog.get_logger("kafka.log.LogManager")

Fail = Callable[[Path, str, OSError], KafkaStorageError]
"""The function that takes a directory offline for an error of its disk, and returns the error to raise."""


class FutureLogs:
    """The future logs of all live log directories.

    Args:
        live: The directories in use, which the caller changes.
        fail: Takes a directory offline.
    """

    def __init__(self, live: Mapping[Path, LogDir], fail: Fail) -> None:
        self._live = live
        self._fail = fail
        self._swapped: deque[tuple[Log, list[Future[None]]]] = deque()

    @property
    def all(self) -> dict[TopicPartition, Log]:
        """All future logs."""
        # Copies, because the metrics page reads them on another thread.
        return {tp: log for each in tuple(self._live.values()) for tp, log in tuple(each.futures.items())}

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """Return the future log of a partition, or None."""
        log_dir = self._holder(topic_partition)
        return None if log_dir is None else log_dir.futures[topic_partition]

    def create(self, topic_partition: TopicPartition, directory: Path) -> Log:
        """Create an empty future log in a live directory, which has no log of the partition.

        Raises:
            KafkaStorageError: The disk refused.
        """
        try:
            return self._live[directory].create(topic_partition, is_future=True)
        except OSError as error:
            raise self._fail(directory, f"creating the future log of {topic_partition}", error) from error

    def delete(self, topic_partition: TopicPartition) -> None:
        """Close the future log of a partition, if there is one, and rename its directory.

        Raises:
            KafkaStorageError: The disk refused.
        """
        log_dir = self._holder(topic_partition)
        if log_dir is None:
            return
        try:
            log_dir.delete_future(topic_partition)
        except OSError as error:
            raise self._fail(log_dir.path, f"deleting the future {topic_partition}", error) from error

    def prepare(self, topic_partition: TopicPartition, high_watermark: Offset) -> Future[None]:
        """Begin to flush a future log, and to note that it is complete; ``replace_current`` must follow soon.

        Its row in each checkpoint is written, too: what is known of the original must hold for it.

        Returns:
            The end of the work, which may be ``OSError``.

        Raises:
            KafkaStorageError: The disk refused.
        """
        log_dir = self._live_holder(topic_partition)
        log = log_dir.futures[topic_partition]
        log.begin_flush()
        try:
            log_dir.checkpoint_log_start_offsets()
            log_dir.checkpoint_high_watermarks({topic_partition: high_watermark})
        except OSError as error:
            raise self._fail(log_dir.path, "writing checkpoints", error) from error
        return log.on_disk_thread(partial(_mark, log.directory))

    def replace_current(self, topic_partition: TopicPartition, source: LogDir) -> Log:
        """Make the future log the partition's; ``source.release`` must follow.

        The cleaner's checkpoint keeps its row.

        Args:
            topic_partition: The partition; its future log is complete and flushed.
            source: The directory of its current log.

        Raises:
            KafkaStorageError: The new directory's disk refused; the current log stays.
        """
        log_dir = self._live_holder(topic_partition)
        cleaner_offset = source.cleaner_offsets.get(topic_partition)
        try:
            log = log_dir.adopt_future(topic_partition)
            if cleaner_offset is not None:
                log_dir.cleaner_offsets.assign(topic_partition, cleaner_offset)
        except OSError as error:
            raise self._fail(log_dir.path, f"replacing {topic_partition}", error) from error
        return log

    def replaced(self, log: Log, source: LogDir) -> None:
        """Note that ``source`` has released the log that ``log`` replaced.

        The mark of ``log`` may now be removed.
        """
        begun = (source.begin_sync_of_names(), self._live[log.directory.parent].begin_sync_of_names())
        self._swapped.append((log, [each for each in begun if each is not None]))

    def purge_marks(self) -> None:
        """Submit the removal of the marks of logs whose original is renamed for good."""
        while self._swapped and all(each.done() for each in self._swapped[0][1]):
            log, names = self._swapped.popleft()
            if not any(each.exception() for each in names):
                log.on_disk_thread(partial(remove_whatever, log.directory / MOVED_LOG))

    def settle(self, current: Mapping[TopicPartition, Log], *, all_are_live: bool) -> None:
        """Complete a replacement that a loss of power has undone by half; drop what cannot be continued.

        Args:
            current: The current logs of all live directories.
            all_are_live: Whether no directory is offline, in which the original might lie.
        """
        for log_dir in tuple(self._live.values()):
            for tp, future in tuple(log_dir.futures.items()):
                original = current.get(tp)
                is_second = self._holder(tp) is not log_dir or tp in log_dir.logs
                is_former = original is not None and _is_of_other_topic(future, original)
                if original is None and all_are_live and not is_second and is_marked(future):
                    _log.warning(f"Completing the replacement of {tp} by {future.directory}")
                    self._run(log_dir, f"replacing {tp}", partial(log_dir.adopt_future, tp))
                elif is_second or is_former:
                    _log.warning(f"Deleting the future log {future.directory}, which no log can continue")
                    self._run(log_dir, f"deleting the future {tp}", partial(log_dir.delete_future, tp))

    def _run(self, log_dir: LogDir, doing: str, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            self._fail(log_dir.path, doing, error)

    def _holder(self, topic_partition: TopicPartition) -> LogDir | None:
        return next((each for each in self._live.values() if topic_partition in each.futures), None)

    def _live_holder(self, topic_partition: TopicPartition) -> LogDir:
        log_dir = self._holder(topic_partition)
        if log_dir is None:
            raise KeyError(f"no future log of {topic_partition} in {', '.join(map(str, self._live))}")
        return log_dir


def is_marked(log: Log) -> bool:
    """Return whether the log was complete when it replaced, or was about to replace, another."""
    return (log.directory / MOVED_LOG).exists()


def _mark(directory: Path) -> None:
    write_file(directory / MOVED_LOG, b"")
    sync_directory(directory)


def _is_of_other_topic(future: Log, original: Log) -> bool:
    return future.topic is not None and original.topic is not None and original.topic.denies(future.topic)

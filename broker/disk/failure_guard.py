"""The handling of disk errors in a log: after one, every later call fails in the same way.

A log that stayed in use after a failed write could serve records that are not on the disk. Kafka's
``LogDirFailureChannel`` takes the whole directory offline for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from traceback import clear_frames
from typing import TypeVar

from barnabas.broker.disk.errors import ClosedLogError, KafkaStorageError, NoDescriptorError, storage_error
from barnabas.cluster.model.ids import TopicPartition

T = TypeVar("T")


class FailureGuard:
    """A guard that turns ``OSError`` into ``KafkaStorageError`` and keeps the first failure of a log.

    Args:
        log_dir: The log directory, which the error names.
        topic_partition: The log's partition.
        on_failure: Called for each error of the disk; takes the directory offline.

    Attributes:
        failure: The error that every call of the log raises; None while the log is usable.
    """

    __slots__ = ("_log_dir", "_on_failure", "_topic_partition", "failure")

    def __init__(
        self,
        log_dir: Path,
        topic_partition: TopicPartition,
        on_failure: Callable[[KafkaStorageError], None],
    ) -> None:
        self._log_dir = log_dir
        self._topic_partition = topic_partition
        self._on_failure = on_failure
        self.failure: KafkaStorageError | None = None

    def check(self) -> None:
        """Raise ``KafkaStorageError`` if the log has failed or is closed."""
        if self.failure is not None:
            raise self.failure

    def run(self, doing: str, work: Callable[[], T]) -> T:
        """Run ``work`` and return its result; ``doing`` names it in the error if the disk refuses.

        Raises:
            KafkaStorageError: ``work`` raised ``OSError``.
        """
        try:
            return work()
        except OSError as error:
            raise self.fail(doing, error) from error

    def fail(self, doing: str, error: OSError) -> KafkaStorageError:
        """Note an error of the disk, and return the error to raise.

        If the process has too many files open, or the file was closed meanwhile (``NoDescriptorError``),
        nothing was changed and the log stays usable. A truncation is the exception: it may have removed files
        before it failed.
        """
        failure = storage_error(self._log_dir, f"{doing} {self._topic_partition}", error)
        clear_frames(error.__traceback__)  # the failure is kept, and with it each file that a frame refers to
        if not isinstance(failure, NoDescriptorError) or doing == "truncating":
            self.failure = failure
            self._on_failure(failure)
        return failure

    def close(self, why: KafkaStorageError | None) -> None:
        """Make every later call raise ``why``, or that the log is closed; an earlier failure stays."""
        self.failure = self.failure or why or ClosedLogError(self._log_dir, self._topic_partition)

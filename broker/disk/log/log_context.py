"""The callbacks and resources that a log gets from its directory, and a directory from its broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.producer_state import EXPIRATION_MS
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class LogContext:
    """The log directory, as its logs use it.

    Attributes:
        log_dir: The directory.
        executor: Its one thread, for flushes and for sealing rolled segments.
        clock: Wall time in milliseconds.
        on_failure: Called once when the disk has refused: the whole directory goes offline.
        on_recovery_point_lowered: Called when a truncation went below the recovery point; writes its
            checkpoint before anything else is appended.
        on_removed: Called with segments that are no longer part of the log and the time (milliseconds) to
            close and unlink them: a reader may still use them.
        on_truncated: Called after a truncation with the base offset of the active segment that is left.
        on_gaps: Called when compaction leaves gaps in a log, or a follower has copied those of its leader.
        sync_names: Flushes the names of the partitions' directories; called on the directory's thread.
        producer_expiration_ms: The idle time after which a producer is forgotten.
    """

    log_dir: Path
    executor: Executor
    clock: Callable[[], int]
    on_failure: Callable[[KafkaStorageError], None]
    on_recovery_point_lowered: Callable[[], None]
    on_removed: Callable[[Sequence[LogSegment], int], None]
    on_truncated: Callable[[TopicPartition, Offset], None]
    on_gaps: Callable[[TopicPartition], None]
    sync_names: Callable[[], None]
    producer_expiration_ms: int = EXPIRATION_MS


@dataclass(frozen=True, slots=True)
class LogDirsOptions:
    """The options of all log directories of a broker.

    Attributes:
        broker_id: Must equal the id in ``meta.properties`` of every directory; written to new ones.
        cluster_id: Likewise; 22 characters.
        config_for: Returns the settings of a topic's logs.
        executor_for: Returns a directory's one thread for flushes, checkpoints and removals. The caller shuts
            it down after ``close``.
        clock: Wall time in milliseconds since 1970.
        producer_expiration_ms: The idle time after which a producer is forgotten.
        recovery_threads: The number of logs of a directory that are opened at a time
            (``num.recovery.threads.per.data.dir``).
    """

    broker_id: BrokerId
    cluster_id: str
    config_for: Callable[[str], LogConfig]
    executor_for: Callable[[Path], Executor]
    clock: Callable[[], int]
    producer_expiration_ms: int = EXPIRATION_MS
    recovery_threads: int = 1

"""The callbacks and resources that a log gets from its directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.core.producer_state import EXPIRATION_MS
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.segment import LogSegment
from barnabas.cluster.model.ids import Offset, TopicPartition


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
        on_retired: Called with the files that retention has removed and the time (milliseconds) to unlink
            them.
        on_replaced: Called with segments that were compacted and the time to close them: a reader may still
            use them.
        on_truncated: Called after a truncation with the base offset of the active segment that is left.
        sync_names: Flushes the names of the partitions' directories; called on the directory's thread.
        producer_expiration_ms: The idle time after which a producer is forgotten.
    """

    log_dir: Path
    executor: Executor
    clock: Callable[[], int]
    on_failure: Callable[[KafkaStorageError], None]
    on_recovery_point_lowered: Callable[[], None]
    on_retired: Callable[[Sequence[Path], int], None]
    on_replaced: Callable[[Sequence[LogSegment], int], None]
    on_truncated: Callable[[TopicPartition, Offset], None]
    sync_names: Callable[[], None]
    producer_expiration_ms: int = EXPIRATION_MS

"""What a log is given by the directory that it lies in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.core.producer_state import EXPIRATION_MS
from barnabas.broker.disk.errors import KafkaStorageError


@dataclass(frozen=True, slots=True)
class LogContext:
    """A log directory, as its logs see it.

    Attributes:
        log_dir: That directory.
        executor: Its one thread, for fsync and for sealing rolled segments.
        clock: Wall time in milliseconds.
        on_failure: Told once when the disk has refused: the whole directory goes offline.
        on_recovery_point_lowered: Told when a truncation went below the recovery point: its checkpoint is
            written again before anything else is appended.
        on_retired: Told of files that retention has given up, to unlink at the given time (milliseconds).
        sync_names: Puts the names of the partitions' directories on the disk; called on that thread.
        producer_expiration_ms: After how long an idle producer is forgotten.
    """

    log_dir: Path
    executor: Executor
    clock: Callable[[], int]
    on_failure: Callable[[KafkaStorageError], None]
    on_recovery_point_lowered: Callable[[], None]
    on_retired: Callable[[Sequence[Path], int], None]
    sync_names: Callable[[], None]
    producer_expiration_ms: int = EXPIRATION_MS

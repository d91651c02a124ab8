"""The periodic tasks of a running broker: checkpoints, flushes, deletions and directory checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.cluster.runtime.supervisor import Supervisor

NEVER_MS = 2**31
"""Intervals of at least this length, some 25 days, mean "never", as Kafka's largest values do."""

PURGE_INTERVAL_MS = 1_000
"""Interval between two passes that unlink deleted logs and segments, ms."""

PRODUCER_EXPIRATION_INTERVAL_MS = 600_000
"""Interval between two expirations of idle producers, ms (Kafka: ``ProducerIdExpirationCheckIntervalMs``)."""

LOG_DIRS_INTERVAL_MS = 500
"""Interval between two checks of the log directories, ms."""


class NoLogDirectoryLeftError(Exception):
    """Every log directory has failed. If the broker stayed, it would lead partitions that it cannot serve.

    The message is Kafka's line; the cause in each directory has its own.
    """


async def repeat(interval_ms: int, work: Callable[[], Iterable[None] | None]) -> None:
    """Call ``work`` every ``interval_ms`` milliseconds, first after one interval.

    If it returns steps, other work runs between them.
    """
    while True:
        await asyncio.sleep(interval_ms / 1000)
        for _ in work() or ():
            await asyncio.sleep(0)


def keep_logs(
    supervisor: Supervisor,
    logs: LogDirs,
    config: BrokerConfig,
    on_offline: Callable[[KafkaStorageError], None],
) -> None:
    """Start the periodic tasks of the logs.

    Args:
        supervisor: Owns the tasks.
        logs: The broker's log directories.
        config: The intervals.
        on_offline: Called for each offline directory at every check, because a directory that failed in a
            background task is not noticed by reads and writes.
    """
    intervals = {
        "recovery-point-checkpoint": (
            config.integer("log.flush.offset.checkpoint.interval.ms"),
            logs.checkpoint_recovery_points,
        ),
        "log-start-offset-checkpoint": (
            config.integer("log.flush.start.offset.checkpoint.interval.ms"),
            logs.checkpoint_log_start_offsets,
        ),
        "log-flusher": (config.integer("log.flush.scheduler.interval.ms"), logs.flush_due_logs),
        "delete-logs": (PURGE_INTERVAL_MS, logs.purge_deleted),
        "producer-expiration": (PRODUCER_EXPIRATION_INTERVAL_MS, logs.expire_producers),
        "log-directories": (LOG_DIRS_INTERVAL_MS, lambda: check_directories(logs, config, on_offline)),
    }
    for name, (interval_ms, work) in intervals.items():
        if 0 < interval_ms < NEVER_MS:
            supervisor.spawn(name, repeat(interval_ms, work))


def check_directories(
    logs: LogDirs, config: BrokerConfig, on_offline: Callable[[KafkaStorageError], None]
) -> None:
    """Report the offline directories and check that one remains.

    Raises:
        NoLogDirectoryLeftError: All have failed.
    """
    for error in tuple(logs.offline.values()):
        on_offline(error)
    require_a_directory(logs, config)


def require_a_directory(logs: LogDirs, config: BrokerConfig) -> None:
    """Check that one of ``log.dirs`` is still in use; without one the broker stops.

    Kafka's halts (``LogManager.handleLogDirFailure``). This one also closes its session, so that others lead
    at once; it has nothing left to write.

    Raises:
        NoLogDirectoryLeftError: All have failed.
    """
    if logs.offline.keys() >= set(config.log_dirs):
        directories = ", ".join(str(path.absolute()) for path in config.log_dirs)
        raise NoLogDirectoryLeftError(f"Shutdown broker because all log dirs in {directories} have failed")

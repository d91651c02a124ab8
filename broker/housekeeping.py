"""What a broker does over and over while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.broker.config import BrokerConfig
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log_dirs import LogDirs
from barnabas.cluster.runtime.supervisor import Supervisor

NEVER_MS = 2**31
"""Intervals from here on, some 25 days, are taken for Kafka's "never"."""

PURGE_INTERVAL_MS = 1_000
"""How often deleted logs and segments are looked for that may be unlinked."""

PRODUCER_EXPIRATION_INTERVAL_MS = 600_000
"""How often idle producers are looked for (``LogManager.ProducerIdExpirationCheckIntervalMs``)."""

LOG_DIRS_INTERVAL_MS = 500
"""How often it is looked whether a log directory is left."""


class NoLogDirectoryLeftError(Exception):
    """Every log directory has failed; a broker that stayed would keep leaderships that it cannot serve."""


async def repeat(interval_ms: int, work: Callable[[], None]) -> None:
    """Call ``work`` every ``interval_ms`` milliseconds, first after one interval."""
    while True:
        await asyncio.sleep(interval_ms / 1000)
        work()


def keep_logs(
    supervisor: Supervisor,
    logs: LogDirs,
    config: BrokerConfig,
    on_offline: Callable[[KafkaStorageError], None],
) -> None:
    """Have checkpoints written, logs flushed, deleted logs unlinked, idle producers forgotten, each in time.

    Args:
        supervisor: Owns the tasks.
        logs: The broker's log directories.
        config: Says when.
        on_offline: Told of each directory that is offline, again and again: a directory that fails in passing
            is noticed by nobody who reads or writes.
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
        "log-directories": (LOG_DIRS_INTERVAL_MS, lambda: look_at_directories(logs, config, on_offline)),
    }
    for name, (interval_ms, work) in intervals.items():
        if 0 < interval_ms < NEVER_MS:
            supervisor.spawn(name, repeat(interval_ms, work))


def look_at_directories(
    logs: LogDirs, config: BrokerConfig, on_offline: Callable[[KafkaStorageError], None]
) -> None:
    """Tell of the directories that are offline, and see that one is left.

    Raises:
        NoLogDirectoryLeftError: All have failed.
    """
    for error in tuple(logs.offline.values()):
        on_offline(error)
    demand_a_directory(logs, config)


def demand_a_directory(logs: LogDirs, config: BrokerConfig) -> None:
    """See that one of ``log.dirs`` is still in use; Kafka ends the process too where none is.

    Raises:
        NoLogDirectoryLeftError: All have failed.
    """
    if logs.offline.keys() >= set(config.log_dirs):
        causes = "; ".join(str(error) for error in logs.offline.values())
        raise NoLogDirectoryLeftError(f"no directory of log.dirs is left: {causes}")

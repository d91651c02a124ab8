"""The metrics of the log cleaner under Kafka's names, which are read when the metrics page is requested.

``kafka.log:type=LogCleanerManager,name=max-dirty-percent`` is
``kafka_log_LogCleanerManager_max_dirty_percent``. Source: ``LogCleaner.scala`` and
``LogCleanerManager.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector


class CleanerFigures(NamedTuple):
    """The figures of the log cleaner.

    Attributes:
        gauges: The value of each of `GAUGES`, by its name.
        io_bytes: Bytes that were read and written.
        directories: How many logs cannot be compacted, and their dirty bytes, by log directory.
    """

    gauges: Mapping[str, int]
    io_bytes: int
    directories: Mapping[str, tuple[int, int]]


_CLEANER = "kafka_log_LogCleaner_"
_MANAGER = "kafka_log_LogCleanerManager_"

GAUGES = {
    "max_buffer_utilization_percent": (_CLEANER, "Share of the offset map used in the last cleaning"),
    "cleaner_recopy_percent": (_CLEANER, "Bytes written of 100 read in the last cleaning"),
    "max_clean_time_secs": (_CLEANER, "How long the last cleaning took, s"),
    "max_compaction_delay_secs": (_CLEANER, "For how long max.compaction.lag.ms is exceeded, s"),
    "DeadThreadCount": (_CLEANER, "Cleaner threads that have ended by an error"),
    "max_dirty_percent": (_MANAGER, "Dirty share of the filthiest log"),
    "time_since_last_run_ms": (_MANAGER, "Since the logs were last looked at, ms"),
}
"""The type and meaning of each gauge."""


class CleanerMetrics(Collector):
    """A collector of the log cleaner's figures.

    Args:
        read: Returns the figures; called on the page's thread.
    """

    def __init__(self, read: Callable[[], CleanerFigures]) -> None:
        self._read = read

    def describe(self) -> list[GaugeMetricFamily]:
        """Return the gauges without values."""
        return [GaugeMetricFamily(of + name, doc) for name, (of, doc) in GAUGES.items()]

    def collect(self) -> list[GaugeMetricFamily | CounterMetricFamily]:
        """Return the metrics with current values."""
        gauges, io_bytes, directories = self._read()
        families = [
            GaugeMetricFamily(of + name, doc, value=gauges[name]) for name, (of, doc) in GAUGES.items()
        ]
        labels = ("logDirectory",)
        count = GaugeMetricFamily(
            _MANAGER + "uncleanable_partitions_count", "Logs that cannot be compacted", labels=labels
        )
        size = GaugeMetricFamily(_MANAGER + "uncleanable_bytes", "Their dirty bytes", labels=labels)
        for directory, (partitions, dirty_bytes) in directories.items():
            count.add_metric((directory,), partitions)
            size.add_metric((directory,), dirty_bytes)
        moved = CounterMetricFamily(
            "kafka_utils_Throttler_cleaner_io", "Bytes that the log cleaner has read and written"
        )
        moved.add_metric((), io_bytes)
        return [*families, count, size, moved]

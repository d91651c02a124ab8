"""The metrics of each log under Kafka's names, which are read when the metrics page is requested.

``kafka.log:type=Log,name=Size,topic=t,partition=0`` is ``kafka_log_Log_Size{topic="t",partition="0"}``.
Source: ``core/log/Log.scala`` (``LogMetricNames``) of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from barnabas.cluster.model.ids import TopicPartition


class LogSize(NamedTuple):
    """The size of a log.

    Attributes:
        topic_partition: The partition of the log.
        num_log_segments: The number of segments.
        log_start_offset: The first offset that may be read.
        log_end_offset: The offset that the next record gets.
        size: The bytes of all batches.
    """

    topic_partition: TopicPartition
    num_log_segments: int
    log_start_offset: int
    log_end_offset: int
    size: int


_METRICS = {
    "kafka_log_Log_NumLogSegments": "Segments of the log",
    "kafka_log_Log_LogStartOffset": "First offset that may be read",
    "kafka_log_Log_LogEndOffset": "Offset that the next record gets",
    "kafka_log_Log_Size": "Bytes of the log",
}
"""The name and meaning of each metric, in the order of ``LogSize``."""


class LogMetrics(Collector):
    """A collector with one gauge of each kind per existing log.

    Args:
        read: Returns the sizes of the logs; called on the page's thread.
    """

    def __init__(self, read: Callable[[], Iterable[LogSize]]) -> None:
        self._read = read

    def describe(self) -> list[GaugeMetricFamily]:
        """Return the metrics without values."""
        return [GaugeMetricFamily(name, doc, labels=("topic", "partition")) for name, doc in _METRICS.items()]

    def collect(self) -> list[GaugeMetricFamily]:
        """Return the metrics with current values."""
        families = self.describe()
        for (topic, partition), *values in self._read():
            labels = (topic, str(partition))
            for family, value in zip(families, values, strict=True):
                family.add_metric(labels, value)
        return families

"""The metrics ``kafka.server:type=BrokerTopicMetrics``: records, bytes and requests, by topic and in all.

Counts are kept by the event loop and read when the metrics page is requested. As in Kafka, the series
without a topic is that of all topics.
Source: ``BrokerTopicMetrics`` in ``KafkaRequestHandler.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

_PREFIX = "kafka_server_BrokerTopicMetrics_"

_COUNTERS = {
    "MessagesInPerSec": "Records appended by clients",
    "BytesInPerSec": "Bytes appended by clients",
    "BytesOutPerSec": "Bytes of records sent to clients",
    "TotalProduceRequestsPerSec": "Partitions in Produce requests",
    "TotalFetchRequestsPerSec": "Partitions in clients' Fetch requests",
    "FailedProduceRequestsPerSec": "Partitions of which an append failed",
    "FailedFetchRequestsPerSec": "Partitions of which a fetch failed",
}
"""The name and meaning of each counter, in the order of ``TopicCounts.values``."""

_REFUSED = {
    "NoKeyCompactedTopicRecordsPerSec": "Records without a key that compacted topics refused",
    "InvalidMagicNumberRecordsPerSec": "Batches refused because of their magic byte",
    "InvalidMessageCrcRecordsPerSec": "Batches refused because of their checksum",
    "InvalidOffsetOrSequenceRecordsPerSec": "Batches refused because of their record count or sequence",
}
"""The counters of refused records, which exist for all topics together only."""

_REPLICATION = {
    "ReplicationBytesInPerSec": "Bytes fetched from leaders",
    "ReplicationBytesOutPerSec": "Bytes sent to followers",
}

MANY_TOPICS = 1_000
"""The number of topics from which on those that are gone are dropped, even if nobody reads the page."""


class TopicCounts:
    """The counts of one topic, or of all."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetch_requests",
        "failed_produce_requests",
        "fetch_requests",
        "messages_in",
        "produce_requests",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.produce_requests = 0
        self.fetch_requests = 0
        self.failed_produce_requests = 0
        self.failed_fetch_requests = 0

    def values(self) -> tuple[int, ...]:
        """Return the value of each counter."""
        return (
            self.messages_in,
            self.bytes_in,
            self.bytes_out,
            self.produce_requests,
            self.fetch_requests,
            self.failed_produce_requests,
            self.failed_fetch_requests,
        )


class Traffic(Collector):
    """The counts of all topics of one broker.

    Attributes:
        hosted: Returns the topics of which the broker hosts a partition; the counts of others are dropped.
            Called on the page's thread and, when the number of topics has doubled, on the event loop's.
        replication_bytes_in: Bytes fetched from leaders.
        replication_bytes_out: Bytes sent to followers.
    """

    def __init__(self) -> None:
        self.hosted: Callable[[], Collection[str]] = tuple
        self.replication_bytes_in = 0
        self.replication_bytes_out = 0
        self._refused = dict.fromkeys(_REFUSED, 0)
        self._all = TopicCounts()
        self._topics: dict[str, TopicCounts] = {}
        self._most_topics = MANY_TOPICS

    def appended(self, topic: str, records: int, size: int) -> None:
        """Count an append by a client of so many records and bytes."""
        for counts in (self._all, self._of(topic)):
            counts.produce_requests += 1
            counts.messages_in += records
            counts.bytes_in += size

    def refused(self, topic: str, *, failed: bool) -> None:
        """Count a partition to which nothing was appended; ``failed`` unless the request itself was wrong."""
        for counts in (self._all, self._of(topic)):
            counts.produce_requests += 1
            counts.failed_produce_requests += failed

    def refused_records(self, name: str, count: int) -> None:
        """Count refused records, or a refused batch, in the counter of that name (without ``PerSec``).

        Raises:
            KeyError: There is no counter of that name.
        """
        self._refused[f"{name}PerSec"] += count

    def fetched(self, topic: str, size: int, *, failed: bool) -> None:
        """Count a partition in the answer to a client's Fetch."""
        for counts in (self._all, self._of(topic)):
            counts.fetch_requests += 1
            counts.bytes_out += size
            counts.failed_fetch_requests += failed

    def _of(self, topic: str) -> TopicCounts:
        counts = self._topics.get(topic)
        if counts is None:
            if len(self._topics) >= self._most_topics:
                self._drop_unhosted()
                self._most_topics = max(MANY_TOPICS, 2 * len(self._topics))
            counts = self._topics[topic] = TopicCounts()
        return counts

    def _drop_unhosted(self) -> None:
        hosted = set(self.hosted())
        for topic in tuple(self._topics):
            if topic not in hosted:
                self._topics.pop(topic, None)

    def describe(self) -> list[CounterMetricFamily]:
        """Return the metrics without values."""
        return [
            *(CounterMetricFamily(_PREFIX + name, doc, labels=("topic",)) for name, doc in _COUNTERS.items()),
            *(CounterMetricFamily(_PREFIX + name, doc) for name, doc in (_REFUSED | _REPLICATION).items()),
        ]

    def collect(self) -> list[CounterMetricFamily]:
        """Return the metrics with current values."""
        self._drop_unhosted()
        families = self.describe()
        for topic, counts in (("", self._all), *tuple(self._topics.items())):
            for family, value in zip(families, counts.values(), strict=False):
                family.add_metric((topic,), value)
        of_all = (*self._refused.values(), self.replication_bytes_in, self.replication_bytes_out)
        for family, value in zip(families[len(_COUNTERS) :], of_all, strict=True):
            family.add_metric((), value)
        return families

"""The settings of one topic's logs, typed; names as Kafka's topic settings with underscores for dots.

Defaults and meaning: ``core/log/LogConfig.scala`` of Kafka 2.8. The table in ``cluster.model.configs`` parses
and checks the text of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from barnabas.broker.core.records.record_batch import TimestampType
from barnabas.cluster.model.configs.declarations import Value

_TIMESTAMP_TYPES = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}

UNLIMITED = 2**63 - 1
"""The value that means "never" or "no limit" in Kafka's settings."""

COMPACT = "compact"
"""The ``cleanup.policy`` that keeps the last record of each key."""

DAY_MS = 24 * 60 * 60 * 1000

_REPLICA_LISTS = ("leader_replication_throttled_replicas", "follower_replication_throttled_replicas")


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings that a topic's logs use.

    Attributes:
        segment_bytes: Roll before a segment would become larger than this.
        segment_ms: Roll when a segment's first batch is older than this, in batch time.
        segment_jitter_ms: The most that is subtracted from ``segment_ms``, at random per segment.
        segment_index_bytes: Largest size of each index file; the active ones are preallocated to it.
        index_interval_bytes: At most one index entry per this many bytes of batches.
        preallocate: Whether the active segment file is preallocated.
        max_message_bytes: Largest batch taken from a client, header and frame included.
        message_timestamp_type: Whether the client's or the broker's clock stamps batches.
        message_timestamp_difference_max_ms: The largest difference between a client's timestamps and now.
        compression_type: ``producer`` (unchanged), ``uncompressed`` or a codec's name.
        min_insync_replicas: In-sync replicas that a write with acks=all needs.
        unclean_leader_election_enable: Whether a replica outside the ISR may lead when no other can.
        cleanup_policy: The ways in which old records go: ``delete``, ``compact``.
        min_cleanable_dirty_ratio: The share of dirty bytes above which a log is compacted.
        delete_retention_ms: How long a tombstone stays after all before it is compacted.
        min_compaction_lag_ms: How long a record stays uncompacted at least.
        max_compaction_lag_ms: How long a record stays uncompacted at most.
        retention_ms: Delete segments whose newest record is older; -1 never.
        retention_bytes: Delete oldest segments while the log is larger; -1 never.
        file_delete_delay_ms: How long a deleted file stays on disk under another name.
        flush_messages: Flush after this many records.
        flush_ms: Flush records that are older than this.
        leader_replication_throttled_replicas: The leaders that send slowly, each as ``partition:broker``, or
            ``*`` for all.
        follower_replication_throttled_replicas: The followers that fetch slowly, likewise.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    preallocate: bool = False
    max_message_bytes: int = 1024 * 1024 + 12
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_difference_max_ms: int = UNLIMITED
    compression_type: str = "producer"
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = UNLIMITED
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    flush_messages: int = UNLIMITED
    flush_ms: int = UNLIMITED
    leader_replication_throttled_replicas: frozenset[str] = frozenset()
    follower_replication_throttled_replicas: frozenset[str] = frozenset()

    @property
    def is_compacted(self) -> bool:
        """Return whether the log keeps the last record of each key."""
        return COMPACT in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment is rolled; only a rolled one can be compacted (KIP-354)."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms

    @classmethod
    def of(cls, topic: Mapping[str, Value]) -> LogConfig:
        """Build the settings of a topic's logs.

        Args:
            topic: All settings of the topic, parsed, as `cluster.model.configs.topic.resolve` gives them.
        """
        values: dict[str, Any] = {each.name: topic[each.name.replace("_", ".")] for each in fields(cls)}
        values["message_timestamp_type"] = _TIMESTAMP_TYPES[values["message_timestamp_type"]]
        for name in ("cleanup_policy", *_REPLICA_LISTS):
            values[name] = frozenset(values[name])
        return cls(**values)

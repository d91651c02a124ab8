"""The settings of one topic's logs, typed; names as Kafka's topic settings with underscores for dots.

Defaults and meaning: ``core/log/LogConfig.scala`` of Kafka 2.8. The table of configs in
``cluster.model.configs`` reads and checks the text; this is what the log works with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from barnabas.broker.core.record_batch import TimestampType
from barnabas.cluster.model.configs import Value

_TIMESTAMP_TYPES = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}

UNLIMITED = 2**63 - 1
"""Kafka's "never" and "no limit"."""

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What a topic's logs go by.

    Attributes:
        segment_bytes: Roll before a segment would become larger than this.
        segment_ms: Roll when a segment's first batch is older than this, in batch time.
        segment_jitter_ms: Taken off ``segment_ms`` at random per segment, at most.
        segment_index_bytes: Largest size of each index file; the active ones are preallocated to it.
        index_interval_bytes: At most one index entry per this many bytes of batches.
        preallocate: Whether the active segment file is preallocated.
        max_message_bytes: Largest batch taken from a client, header and frame included.
        message_timestamp_type: Whether the client's or the broker's clock stamps batches.
        message_timestamp_difference_max_ms: How far a client's timestamps may be from now.
        compression_type: ``producer`` (as it came), ``uncompressed`` or a codec's name.
        min_insync_replicas: In-sync replicas that a write with acks=all needs.
        unclean_leader_election_enable: Whether a replica outside the ISR may lead when no other can.
        cleanup_policy: What happens to old segments.
        retention_ms: Delete segments whose newest record is older; -1 never.
        retention_bytes: Delete oldest segments while the log is larger; -1 never.
        file_delete_delay_ms: How long a deleted file stays on disk under another name.
        flush_messages: Flush after this many records.
        flush_ms: Flush what is older than this.
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
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    flush_messages: int = UNLIMITED
    flush_ms: int = UNLIMITED

    @classmethod
    def of(cls, topic: Mapping[str, Value]) -> LogConfig:
        """Make the settings object of a topic.

        Args:
            topic: All settings of the topic, parsed, as `cluster.model.configs_topic.resolve` gives them.
        """
        values: dict[str, Any] = {each.name: topic[each.name.replace("_", ".")] for each in fields(cls)}
        values["message_timestamp_type"] = _TIMESTAMP_TYPES[values["message_timestamp_type"]]
        values["cleanup_policy"] = frozenset(values["cleanup_policy"])
        return cls(**values)

"""The settings of the group coordinator (``GroupConfig`` and ``OffsetConfig`` of Kafka 2.8)."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.configs.settings import setting

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The time that a member may wait in its first join round (``GroupCoordinator.NewMemberJoinTimeoutMs``)."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The settings ``group.*`` and ``offsets.*``.

    Times in milliseconds unless the name says minutes, sizes in bytes.
    """

    min_session_timeout_ms: int = setting("group.min.session.timeout.ms")
    max_session_timeout_ms: int = setting("group.max.session.timeout.ms")
    max_size: int = setting("group.max.size")
    initial_rebalance_delay_ms: int = setting("group.initial.rebalance.delay.ms")
    topic_partitions: int = setting("offsets.topic.num.partitions")
    topic_replication_factor: int = setting("offsets.topic.replication.factor")
    topic_segment_bytes: int = setting("offsets.topic.segment.bytes")
    topic_codec: int = setting("offsets.topic.compression.codec")
    retention_minutes: int = setting("offsets.retention.minutes")
    retention_check_interval_ms: int = setting("offsets.retention.check.interval.ms")
    commit_timeout_ms: int = setting("offsets.commit.timeout.ms")
    commit_required_acks: int = setting("offsets.commit.required.acks")
    metadata_max_bytes: int = setting("offset.metadata.max.bytes")
    load_buffer_bytes: int = setting("offsets.load.buffer.size")

"""The partitions of which this broker holds a replica: log, state, and the sessions notified of changes.

Everything runs on the broker's event loop. Code that changes a partition calls one of the event methods at
once, so nothing ever has to be polled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from typing import Protocol

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.purgatory import DelayedOperationPurgatory
from barnabas.broker.core.quotas.replication_quota import ReplicationThrottles
from barnabas.broker.core.replication.log_expectation import LogExpectation, LogOwner, owner_of_log
from barnabas.broker.core.replication.replica import Replica
from barnabas.broker.core.replication.replica_selection import RACK_AWARE, rack_aware
from barnabas.broker.disk.directory.log_dirs import LogDirs
from barnabas.broker.disk.errors import (
    ClosedFileError,
    ClosedLogError,
    CorruptLogError,
    KafkaStorageError,
    MovedLogError,
    NoDescriptorError,
    OtherTopicsLogError,
    PartitionWithoutLogError,
)
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.segment.scrub import SegmentSpan
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.replicas.system_timer import SystemTimer
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset, TopicIdentity, TopicPartition
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.traffic import Traffic

_log = structlog.get_logger(__name__)

ANOTHER_TOPIC = "it is of another topic of that name"
"""The reason for putting aside the log of a topic that was deleted and created again during downtime."""


def monotonic_ms() -> int:
    """Return the milliseconds of the monotonic clock."""
    return time.monotonic_ns() // 1_000_000


class Feed(Protocol):
    """A follower's fetch session, as the partitions that it fetches see it."""

    def data_appended(self, topic_partition: TopicPartition) -> None:
        """Note that the leader's log has grown."""
        ...

    def high_watermark_rose(self, topic_partition: TopicPartition) -> None:
        """Note that the leader's high watermark has risen."""
        ...

    def log_start_rose(self, topic_partition: TopicPartition) -> None:
        """Note that the leader's log start has risen."""
        ...

    def leadership_changed(self, topic_partition: TopicPartition) -> None:
        """Note that the role, the leader epoch or the host of the partition has changed."""
        ...


class HostedPartition:
    """One partition of which this broker holds a replica.

    Attributes:
        topic_partition: The partition.
        replica: Its state.
        log: Its log.
        feeds: The sessions of the followers that fetch it from here.
    """

    __slots__ = ("feeds", "log", "replica", "topic_partition")

    def __init__(self, replica: Replica, log: Log) -> None:
        self.topic_partition = replica.topic_partition
        self.replica = replica
        self.log = log
        self.feeds: dict[BrokerId, Feed] = {}

    @property
    def min_isr(self) -> int:
        """The in-sync replicas that acks=all needs: ``min.insync.replicas``, or all replicas if fewer.

        Source: ``Partition.effectiveMinIsr`` since 3.7 (KAFKA-15583); of a reassignment, those before it.
        """
        return min(self.log.config.min_insync_replicas, len(self.replica.assignment.origin))

    @property
    def is_under_min_isr(self) -> bool:
        """Return whether this broker leads, with fewer in-sync replicas than `min_isr`."""
        return self.replica.is_leader and len(self.replica.isr) < self.min_isr


class HostedPartitions:
    """The hosted partitions, with the purgatories of the requests that wait for them.

    Attributes:
        broker_id: This broker.
        produces: The acks=all produces that wait for the high watermark, by partition.
        deletes: The deletions of records that wait for the followers' log starts, by partition.
        fetches: The long polls that wait for data, by partition; a follower's fetch waits under its session.
        throttles: The throttles of replication.
        on_directory_failed: Called once for each log directory that fails, with its partitions.
        on_leadership_changed: Called with each partition whose role or leader epoch has changed, or that is
            no longer hosted.
        on_hosted: Called after a partition began to be hosted.
        on_corrupt: Called each time that a read meets an invalid batch.
        is_repairable: Returns whether another replica may lead, or send a damaged segment, instead.
        traffic: The counts of what clients write and of replication.
        on_refetch: Called when a follower fetches records again that were sent to it, as one does that found
            their checksum wrong.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        logs: LogDirs,
        metadata: MetadataCache,
        settings: ReplicaSettings,
        traffic: Traffic | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.traffic = Traffic() if traffic is None else traffic
        self.settings = settings
        self.produces: DelayedOperationPurgatory[TopicPartition] = DelayedOperationPurgatory(
            "Produce", SystemTimer(), settings.produce_purge_interval
        )
        self.deletes: DelayedOperationPurgatory[TopicPartition] = DelayedOperationPurgatory(
            "DeleteRecords", SystemTimer(), settings.delete_records_purge_interval
        )
        self.fetches: DelayedOperationPurgatory[Hashable] = DelayedOperationPurgatory(
            "Fetch", SystemTimer(), settings.fetch_purge_interval
        )
        self.throttles = ReplicationThrottles()
        self.logs = logs
        self._metadata = metadata
        self._partitions: dict[TopicPartition, HostedPartition] = {}
        self._offline: set[TopicPartition] = set()
        self._failed_directories: set[Path] = set()
        self.on_directory_failed: Callable[[Collection[TopicPartition]], None] = lambda _: None
        self.on_leadership_changed: Callable[[TopicPartition], None] = lambda _: None
        self.on_hosted: Callable[[], None] = lambda: None
        self.on_corrupt: Callable[[HostedPartition, CorruptLogError], None] = lambda *_: None
        self.is_repairable: Callable[[HostedPartition, SegmentSpan], bool] = lambda *_: False
        self.on_refetch: Callable[[HostedPartition, Offset], None] = lambda *_: None

    @property
    def all(self) -> Collection[HostedPartition]:
        """All partitions of which a replica is hosted and online."""
        return self._partitions.values()

    @property
    def leader_count(self) -> int:
        """The number of partitions that this broker leads."""
        return sum(partition.replica.is_leader for partition in tuple(self.all))

    @property
    def under_replicated_count(self) -> int:
        """The number of partitions it leads whose ISR lacks a replica."""
        return sum(partition.replica.is_under_replicated for partition in tuple(self.all))

    @property
    def at_min_isr_count(self) -> int:
        """The number of partitions it leads whose ISR has exactly `HostedPartition.min_isr` members."""
        return sum(
            partition.replica.is_leader and len(partition.replica.isr) == partition.min_isr
            for partition in tuple(self.all)
        )

    @property
    def under_min_isr_count(self) -> int:
        """The number of partitions it leads whose ISR is below `HostedPartition.min_isr`."""
        return sum(partition.is_under_min_isr for partition in tuple(self.all))

    @property
    def offline(self) -> Collection[TopicPartition]:
        """The partitions whose replicas lie in failed log directories."""
        return self._offline

    def get(self, topic_partition: TopicPartition) -> HostedPartition | None:
        """Return the partition, or None if no replica of it is online here."""
        return self._partitions.get(topic_partition)

    def led(
        self, topic_partition: TopicPartition, current_leader_epoch: LeaderEpoch
    ) -> HostedPartition | ErrorCode:
        """Return the partition if this broker leads it in ``current_leader_epoch``, else the error."""
        return self._judged(topic_partition, current_leader_epoch, from_follower=False)

    def readable(
        self, topic_partition: TopicPartition, current_leader_epoch: LeaderEpoch
    ) -> HostedPartition | ErrorCode:
        """Return the partition also if this broker follows: consumers may read there from Fetch 11 on."""
        return self._judged(topic_partition, current_leader_epoch, from_follower=True)

    def _judged(
        self, topic_partition: TopicPartition, current_leader_epoch: LeaderEpoch, *, from_follower: bool
    ) -> HostedPartition | ErrorCode:
        partition = self._partitions.get(topic_partition)
        if partition is None:
            return self.absence(topic_partition)
        error = partition.replica.judge_epoch(current_leader_epoch, from_follower=from_follower)
        return partition if error is ErrorCode.NONE else error

    def absence(self, topic_partition: TopicPartition) -> ErrorCode:
        """Return the error for a partition that ``get`` does not find."""
        if topic_partition in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._metadata.partition(topic_partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def is_of_other_topic(
        self, topic_partition: TopicPartition, expectation: LogExpectation, identity: TopicIdentity | None
    ) -> bool:
        """Return whether the partition is hosted with a stray log, of another topic of the name."""
        if topic_partition not in self._partitions:
            return False
        return self._owner(topic_partition, expectation, identity) is LogOwner.OTHER

    def identify(self, topic_partition: TopicPartition, identity: TopicIdentity | None) -> None:
        """Record that the log belongs to the topic ``identity``, unless it belongs to another.

        Raises:
            KafkaStorageError: The disk refused.
        """
        log = self.logs.get(topic_partition)
        if log is not None and identity is not None and (log.topic is None or not log.topic.denies(identity)):
            log.identify(identity)

    def host(
        self,
        topic_partition: TopicPartition,
        expectation: LogExpectation = LogExpectation.OPTIONAL,
        identity: TopicIdentity | None = None,
    ) -> HostedPartition:
        """Return the partition; if it was not hosted, host it with its log on disk, or an empty one.

        Args:
            topic_partition: The partition.
            expectation: What the controller's request says of its log; a stray is put aside.
            identity: The topic, if it is known; the log of another topic is a stray.

        Raises:
            MissingLogError: There is no log, though the replica must have one.
            OtherTopicsLogError: The log belongs to another topic, and the replica leads or is in sync.
            KafkaStorageError: The log cannot be created, or may lie in an offline directory.
        """
        if self.is_of_other_topic(topic_partition, expectation, identity):
            self.put_aside(topic_partition, ANOTHER_TOPIC)
        partition = self._partitions.get(topic_partition)
        if partition is None:
            self._settle_owner(topic_partition, expectation, identity)
            log = self.logs.get_or_create(
                topic_partition,
                is_new=expectation is LogExpectation.NEW,
                may_begin_empty=expectation is not LogExpectation.REQUIRED,
            )
            self.identify(topic_partition, identity)
            checkpointed = self.logs.high_watermark(topic_partition)
            replica = Replica(self.broker_id, topic_partition, self.settings.lag_time_max_ms, checkpointed)
            partition = self._partitions[topic_partition] = HostedPartition(replica, log)
            self.on_hosted()
        return partition

    def _settle_owner(
        self, topic_partition: TopicPartition, expectation: LogExpectation, identity: TopicIdentity | None
    ) -> None:
        """Put the existing log aside if it is a stray, or refuse it.

        Raises:
            OtherTopicsLogError: It belongs to another topic, and the replica leads or is in sync.
            KafkaStorageError: It cannot be put aside.
        """
        owner = self._owner(topic_partition, expectation, identity)
        if expectation is LogExpectation.NEW:
            self.logs.put_aside(topic_partition, "the partition is new")
        elif owner is LogOwner.OTHER:
            self.logs.put_aside(topic_partition, ANOTHER_TOPIC)
        elif owner is LogOwner.OTHER_IN_SYNC and (log := self.logs.get(topic_partition)) is not None:
            raise OtherTopicsLogError(log.directory, topic_partition)

    def _owner(
        self, topic_partition: TopicPartition, expectation: LogExpectation, identity: TopicIdentity | None
    ) -> LogOwner:
        log = self.logs.get(topic_partition)
        return owner_of_log(None if log is None else log.topic, identity, expectation)

    def remove(self, topic_partition: TopicPartition, *, delete: bool) -> None:
        """Stop hosting the partition; with ``delete`` its log is deleted, even if it was not hosted."""
        partition = self._partitions.pop(topic_partition, None)
        if delete and self.logs.get(topic_partition) is not None:
            self.logs.delete(topic_partition)
        if partition is not None:
            self.leadership_changed(partition)

    def put_aside(self, topic_partition: TopicPartition, because: str) -> None:
        """Stop hosting the partition, and put its log aside as a stray ``because``.

        Raises:
            KafkaStorageError: The disk refused.
        """
        partition = self._partitions.pop(topic_partition, None)
        self.logs.put_aside(topic_partition, because)
        if partition is not None:
            self.leadership_changed(partition)

    def grew(self, partition: HostedPartition) -> None:
        """Notify sessions and purgatories that the leader's log of ``partition`` has grown."""
        for feed in partition.feeds.values():
            feed.data_appended(partition.topic_partition)
        if partition.replica.appended(partition.log.log_end_offset, monotonic_ms()):
            self.high_watermark_rose(partition)

    def high_watermark_rose(self, partition: HostedPartition) -> None:
        """Notify sessions and purgatories that the leader's high watermark of ``partition`` has risen."""
        topic_partition = partition.topic_partition
        for feed in partition.feeds.values():
            feed.high_watermark_rose(topic_partition)
        self.produces.check_and_complete(topic_partition)
        self.fetches.check_and_complete(topic_partition)

    def follower_may_give_more(self, topic_partition: TopicPartition) -> None:
        """Serve consumers that wait for a follower whose high watermark or log has changed."""
        self.fetches.check_and_complete(topic_partition)

    def preferred_replica(self, partition: HostedPartition, rack: str, offset: Offset) -> BrokerId | None:
        """Return the live follower that a consumer in ``rack`` should read from, if there is one."""
        if self.settings.replica_selector_class != RACK_AWARE or not partition.replica.is_leader:
            return None
        followers = [
            each
            for each in partition.replica.views(self._rack, monotonic_ms())
            if self._metadata.broker(each.broker_id) is not None
        ]
        return rack_aware(followers, self._rack(self.broker_id), rack, offset)

    def _rack(self, broker_id: BrokerId) -> str | None:
        broker = self._metadata.broker(broker_id)
        return None if broker is None else broker.rack

    def log_start_rose(self, partition: HostedPartition) -> None:
        """Notify sessions and purgatories that the log start of ``partition`` has risen."""
        for feed in partition.feeds.values():
            feed.log_start_rose(partition.topic_partition)
        self.fetches.check_and_complete(partition.topic_partition)

    def low_watermark(self, partition: HostedPartition) -> Offset:
        """Return the lowest log start offset of this leader and its live followers; -1 if one is unknown."""
        return partition.replica.low_watermark(
            partition.log.log_start_offset, lambda follower: self._metadata.broker(follower) is not None
        )

    def leadership_changed(self, partition: HostedPartition) -> None:
        """Notify sessions and purgatories that role, leader epoch or host of ``partition`` has changed."""
        topic_partition = partition.topic_partition
        for feed in tuple(partition.feeds.values()):
            feed.leadership_changed(topic_partition)
        self.produces.check_and_complete(topic_partition)
        self.deletes.check_and_complete(topic_partition)
        self.fetches.check_and_complete(topic_partition)
        self.on_leadership_changed(topic_partition)

    def disk_failed(self, error: KafkaStorageError) -> None:
        """Take the log directory in ``error`` offline, with all its partitions; the others stay in use.

        Every failure is reported here; only the first of a directory counts. A log that is missing, or whose
        name is not allowed, is a failure of its partition alone. Too many open files, or a log or a file that
        this broker has closed, are no failures of a disk.
        """
        if isinstance(error, MovedLogError | ClosedLogError | ClosedFileError):
            return  # a reader that tries again finds what took its place, or no partition
        if isinstance(error, NoDescriptorError):
            if LINES.allow("too many open files"):
                _log.error("too many open files", error=str(error))
            return
        if isinstance(error, PartitionWithoutLogError):
            _log.error("partition without a log", partition=str(error.topic_partition), error=str(error))
            return
        gone = self.logs.fail(error.log_dir, str(error))
        if error.log_dir in self._failed_directories:
            return
        self._failed_directories.add(error.log_dir)
        _log.error(
            "log directory taken offline",
            directory=str(error.log_dir),
            error=str(error),
            partitions=len(gone),
        )
        for topic_partition in gone:
            self._offline.add(topic_partition)
            partition = self._partitions.pop(topic_partition, None)
            if partition is not None:
                self.leadership_changed(partition)
        self.on_directory_failed(gone)

    def checkpoint_high_watermarks(self) -> None:
        """Submit a write of the high watermark of each partition."""
        self.logs.checkpoint_high_watermarks(
            {name: partition.replica.high_watermark for name, partition in self._partitions.items()}
        )

"""The leader's side of replication: the fetch session of one follower.

A session keeps the fetch state of each partition, so a request has only the partitions that changed. It holds
an answer back while there is nothing to send, and its partitions notify it of changes; the hold is a delayed
operation in the fetch purgatory.
Source: KIP-227 (incremental fetch sessions), KIP-595 (truncation on fetch); Kafka's
``Partition.updateFollowerFetchState`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.core.quotas.replication_quota import ReplicationQuota, is_throttled
from barnabas.broker.core.replication.divergence import Agreement, agreement
from barnabas.broker.core.replication.isr import SessionContact
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.results import OffsetOutOfRange
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

OnFollowerMayJoin = Callable[[HostedPartition, BrokerId], None]
"""The function called when a follower has caught up with a partition led here and is not in its ISR."""

OnFollowerMustLeave = Callable[[HostedPartition], None]
"""The function called when an ISR member of a partition led here has lost committed records."""


class FetchedPartition:
    """The fetch state of one partition in a session.

    Attributes:
        offset: The follower's log end offset.
        current_leader_epoch: The leader epoch in which the follower fetches.
        last_fetched_epoch: The epoch of the follower's last record, or -1.
        log_start_offset: The follower's.
        max_bytes: The most bytes of it in one answer.
        fetch_id: The follower's number of its fetch; each answer repeats it.
        sent: Whether records from ``offset`` on were sent: nothing more is sent until the follower fetches
            the partition again.
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_id",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "offset",
        "sent",
    )

    def __init__(self, asked: pb.FetchPartition) -> None:
        self.offset = Offset(asked.fetch_offset)
        self.current_leader_epoch = LeaderEpoch(asked.current_leader_epoch)
        self.last_fetched_epoch = LeaderEpoch(asked.last_fetched_epoch)
        self.log_start_offset = Offset(asked.log_start_offset)
        self.max_bytes = asked.max_bytes
        self.fetch_id = asked.fetch_id
        self.sent = False


class FetchSession:
    """One follower's fetch session, which its partitions notify of changes (a ``hosted.Feed``).

    Attributes:
        replica_id: The follower.
        is_closed: Whether the session has ended.
    """

    def __init__(
        self,
        replica_id: BrokerId,
        hosted: HostedPartitions,
        on_may_join: OnFollowerMayJoin,
        on_must_leave: OnFollowerMustLeave = lambda _: None,
    ) -> None:
        self.replica_id = replica_id
        self.is_closed = False
        self._hosted = hosted
        self._on_may_join = on_may_join
        self._on_must_leave = on_must_leave
        self._contact = SessionContact(monotonic_ms())
        self._partitions: dict[TopicPartition, FetchedPartition] = {}
        # Both are ordered sets: the partition that has waited longest is sent first.
        self._ready: dict[TopicPartition, None] = {}
        self._updated: dict[TopicPartition, None] = {}
        self._refused: dict[TopicPartition, pb.PartitionData] = {}

    # Notifications of the partitions.

    def data_appended(self, topic_partition: TopicPartition) -> None:
        """Note that the leader's log has grown: there are records to send after the last answer."""
        if not self._partitions[topic_partition].sent:
            self._ready[topic_partition] = None
            self._hosted.fetches.check_and_complete(self)

    def high_watermark_rose(self, topic_partition: TopicPartition) -> None:
        """Note that the high watermark rose; the next answer has it.

        It is sent for that alone only if consumers may read from followers: in Kafka they wait there for
        ``replica.fetch.wait.max.ms``.
        """
        self._updated[topic_partition] = None
        if self._hosted.settings.replica_selector_class is not None:
            self._hosted.fetches.check_and_complete(self)

    def log_start_rose(self, topic_partition: TopicPartition) -> None:
        """Note that the log start rose; the next answer has it."""
        self._updated[topic_partition] = None

    def leadership_changed(self, topic_partition: TopicPartition) -> None:
        """Check epoch and leader of the partition again: the follower may need an error."""
        self._judge(topic_partition, self._partitions[topic_partition])
        self._hosted.fetches.check_and_complete(self)

    # Requests of the follower.

    def take(self, request: pb.FetchRequest) -> None:
        """Process a request: its partitions, and the session's contact time, which counts for all others."""
        self._contact.at_ms = monotonic_ms()
        for gone in request.forgotten:
            self._forget(TopicPartition(gone.topic, gone.partition))
        for moved in request.log_starts:
            self._follower_log_starts(TopicPartition(moved.topic, moved.partition), moved.log_start_offset)
        for asked in request.partitions:
            topic_partition = TopicPartition(asked.topic, asked.partition)
            known = self._partitions.get(topic_partition)
            fetched = self._partitions[topic_partition] = FetchedPartition(asked)
            # A partition that is fetched again goes to the end of the queue.
            self._ready.pop(topic_partition, None)
            self._refused.pop(topic_partition, None)
            is_new = known is None or known.current_leader_epoch != fetched.current_leader_epoch
            partition = self._hosted.get(topic_partition)
            if partition and known and not is_new and known.sent and known.offset == fetched.offset:
                self._hosted.on_refetch(partition, fetched.offset)
            self._judge(topic_partition, fetched, is_new=is_new)

    def _judge(
        self, topic_partition: TopicPartition, fetched: FetchedPartition, *, is_new: bool = False
    ) -> None:
        """Record a valid fetch of a partition; prepare the error of an invalid one."""
        partition = self._hosted.led(topic_partition, fetched.current_leader_epoch)
        if isinstance(partition, ErrorCode):
            self._refuse(topic_partition, fetched, partition)
            return
        remote = partition.replica.remote(self.replica_id)
        if remote is None:
            # The broker is no replica here yet: this leader has not received the newer LeaderAndIsr.
            self._refuse(topic_partition, fetched, ErrorCode.UNKNOWN_LEADER_EPOCH)
            return
        log = partition.log
        log_end_offset = log.log_end_offset
        leader_end = log.end_offset_for(fetched.last_fetched_epoch)
        match agreement(
            leader_end, fetched.last_fetched_epoch, fetched.offset, log.log_start_offset, log_end_offset
        ):
            case Agreement.DIVERGES:
                data = self._about(topic_partition, fetched, partition)
                data.diverging_epoch.epoch = leader_end.epoch
                data.diverging_epoch.end_offset = leader_end.end_offset
                self._detach(topic_partition)
                self._refused[topic_partition] = data
                return
            case Agreement.OUT_OF_RANGE:
                self._refuse(topic_partition, fetched, ErrorCode.OFFSET_OUT_OF_RANGE)
                return
            case Agreement.AGREES if not partition.replica.may_have(self.replica_id, fetched.offset):
                self._refuse(topic_partition, fetched, ErrorCode.OFFSET_OUT_OF_RANGE)
                return
            case Agreement.AGREES:
                pass
        partition.feeds[self.replica_id] = self
        if fetched.offset < log_end_offset:
            self._ready[topic_partition] = None
        elif is_new and fetched.offset > log.log_start_offset:
            # No records are sent that would carry the high watermark, and the follower's may lag behind.
            self._updated[topic_partition] = None
        outcome = partition.replica.follower_fetched(
            self.replica_id,
            fetched.offset,
            log_start_offset=fetched.log_start_offset,
            log_end_offset=log_end_offset,
            now_ms=self._contact.at_ms,
            session=self._contact,
        )
        self._hosted.deletes.check_and_complete(topic_partition)
        if outcome.high_watermark_rose:
            self._hosted.high_watermark_rose(partition)
        if outcome.may_join:
            self._on_may_join(partition, self.replica_id)
        if outcome.must_leave:
            self._on_must_leave(partition)

    def _follower_log_starts(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """Note the follower's log start, in the epoch in which it fetches the partition."""
        fetched = self._partitions.get(topic_partition)
        if fetched is None:
            return
        partition = self._hosted.led(topic_partition, fetched.current_leader_epoch)
        if not isinstance(partition, ErrorCode):
            fetched.log_start_offset = Offset(log_start_offset)
            partition.replica.follower_log_starts(self.replica_id, fetched.log_start_offset)
            self._hosted.deletes.check_and_complete(topic_partition)

    def _refuse(self, topic_partition: TopicPartition, fetched: FetchedPartition, error: ErrorCode) -> None:
        self._detach(topic_partition)
        data = self._about(topic_partition, fetched, self._hosted.get(topic_partition))
        data.error_code = error
        self._refused[topic_partition] = data

    def _forget(self, topic_partition: TopicPartition) -> None:
        self._detach(topic_partition)
        self._refused.pop(topic_partition, None)

    def _detach(self, topic_partition: TopicPartition) -> None:
        """Drop the partition from the session until the follower fetches it again."""
        self._partitions.pop(topic_partition, None)
        self._ready.pop(topic_partition, None)
        self._updated.pop(topic_partition, None)
        partition = self._hosted.get(topic_partition)
        if partition is not None:
            partition.replica.session_ended(self.replica_id, self._contact)
            if partition.feeds.get(self.replica_id) is self:
                del partition.feeds[self.replica_id]

    # Answers of the session.

    def has_enough(self, min_bytes: int) -> bool:
        """Return whether an answer is due: an error, or ``min_bytes`` to send over all partitions."""
        if self._refused or self.is_closed or min_bytes <= 0:
            return True
        if self._updated and self._hosted.settings.replica_selector_class is not None:
            return True
        if min_bytes == 1 and not self._throttle.is_exceeded(monotonic_ms()):
            return bool(self._ready)
        available = 0
        for topic_partition in self._ready:
            partition = self._hosted.get(topic_partition)
            if partition is not None and not self._is_held_back(partition):
                fetched = self._partitions[topic_partition]
                try:
                    available += partition.log.bytes_between(fetched.offset, partition.log.log_end_offset)
                except KafkaStorageError as error:
                    self._hosted.disk_failed(error)
                    return True
                if available >= min_bytes:
                    return True
        return False

    def answer(self, max_bytes: int) -> pb.FetchResponse:
        """Build the answer, with at most ``max_bytes`` of records, or with one larger batch."""
        response = pb.FetchResponse()
        remaining = max_bytes
        for topic_partition in tuple(self._ready):
            # A failed disk under an earlier partition may have removed this one.
            if topic_partition in self._ready and not self._waits(topic_partition):
                sent = self._add_records(
                    response, topic_partition, remaining, at_least_one=remaining == max_bytes
                )
                remaining -= sent
                if remaining <= 0 or topic_partition in self._ready:
                    break
        for topic_partition in self._updated:
            partition = self._hosted.get(topic_partition)
            if partition is not None:
                fetched = self._partitions[topic_partition]
                response.partitions.append(self._about(topic_partition, fetched, partition))
        self._updated.clear()
        refused, self._refused = self._refused, {}
        response.partitions.extend(refused.values())
        return response

    @property
    def _throttle(self) -> ReplicationQuota:
        return self._hosted.throttles.leader

    def _waits(self, topic_partition: TopicPartition) -> bool:
        partition = self._hosted.get(topic_partition)
        return partition is not None and self._is_held_back(partition)

    def _is_held_back(self, partition: HostedPartition) -> bool:
        """Return whether the follower must wait: it is not in sync, throttled, and the rate is exceeded.

        Source: ``ReplicaManager.shouldLeaderThrottle``.
        """
        return (
            self.replica_id not in partition.replica.isr
            and self._is_throttled(partition)
            and self._throttle.is_exceeded(monotonic_ms())
        )

    def _is_throttled(self, partition: HostedPartition) -> bool:
        replicas = partition.log.config.leader_replication_throttled_replicas
        return is_throttled(replicas, partition.topic_partition.partition, self._hosted.broker_id)

    def _add_records(
        self, response: pb.FetchResponse, topic_partition: TopicPartition, room: int, *, at_least_one: bool
    ) -> int:
        """Add the records of a partition that is ready; it stays ready if not one batch fits.

        Returns:
            The bytes added.
        """
        fetched = self._partitions[topic_partition]
        partition = self._hosted.get(topic_partition)
        if partition is None:
            self._refuse(topic_partition, fetched, self._hosted.absence(topic_partition))
            return 0
        limit = min(room, fetched.max_bytes)
        log = partition.log
        try:
            found = log.read(fetched.offset, limit, log.log_end_offset, min_one_batch=at_least_one)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)  # the copy checks this partition again, too
            return 0
        except CorruptLogError as error:
            self._hosted.on_corrupt(partition, error)
            self._refuse(topic_partition, fetched, error.error)
            return 0
        if isinstance(found, OffsetOutOfRange):
            self._refuse(topic_partition, fetched, ErrorCode.OFFSET_OUT_OF_RANGE)
            return 0
        if not found.records:
            return 0
        fetched.sent = True
        self._hosted.traffic.replication_bytes_out += len(found.records)
        if self._is_throttled(partition):
            self._throttle.rate.record(len(found.records), monotonic_ms())
        partition.replica.sent(self.replica_id, found.next_offset)
        self._ready.pop(topic_partition, None)
        self._updated.pop(topic_partition, None)
        response.partitions.append(self._about(topic_partition, fetched, partition))
        response.partitions[-1].gaps_end = log.compaction.gaps_end
        # Set last: `append` copies the content of a message.
        response.partitions[-1].records = found.records
        return len(found.records)

    @staticmethod
    def _about(
        topic_partition: TopicPartition, fetched: FetchedPartition, partition: HostedPartition | None
    ) -> pb.PartitionData:
        """Build the answer about a partition, with the state of its log."""
        data = pb.PartitionData(
            topic=topic_partition.topic,
            partition=topic_partition.partition,
            leader_epoch=fetched.current_leader_epoch,
            fetch_id=fetched.fetch_id,
            fetch_offset=fetched.offset,
        )
        if partition is not None:
            data.high_watermark = partition.replica.high_watermark
            data.log_start_offset = partition.log.log_start_offset
            data.log_end_offset = partition.log.log_end_offset
        return data

    def close(self) -> None:
        """End the session: its stream has ended, or the follower opened another."""
        self.is_closed = True
        for topic_partition in tuple(self._partitions):
            self._detach(topic_partition)

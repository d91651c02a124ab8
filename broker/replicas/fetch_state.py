"""The fetch state of the partitions that this broker fetches from one leader.

This is the follower's side of a fetch session, without its stream.
Source: Kafka's ``AbstractFetcherThread`` and ``ReplicaFetcherThread`` of release 2.8, incremental sessions
(KIP-227), truncation on fetch (KIP-595).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping

import structlog

from barnabas.broker.core.quotas.replication_quota import is_throttled
from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.core.replication.follower_fetch import (
    FetchOn,
    Reaction,
    StartOver,
    Truncate,
    cut_on_divergence,
    on_offset_out_of_range,
    reaction,
)
from barnabas.broker.core.replication.leader_epochs import EpochEndOffset
from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, BrokerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

_log = structlog.get_logger(__name__)

FIRST_BACK_OFF_MS = 50
"""The pause in milliseconds after a first error; it doubles up to ``replica.fetch.backoff.ms``.

Usually a new leader has not received its LeaderAndIsr yet. With Kafka's constant second, every creation of a
topic whose follower received its LeaderAndIsr first would wait that long.
"""


class FetchState:
    """The partitions fetched from one leader.

    Args:
        hosted: This broker's partitions.
        broker_epoch: Returns the epoch of this broker's registration.
        on_due: Called when the next request should be sent without waiting for an answer.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        broker_epoch: Callable[[], BrokerEpoch],
        on_due: Callable[[], None],
    ) -> None:
        self._hosted = hosted
        self._settings = hosted.settings
        self._broker_epoch = broker_epoch
        self._on_due = on_due
        self._epochs: dict[TopicPartition, LeaderEpoch] = {}
        self._fetch_ids: dict[TopicPartition, int] = {}
        """The number of the last ``add`` of each partition.

        An answer with an older number may concern a former topic of the name.
        """
        self._next_fetch_id = itertools.count(1)
        # Ordered sets of what the next request contains.
        self._named: dict[TopicPartition, None] = {}
        self._forgotten: dict[TopicPartition, None] = {}
        self._moved: dict[TopicPartition, None] = {}
        self._sent_starts: dict[TopicPartition, Offset] = {}
        """The log start offset last sent to the leader, per partition."""
        self._lags: dict[TopicPartition, int] = {}
        """The records up to the leader's high watermark that were still missing after its last answer."""
        self._backing_off: dict[TopicPartition, asyncio.TimerHandle] = {}
        self._wait_ms: dict[TopicPartition, int] = {}
        """The pause in milliseconds after the next error, for partitions whose last answer was an error."""

    @property
    def epochs(self) -> Mapping[TopicPartition, LeaderEpoch]:
        """The partitions fetched from this leader, each with its leader epoch."""
        return self._epochs

    @property
    def max_lag(self) -> int:
        """The most records that a partition lacks up to its leader's high watermark (``FetcherLagStats``)."""
        return max(tuple(self._lags.values()), default=0)

    @property
    def has_changes(self) -> bool:
        """Return whether the next request has a partition, as after each append."""
        return bool(self._named or self._moved)

    def add(self, topic_partition: TopicPartition, leader_epoch: LeaderEpoch) -> None:
        """Fetch this partition from the end of its log; the request is sent at once."""
        self._epochs[topic_partition] = leader_epoch
        self._fetch_ids[topic_partition] = next(self._next_fetch_id)
        self._wait_ms.pop(topic_partition, None)
        self._forgotten.pop(topic_partition, None)
        self._name(topic_partition)
        self._on_due()

    def remove(self, topic_partition: TopicPartition) -> None:
        """Stop fetching this partition; answers about it that are still to come are ignored."""
        if self._epochs.pop(topic_partition, None) is not None:
            del self._fetch_ids[topic_partition]
            self._named.pop(topic_partition, None)
            self._moved.pop(topic_partition, None)
            self._sent_starts.pop(topic_partition, None)
            self._lags.pop(topic_partition, None)
            self._wait_ms.pop(topic_partition, None)
            self._stop_backing_off(topic_partition)
            self._forgotten[topic_partition] = None

    def _name(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        self._named.pop(topic_partition, None)
        self._named[topic_partition] = None

    def _back_off(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        longest_ms = self._settings.fetch_backoff_ms
        wait_ms = min(self._wait_ms.get(topic_partition, FIRST_BACK_OFF_MS), longest_ms)
        self._wait_ms[topic_partition] = 2 * wait_ms
        self._backing_off[topic_partition] = asyncio.get_running_loop().call_later(
            wait_ms / 1000, self._retry, topic_partition
        )

    def _retry(self, topic_partition: TopicPartition) -> None:
        self._name(topic_partition)
        self._on_due()

    def _stop_backing_off(self, topic_partition: TopicPartition) -> None:
        timer = self._backing_off.pop(topic_partition, None)
        if timer is not None:
            timer.cancel()

    def begin_session(self) -> None:
        """Put every partition into the next request, which begins a session."""
        self._forgotten.clear()
        for topic_partition in self._epochs:
            self._name(topic_partition)

    def close(self) -> None:
        """Cancel all pauses after errors."""
        for topic_partition in tuple(self._backing_off):
            self._stop_backing_off(topic_partition)

    def next_request(self) -> pb.FetchRequest:
        """Build the next request: fetch offsets, log starts and removed partitions, as far as changed."""
        settings = self._settings
        request = pb.FetchRequest(
            replica_id=self._hosted.broker_id,
            broker_epoch=self._broker_epoch(),
            max_wait_ms=settings.fetch_wait_max_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_response_max_bytes,
        )
        for topic, number in self._forgotten:
            request.forgotten.add(topic=topic, partition=number)
        self._forgotten.clear()
        for topic_partition in self._named:
            partition = self._hosted.get(topic_partition)
            if partition is not None:
                log = partition.log
                self._sent_starts[topic_partition] = log.log_start_offset
                self._moved.pop(topic_partition, None)
                latest_epoch = log.latest_epoch
                request.partitions.add(
                    topic=topic_partition.topic,
                    partition=topic_partition.partition,
                    current_leader_epoch=self._epochs[topic_partition],
                    fetch_offset=log.log_end_offset,
                    last_fetched_epoch=UNKNOWN_LEADER_EPOCH if latest_epoch is None else latest_epoch,
                    log_start_offset=log.log_start_offset,
                    max_bytes=settings.fetch_max_bytes,
                    fetch_id=self._fetch_ids[topic_partition],
                )
        self._named.clear()
        for topic_partition in self._moved:
            partition = self._hosted.get(topic_partition)
            if partition is not None:
                start = self._sent_starts[topic_partition] = partition.log.log_start_offset
                request.log_starts.add(
                    topic=topic_partition.topic, partition=topic_partition.partition, log_start_offset=start
                )
        self._moved.clear()
        return request

    def take(self, data: pb.PartitionData) -> None:
        """Process the leader's answer about one partition.

        An answer with another fetch id, or of another leader epoch, is dropped. With the same epoch it may
        concern a former topic of this name, which was deleted while the answer was delayed.
        """
        topic_partition = TopicPartition(data.topic, data.partition)
        epoch = self._epochs.get(topic_partition)
        partition = self._hosted.get(topic_partition)
        if epoch is None or partition is None or epoch != data.leader_epoch:
            return
        if data.fetch_id != self._fetch_ids[topic_partition]:
            return
        try:
            if data.error_code:
                self._react(partition, data, ErrorCode.from_code(data.error_code))
            elif data.HasField("diverging_epoch"):
                self._truncate_diverging(partition, data.diverging_epoch)
            else:
                self._append(partition, data)
        except NoDescriptorError as error:
            self._hosted.disk_failed(error)
            self._back_off(topic_partition)
        except KafkaStorageError as error:
            self.remove(topic_partition)
            self._hosted.disk_failed(error)

    def _append(self, partition: HostedPartition, data: pb.PartitionData) -> None:
        log = partition.log
        records = data.records  # each access to a message's field copies it
        if records:
            if data.fetch_offset != log.log_end_offset:
                _log.error(
                    "fetched records dropped: they were asked for at another offset",
                    partition=str(partition.topic_partition),
                    fetch_offset=data.fetch_offset,
                    log_end_offset=log.log_end_offset,
                )
                self._name(partition.topic_partition)
                return
            gaps_end = Offset(data.gaps_end) if data.HasField("gaps_end") else None
            info = log.append_as_follower(records, gaps_end)
            if isinstance(info, Refusal):
                _log.error(
                    "fetched batch refused", partition=str(partition.topic_partition), reason=str(info)
                )
                self._back_off(partition.topic_partition)
                return
            self._hosted.traffic.replication_bytes_in += len(records)
            self._fetch_on(partition, data, len(records))
        self._wait_ms.pop(partition.topic_partition, None)
        if data.log_start_offset > log.log_start_offset:
            log.raise_log_start(Offset(min(data.log_start_offset, log.log_end_offset)))
        if log.log_start_offset > self._sent_starts.get(partition.topic_partition, log.log_start_offset):
            self._moved[partition.topic_partition] = None
        self._lags[partition.topic_partition] = max(0, data.high_watermark - log.log_end_offset)
        before = partition.replica.high_watermark
        partition.replica.follow_high_watermark(
            Offset(data.high_watermark), log.log_start_offset, log.log_end_offset
        )
        log.forget_replicated(partition.replica.high_watermark)
        if partition.replica.high_watermark > before:
            self._hosted.follower_may_give_more(partition.topic_partition)

    def _fetch_on(self, partition: HostedPartition, data: pb.PartitionData, size: int) -> None:
        """Fetch what follows: at once, or after a pause if the follower lags and is throttled.

        Source: ``ReplicaFetcherThread.shouldFollowerThrottle`` of Kafka 2.8.
        """
        topic_partition, log = partition.topic_partition, partition.log
        quota = self._hosted.throttles.follower
        replicas = log.config.follower_replication_throttled_replicas
        if not is_throttled(replicas, topic_partition.partition, self._hosted.broker_id):
            self._name(topic_partition)
            return
        now_ms = monotonic_ms()
        quota.rate.record(size, now_ms)
        if data.high_watermark <= log.log_end_offset or not quota.is_exceeded(now_ms):
            self._name(topic_partition)
            return
        self._stop_backing_off(topic_partition)
        self._backing_off[topic_partition] = asyncio.get_running_loop().call_later(
            quota.wait_ms(now_ms) / 1000, self._fetch_if_allowed, topic_partition
        )

    def _fetch_if_allowed(self, topic_partition: TopicPartition) -> None:
        quota, now_ms = self._hosted.throttles.follower, monotonic_ms()
        if quota.is_exceeded(now_ms):
            self._backing_off[topic_partition] = asyncio.get_running_loop().call_later(
                quota.wait_ms(now_ms) / 1000, self._fetch_if_allowed, topic_partition
            )
        else:
            self._retry(topic_partition)

    def _truncate_diverging(self, partition: HostedPartition, leader_end: pb.EpochEndOffset) -> None:
        log = partition.log
        theirs = EpochEndOffset(LeaderEpoch(leader_end.epoch), Offset(leader_end.end_offset))
        ours = log.end_offset_for(theirs.epoch)
        offset = cut_on_divergence(theirs, ours, log.log_end_offset, partition.replica.high_watermark)
        _log.info(
            "truncating to agree with the leader",
            partition=str(partition.topic_partition),
            leader_end=str(theirs),
            log_end_offset=log.log_end_offset,
            offset=offset,
        )
        self._truncate(partition, offset)

    def _truncate(self, partition: HostedPartition, offset: Offset) -> None:
        partition.log.truncate_to(offset)
        partition.replica.truncated(partition.log.log_start_offset, partition.log.log_end_offset)
        self._hosted.follower_may_give_more(partition.topic_partition)
        self._name(partition.topic_partition)

    def _react(self, partition: HostedPartition, data: pb.PartitionData, error: ErrorCode) -> None:
        match reaction(error):
            case Reaction.FIND_RANGE:
                self._find_range(partition, data)
            case Reaction.BACK_OFF:
                self._back_off(partition.topic_partition)

    def _find_range(self, partition: HostedPartition, data: pb.PartitionData) -> None:
        log = partition.log
        leader_start, leader_end = Offset(data.log_start_offset), Offset(data.log_end_offset)
        decision = on_offset_out_of_range(log.log_end_offset, leader_start, leader_end)
        _log.warning(
            "fetch offset out of the leader's range",
            partition=str(partition.topic_partition),
            log_end_offset=log.log_end_offset,
            leader_start=leader_start,
            leader_end=leader_end,
            decision=str(decision),
        )
        match decision:
            case Truncate(offset):
                self._truncate(partition, offset)
            case StartOver(offset):
                log.truncate_fully_and_start_at(offset)
                partition.replica.truncated(log.log_start_offset, log.log_end_offset)
                self._hosted.follower_may_give_more(partition.topic_partition)
                self._name(partition.topic_partition)
            case FetchOn():
                # Nothing is truncated: the leader's log has changed in the meantime, or the leader does not
                # know our epoch.
                self._back_off(partition.topic_partition)

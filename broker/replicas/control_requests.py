"""The handling of the controller's requests: LeaderAndIsr, UpdateMetadata and StopReplica.

One request is handled at a time, whichever controller sent it, so that nobody sees half of one; between
partitions the event loop runs other work.
Source: Kafka's ``ReplicaManager.becomeLeaderOrFollower``, ``stopReplicas`` and ``maybeUpdateMetadataCache``
of release 2.8, whose log lines these are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import starmap

import structlog

from barnabas.broker.core.full_list import FullList
from barnabas.broker.core.metadata_cache import MetadataCache, MetadataChange
from barnabas.broker.core.replication.control_gate import (
    ControlGate,
    LeadershipVerdict,
    StaleBrokerEpoch,
    StopVerdict,
    judge_leadership,
    judge_stop,
)
from barnabas.broker.core.replication.follower_fetch import cut_on_becoming_follower
from barnabas.broker.core.replication.log_expectation import expected_log
from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.replicas.followed_partitions import FollowedPartitions
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.broker.replicas.name_flush import flush_names
from barnabas.broker.replicas.replica_fetchers import ReplicaFetchers
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange import BrokerLines, RequestLines, StateChange
from barnabas.cluster.runtime.collector import MANY_PARTITIONS, long_lived
from barnabas.cluster.runtime.turn import Turn, paced

_log = structlog.get_logger(__name__)

Write = Callable[[StateChange], None]
"""The function that writes a line of state-change.log."""


@dataclass(frozen=True, slots=True)
class _Handling:
    """The state of a LeaderAndIsr request while it is handled.

    Attributes:
        request: The request.
        lines: Its lines for state-change.log.
        errors: The answer, by partition.
        turn: Limits how long the event loop is kept.
    """

    request: LeaderAndIsrRequest
    lines: RequestLines
    errors: dict[TopicPartition, ErrorCode]
    turn: Turn


class ControlRequests:
    """The handler of LeaderAndIsr, StopReplica and UpdateMetadata.

    Attributes:
        orders: Held while a request is handled.
        on_full: Called with all partitions that this broker hosts, whenever the controller sends the full
            list.

    Args:
        hosted: This broker's partitions.
        metadata: This broker's copy of the cluster's metadata.
        gate: Judges the epochs of each request.
        fetchers: Fetch the partitions that this broker follows.
        write: Writes state-change.log.
        on_metadata: Called with each change of ``metadata``.
        prepare: Awaited before a LeaderAndIsr is handled, to read the settings of its logs. Returns
            None, or why they cannot be read before the controller sends its state again.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        metadata: MetadataCache,
        gate: ControlGate,
        fetchers: ReplicaFetchers,
        *,
        write: Write,
        on_metadata: Callable[[MetadataChange], None],
        prepare: Callable[[LeaderAndIsrRequest], Awaitable[str | None]] | None = None,
    ) -> None:
        self._hosted = hosted
        self._metadata = metadata
        self._gate = gate
        self._followed = FollowedPartitions(hosted, metadata, fetchers)
        self._write = write
        self._on_metadata = on_metadata
        self._prepare = prepare
        self._lines = BrokerLines(hosted.broker_id)
        self.orders = asyncio.Lock()
        self.on_full: Callable[[Collection[TopicPartition]], None] = lambda _: None
        self._full = FullList()
        self._unnamed: set[TopicPartition] = set()
        """The partitions hosted when the controller last sent the full list, and missing from it."""

    def close(self) -> None:
        """Start no more fetches: this broker is shutting down."""
        self._followed.is_closed = True

    # LeaderAndIsr (Kafka's ``becomeLeaderOrFollower``).

    async def leader_and_isr(
        self, request: LeaderAndIsrRequest, correlation_id: int = 0
    ) -> LeaderAndIsrResponse:
        """Become leader or follower of the partitions in ``request``."""
        lines = self._request_lines(request.controller_id, request, correlation_id)
        # ZooKeeper may be silent: other requests, of a new controller too, must not wait for it.
        unprepared = None if self._prepare is None else await self._prepare(request)
        async with self._one_at_a_time(request):
            started = time.monotonic()
            refusal = self._gate.judge(request.controller_epoch, request.broker_epoch)
            if isinstance(refusal, StaleBrokerEpoch):
                return LeaderAndIsrResponse(refusal.error)
            self._write(lines.handling_leader_and_isr(len(request.partitions)))
            await self._write_each(map(lines.received_leader_and_isr, request.partitions))
            if refusal is None:
                errors = await self._carry_out(_Handling(request, lines, {}, Turn()), unprepared)
                response = LeaderAndIsrResponse(ErrorCode.NONE, errors)
                full_list = self._full.add(request, self._gate.broker_epoch)
                if full_list is not None:
                    self._unnamed = {each.topic_partition for each in self._hosted.all}.difference(full_list)
                    self.on_full(full_list)
            else:
                self._write(lines.stale_leader_and_isr(refusal.latest))
                response = LeaderAndIsrResponse(refusal.error)
            duration_ms = int((time.monotonic() - started) * 1000)
            self._write(lines.finished_leader_and_isr(duration_ms, len(request.partitions)))
        # The disk may be slow, and other requests need not wait for it.
        await flush_names(self._hosted, response.partition_errors)
        return response

    async def _carry_out(
        self, handling: _Handling, unprepared: str | None
    ) -> dict[TopicPartition, ErrorCode]:
        admitted = [
            each async for each in paced(handling.request.partitions) if self._is_admitted(each, handling)
        ]
        own = self._hosted.broker_id
        leaders = [each for each in admitted if each.state.leader_and_isr.leader == own]
        followers = [each for each in admitted if each.state.leader_and_isr.leader != own]
        if unprepared is not None:
            skips = [(each, self._lines.make_leader_failed) for each in leaders]
            skips += [(each, self._lines.make_follower_failed) for each in followers]
            for each, skip in skips:
                self._write(skip(each.topic_partition, each.state.leader_and_isr.leader_epoch, unprepared))
                # The controller must not consider a replica created that has no log yet.
                handling.errors[each.topic_partition] = ErrorCode.UNKNOWN_SERVER_ERROR
            return handling.errors
        if leaders:
            await self._make_leaders(leaders, handling)
        if followers:
            await self._make_followers(followers, handling)
        self._hosted.logs.checkpoint_removals()
        self._followed.end_idle()
        return handling.errors

    def _failed(self, topic_partition: TopicPartition, error: Exception, handling: _Handling) -> None:
        """Give up one partition after an unforeseen error; Kafka gives up the whole request.

        A lack of file descriptors is one, too: it is temporary, and no error of a disk. The controller sends
        a partition again that was answered with UNKNOWN_SERVER_ERROR; after KAFKA_STORAGE_ERROR it takes the
        replica for offline. The partition is no longer hosted, so that the leader epoch sent again is not
        refused as the current one.
        """
        if isinstance(error, NoDescriptorError):
            self._hosted.disk_failed(error)
        else:
            _log.exception("partition without leader and follower", partition=str(topic_partition))
        cause = f"{type(error).__name__}: {error}"
        self._write(handling.lines.failed_leader_and_isr(cause, topic_partition))
        handling.errors[topic_partition] = ErrorCode.UNKNOWN_SERVER_ERROR
        self._followed.stop((topic_partition,))
        self._hosted.remove(topic_partition, delete=False)

    def _is_admitted(self, partition: LeaderAndIsrPartition, handling: _Handling) -> bool:
        topic_partition, lines = partition.topic_partition, handling.lines
        requested = partition.state.leader_and_isr.leader_epoch
        if topic_partition in self._hosted.offline:
            self._write(lines.ignoring_offline_directory(topic_partition))
            handling.errors[topic_partition] = ErrorCode.KAFKA_STORAGE_ERROR
            return False
        if not self._put_former_aside(partition, handling):
            return False
        current = self._current_epoch(topic_partition)
        expectation = expected_log(partition, self._hosted.broker_id)
        if self._hosted.is_of_other_topic(topic_partition, expectation, partition.topic_identity):
            current = UNKNOWN_LEADER_EPOCH  # of the other topic, and not to be compared
        replicas = partition.assignment.replicas
        verdict = judge_leadership(requested, current, is_replica=self._hosted.broker_id in replicas)
        match verdict:
            case LeadershipVerdict.NOT_A_REPLICA:
                self._write(lines.ignoring_not_assigned(topic_partition, replicas))
            case LeadershipVerdict.STALE_LEADER_EPOCH:
                self._write(lines.ignoring_stale_epoch(topic_partition, requested, current))
            case LeadershipVerdict.SAME_LEADER_EPOCH:
                self._write(lines.ignoring_same_epoch(topic_partition, requested))
                self._identify(partition)
            case LeadershipVerdict.APPLY:
                pass
        handling.errors[topic_partition] = verdict.error
        return verdict is LeadershipVerdict.APPLY

    def _put_former_aside(self, partition: LeaderAndIsrPartition, handling: _Handling) -> bool:
        """Put aside the replica of a former topic of that name; return False if the disk refuses.

        ZooKeeper may lose a topic without a StopReplica to its replicas. Then the controller's full list
        lacks it, and what is created under its name later is another topic, whose leader epochs begin again.
        """
        topic_partition = partition.topic_partition
        is_unnamed = topic_partition in self._unnamed
        self._unnamed.discard(topic_partition)
        if is_unnamed and partition.is_new and self._hosted.get(topic_partition) is not None:
            self._followed.stop((topic_partition,))
            try:
                self._hosted.put_aside(topic_partition, "the topic was created again")
            except KafkaStorageError as error:
                self._hosted.disk_failed(error)
                handling.errors[topic_partition] = ErrorCode.KAFKA_STORAGE_ERROR
                return False
        return True

    def _identify(self, partition: LeaderAndIsrPartition) -> None:
        """Record the topic of a log that a controller of an older release did not send."""
        try:
            self._hosted.identify(partition.topic_partition, partition.topic_identity)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)

    def _host(self, partition: LeaderAndIsrPartition) -> HostedPartition:
        expectation = expected_log(partition, self._hosted.broker_id)
        return self._hosted.host(partition.topic_partition, expectation, partition.topic_identity)

    def _current_epoch(self, topic_partition: TopicPartition) -> LeaderEpoch:
        hosted = self._hosted.get(topic_partition)
        return hosted.replica.leader_epoch if hosted is not None else UNKNOWN_LEADER_EPOCH

    async def _make_leaders(self, partitions: list[LeaderAndIsrPartition], handling: _Handling) -> None:
        lines = handling.lines
        tps = [partition.topic_partition for partition in partitions]
        await self._write_each(map(lines.starting_leader_transition, tps))
        self._followed.stop(tps)
        self._write(lines.stopped_fetchers_of_leaders(len(partitions)))

        def offline(partition: LeaderAndIsrPartition, cause: str) -> StateChange:
            last = partition.state.controller_epoch
            return lines.leader_offline(partition.topic_partition, last, cause)

        await self._make_each(partitions, handling, self._make_leader, offline)
        await self._write_each(map(lines.completed_leader_transition, tps))

    async def _make_each(
        self,
        partitions: list[LeaderAndIsrPartition],
        handling: _Handling,
        make: Callable[[LeaderAndIsrPartition, _Handling], None],
        offline: Callable[[LeaderAndIsrPartition, str], StateChange],
    ) -> None:
        """Make this broker leader, or follower, of each partition; an error of one stops no other.

        Args:
            partitions: The partitions.
            handling: The request.
            make: Does it for one.
            offline: Returns the line about a partition whose disk refuses, and why.
        """
        for partition in partitions:
            try:
                make(partition, handling)
            except NoDescriptorError as error:
                self._failed(partition.topic_partition, error, handling)
            except KafkaStorageError as error:
                self._hosted.disk_failed(error)
                self._write(offline(partition, str(error)))
                handling.errors[partition.topic_partition] = ErrorCode.KAFKA_STORAGE_ERROR
            except Exception as error:  # noqa: BLE001  (an unforeseen error, too)
                self._failed(partition.topic_partition, error, handling)
            await handling.turn.yield_if_long()

    def _make_leader(self, partition: LeaderAndIsrPartition, handling: _Handling) -> None:
        hosted = self._host(partition)
        replica, log = hosted.replica, hosted.log
        previous = replica.leader_epoch
        # The epoch begins at the log's end and is written at once: a follower that asks for it must find it.
        log.assign_epoch_start(partition.state.leader_and_isr.leader_epoch)
        is_new_leader = replica.become_leader(partition, log.log_end_offset, monotonic_ms())
        self._write(
            self._lines.leader_starts(
                partition.topic_partition,
                leader_epoch=replica.leader_epoch,
                offset=log.log_end_offset,
                high_watermark=replica.high_watermark,
                isr=replica.isr,
                assignment=replica.assignment,
                previous_leader_epoch=previous,
            )
        )
        if not is_new_leader:
            last = partition.state.controller_epoch
            self._write(handling.lines.already_leader(partition.topic_partition, last))
        self._hosted.leadership_changed(hosted)

    async def _make_followers(self, partitions: list[LeaderAndIsrPartition], handling: _Handling) -> None:
        lines = handling.lines
        followed = [(each.topic_partition, each.state.leader_and_isr.leader) for each in partitions]
        await self._write_each(starmap(lines.starting_follower_transition, followed))
        self._followed.stop(each.topic_partition for each in partitions)
        self._write(lines.stopped_fetchers_of_followers(len(partitions)))

        def offline(partition: LeaderAndIsrPartition, cause: str) -> StateChange:
            leader, last = partition.state.leader_and_isr.leader, partition.state.controller_epoch
            return lines.follower_offline(partition.topic_partition, last, leader, cause)

        await self._make_each(partitions, handling, self._make_follower, offline)
        await self._write_each(starmap(lines.completed_follower_transition, followed))

    def _make_follower(self, partition: LeaderAndIsrPartition, handling: _Handling) -> None:
        lines, topic_partition = handling.lines, partition.topic_partition
        leader, last = partition.state.leader_and_isr.leader, partition.state.controller_epoch
        hosted = self._host(partition)
        previous = hosted.replica.leader_epoch
        is_new_leader = hosted.replica.become_follower(partition)
        self._truncate_unknown(hosted)
        self._write(
            self._lines.follower_starts(
                topic_partition,
                leader_epoch=hosted.replica.leader_epoch,
                offset=hosted.log.log_end_offset,
                high_watermark=hosted.replica.high_watermark,
                previous_leader_epoch=previous,
            )
        )
        self._hosted.leadership_changed(hosted)
        if not is_new_leader:
            self._write(lines.same_leader(topic_partition, last, leader))
        named = next((each for each in handling.request.live_leaders if each.id == leader), None)
        broker = self._metadata.broker(leader) or named
        if self._followed.is_closed:
            self._write(lines.skipped_fetcher(topic_partition, leader))
        elif broker is None:
            self._followed.await_leader(hosted)
            self._write(lines.new_leader_unavailable(topic_partition, last, leader))
        else:
            self._followed.follow(hosted, broker)

    @staticmethod
    def _truncate_unknown(hosted: HostedPartition) -> None:
        log, replica = hosted.log, hosted.replica
        cut = cut_on_becoming_follower(log.latest_epoch, log.log_end_offset, replica.high_watermark)
        if cut is not None:
            log.truncate_to(cut)
            replica.truncated(log.log_start_offset, log.log_end_offset)

    # UpdateMetadata.

    async def update_metadata(
        self, request: UpdateMetadataRequest, correlation_id: int = 0
    ) -> UpdateMetadataResponse:
        """Update the metadata cache with the controller's brokers and partitions."""
        lines = self._request_lines(request.controller_id, request, correlation_id)
        async with self._one_at_a_time(request):
            refusal = self._gate.judge(request.controller_epoch, request.broker_epoch)
            if refusal is not None:
                if not isinstance(refusal, StaleBrokerEpoch):
                    self._write(lines.stale_update_metadata(refusal.latest))
                return UpdateMetadataResponse(refusal.error)
            change = self._metadata.apply(request)
            # The cache comes first: if a later step fails, the same request sent again would change nothing
            # and notify nobody.
            self._on_metadata(change)
            # Of a partition that no broker has led yet, a line would look as if it had lost its leader.
            led = (partition for partition in change.cached if not partition.awaits_first_leader)
            await self._write_each(map(lines.cached_metadata, led))
            await self._write_each(map(lines.deleted_metadata, change.removed))
            if request.partitions:
                self._write(lines.updated_metadata(len(change.cached), len(change.removed)))
            await self._followed.follow_live_leaders()
            return UpdateMetadataResponse(ErrorCode.NONE)

    # StopReplica.

    async def stop_replica(self, request: StopReplicaRequest, correlation_id: int = 0) -> StopReplicaResponse:
        """Stop the replicas of ``request``, and delete those it marks for deletion."""
        lines = self._request_lines(request.controller_id, request, correlation_id)
        async with self.orders:
            refusal = self._gate.judge(request.controller_epoch, request.broker_epoch)
            if isinstance(refusal, StaleBrokerEpoch):
                return StopReplicaResponse(refusal.error)
            self._write(lines.handling_stop_replica(len(request.partitions)))
            await self._write_each(map(lines.received_stop_replica, request.partitions))
            if refusal is not None:
                self._write(lines.stale_stop_replica(refusal.latest))
                return StopReplicaResponse(refusal.error)
            errors: dict[TopicPartition, ErrorCode] = {}
            async for partition in paced(request.partitions):
                errors[partition.topic_partition] = self._try_to_stop(partition, lines)
            self._hosted.logs.checkpoint_removals()
            self._followed.end_idle()
            return StopReplicaResponse(ErrorCode.NONE, errors)

    def _try_to_stop(self, partition: StopReplicaPartition, lines: RequestLines) -> ErrorCode:
        try:
            return self._stop(partition, lines)
        except Exception as error:  # noqa: BLE001  (one replica keeps no other from being stopped)
            # Unlike in Kafka, the others are stopped, and the answer says which one failed.
            _log.exception("replica not stopped", partition=str(partition.topic_partition))
            self._write(lines.stop_replica_exception(partition, type(error).__name__, str(error)))
            return ErrorCode.UNKNOWN_SERVER_ERROR

    def _stop(self, partition: StopReplicaPartition, lines: RequestLines) -> ErrorCode:
        topic_partition = partition.topic_partition
        if topic_partition in self._hosted.offline:
            self._write(lines.stop_replica_offline_directory(partition))
            return ErrorCode.KAFKA_STORAGE_ERROR
        current = self._current_epoch(topic_partition)
        verdict = judge_stop(partition.leader_epoch, current, delete=partition.delete)
        match verdict:
            case StopVerdict.STALE_LEADER_EPOCH:
                self._write(lines.stop_replica_stale_epoch(partition, current))
            case StopVerdict.SAME_LEADER_EPOCH:
                self._write(lines.stop_replica_same_epoch(partition))
            case StopVerdict.APPLY:
                return self._carry_out_stop(partition, lines)
        return verdict.error

    def _carry_out_stop(self, partition: StopReplicaPartition, lines: RequestLines) -> ErrorCode:
        topic_partition = partition.topic_partition
        self._followed.stop((topic_partition,))
        if partition.delete:
            try:
                self._hosted.remove(topic_partition, delete=True)
            except NoDescriptorError as error:
                self._hosted.disk_failed(error)
                return ErrorCode.UNKNOWN_SERVER_ERROR
            except KafkaStorageError as error:
                self._hosted.disk_failed(error)
                self._write(lines.stop_replica_directory_failed(topic_partition))
                return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    @asynccontextmanager
    async def _one_at_a_time(
        self, request: LeaderAndIsrRequest | UpdateMetadataRequest
    ) -> AsyncIterator[None]:
        """Wait until no other request is carried out. The partitions that this one brings live long."""
        async with self.orders:
            with long_lived(lambda: len(request.partitions) >= MANY_PARTITIONS):
                yield

    async def _write_each(self, lines: Iterable[StateChange]) -> None:
        async for line in paced(lines):
            self._write(line)

    def _request_lines(
        self,
        controller_id: BrokerId,
        request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest,
        correlation_id: int,
    ) -> RequestLines:
        return RequestLines(self._hosted.broker_id, controller_id, request.controller_epoch, correlation_id)

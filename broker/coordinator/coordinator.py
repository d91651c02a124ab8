"""The group coordinator as the request handlers and the replicas see it.

Source: ``GroupCoordinator.scala`` of Kafka 2.8: which errors of the coordinator's state each request gets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from itertools import islice

from barnabas.broker.coordinator.coordinated import CoordinatedPartitions
from barnabas.broker.coordinator.effects import GroupAnswer, GroupEffects
from barnabas.broker.coordinator.group_log import GroupLog
from barnabas.broker.coordinator.loading import PartitionLoader
from barnabas.broker.coordinator.offsets import CoordinatedOffsets
from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.deletion import delete_group
from barnabas.broker.core.group.describe import describe_group, list_groups
from barnabas.broker.core.group.effects import Level, Source
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.join import join_group
from barnabas.broker.core.group.leave import leave_group
from barnabas.broker.core.group.member_calls import heartbeat
from barnabas.broker.core.group.requests import JoinGroup, LeavingMember, MemberCall, SyncGroup
from barnabas.broker.core.group.results import (
    GroupOverview,
    GroupSummary,
    JoinGroupResult,
    LeftMember,
    SyncGroupResult,
)
from barnabas.broker.core.group.rounds import scala_option
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.sync import sync_group
from barnabas.broker.core.purgatory import Timer
from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.collector import many_at_once
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.runtime.turn import Turn, in_its_turn
from barnabas.cluster.runtime.wall_clock import wall_ms

PORTION = 500
"""The most groups or members that one turn of the event loop handles."""


class GroupCoordinator:
    """Coordinates the groups whose partition of ``__consumer_offsets`` this broker leads.

    Attributes:
        topic: The topic ``__consumer_offsets``.
        offsets: What the groups commit.
        partitions: The partitions that this broker leads.

    Args:
        settings: ``group.*`` and ``offsets.*``.
        topic: The topic of all groups.
        hosted: The partitions of this broker.
        appends: The produce path of the replicas.
        timer: The timing wheel of the groups' timers.
        supervisor: Owns the tasks.
        metrics: Where commits and rebalances are counted.
    """

    def __init__(
        self,
        settings: GroupSettings,
        topic: OffsetsTopic,
        hosted: HostedPartitions,
        *,
        appends: Appender,
        timer: Timer,
        supervisor: Supervisor,
        metrics: Metrics,
    ) -> None:
        self.topic = topic
        self.partitions = CoordinatedPartitions(topic)
        self._settings = settings
        self._hosted = hosted
        self._supervisor = supervisor
        log = GroupLog(appends, hosted, settings)
        self._effects = GroupEffects(hosted.broker_id, log, timer, metrics)
        self.offsets = CoordinatedOffsets(self.partitions, log, self._effects, settings, metrics)
        self._loader = PartitionLoader(
            hosted, settings, self._effects, forget=self.offsets.forget, metrics=metrics
        )
        self._loads: dict[int, asyncio.Task[None]] = {}

    @property
    def count(self) -> int:
        """The number of groups that this broker coordinates."""
        return sum(len(partition.groups.by_id) for partition in self.partitions.all)

    # Calls of the replicas.

    def leadership_changed(self, topic_partition: TopicPartition) -> None:
        """Load a partition of ``__consumer_offsets`` that this broker leads now; unload one that it led."""
        topic, number = topic_partition
        if topic != OFFSETS_TOPIC:
            return
        hosted = self._hosted.led(topic_partition, UNKNOWN_LEADER_EPOCH)
        is_led = self.partitions.get(number) is not None
        if isinstance(hosted, ErrorCode):
            if is_led:
                now = self._hosted.get(topic_partition)
                self._resigned(number, None if now is None else now.replica.leader_epoch)
        elif not is_led:
            self._elected(number, hosted.replica.leader_epoch)

    def _elected(self, number: int, epoch: LeaderEpoch) -> None:
        text = f"Elected as the group coordinator for partition {number} in epoch {epoch}"
        self._effects.log(Level.INFO, text, Source.COORDINATOR)
        partition = self.partitions.begin(number)
        load = self._loader.load(partition, epoch)
        self._loads[number] = self._supervisor.spawn(f"load-{OFFSETS_TOPIC}-{number}", load)

    def _resigned(self, number: int, epoch: LeaderEpoch | None) -> None:
        """Unload a partition.

        Args:
            number: The partition.
            epoch: The leader epoch in which another broker leads; None if the partition is no longer here.
        """
        text = f"Resigned as the group coordinator for partition {number} in epoch {scala_option(epoch)}"
        self._effects.log(Level.INFO, text, Source.COORDINATOR)
        partition, load = self.partitions.end(number), self._loads.pop(number)
        load.cancel()
        if partition is not None:
            self._supervisor.spawn(f"unload-{OFFSETS_TOPIC}-{number}", self._loader.unload(partition, epoch))

    def partitions_deleted(self, deleted: Collection[TopicPartition]) -> None:
        """Delete the offsets of partitions whose topics were deleted."""
        if deleted and self.partitions.all:
            removal = self.offsets.topic_partitions_deleted(deleted)
            self._supervisor.spawn("offsets-of-deleted-topics", removal)

    async def expire_offsets(self) -> None:
        """Delete expired offsets every ``offsets.retention.check.interval.ms``, for the first time now."""
        while True:
            began = time.monotonic()
            expired = await self.offsets.expire()
            if expired:
                took_ms = int((time.monotonic() - began) * 1000)
                text = f"Removed {expired} expired offsets in {took_ms} milliseconds."
                self._effects.log(Level.INFO, text, Source.MANAGER)
            await asyncio.sleep(self._settings.retention_check_interval_ms / 1000)

    def close(self) -> None:
        """Refuse requests from now on: COORDINATOR_NOT_AVAILABLE."""
        self.partitions.is_active = False

    # Requests of members.

    async def join(self, request: JoinGroup) -> JoinGroupResult:
        """Answer JoinGroup, when the join round ends or at once."""
        partition = self.partitions.find(request.group_id)
        if isinstance(partition, ErrorCode):
            return JoinGroupResult(request.member_id, partition)
        token, answer = self._effects.park()
        now_ms = wall_ms()
        effects = join_group(self._settings, partition.groups, request, token, now_ms)
        self._effects.perform(partition, effects)
        result = await _answered(answer)
        assert isinstance(result, JoinGroupResult)
        return result

    async def sync(self, request: SyncGroup) -> SyncGroupResult:
        """Answer SyncGroup, when the leader's assignment is in the log or at once."""
        partition = self.partitions.find(request.group_id)
        if partition is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The parked syncs of the round are lost. A client that gets this joins here again; for the true
            # error it would look for the coordinator first.
            return SyncGroupResult(ErrorCode.REBALANCE_IN_PROGRESS)
        if isinstance(partition, ErrorCode):
            return SyncGroupResult(partition)
        token, answer = self._effects.park()
        self._effects.perform(partition, sync_group(partition.groups, request, token))
        result = await _answered(answer)
        assert isinstance(result, SyncGroupResult)
        return result

    def heartbeat(self, call: MemberCall) -> ErrorCode:
        """Answer Heartbeat; while the group is being loaded, members get no error."""
        partition = self.partitions.find(call.group_id)
        if partition is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE
        if isinstance(partition, ErrorCode):
            return partition
        error, effects = heartbeat(partition.groups, call)
        self._effects.perform(partition, effects)
        return error

    async def leave(self, group_id: str, members: Sequence[LeavingMember]) -> list[LeftMember] | ErrorCode:
        """Answer LeaveGroup: for each member, in the order of the request."""
        left: list[LeftMember] = []
        turn = Turn()
        for begin in range(0, len(members) or 1, PORTION):
            partition = self.partitions.find(group_id)
            if isinstance(partition, ErrorCode):
                return partition
            portion = members[begin : begin + PORTION]
            some, effects = leave_group(partition.groups, group_id, portion, wall_ms())
            self._effects.perform(partition, effects)
            left += some
            await turn.yield_if_long()
        return left

    # Requests of administrators.

    def describe(self, group_id: str) -> GroupSummary | ErrorCode:
        """Describe a group; an unknown one is Dead."""
        partition = self.partitions.find(group_id, may_be_empty=True)
        return partition if isinstance(partition, ErrorCode) else describe_group(partition.groups, group_id)

    async def list(self, states: Collection[str]) -> tuple[ErrorCode, list[GroupOverview]]:
        """List this coordinator's groups in one of ``states``; without any states, list all groups.

        An error beside the list says that groups may be missing because a partition is still being loaded.
        """
        if not self.partitions.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        found: list[GroupOverview] = []
        turn = Turn()
        for partition in tuple(self.partitions.all):
            groups = iter(tuple(partition.groups.by_id.items()))
            while portion := dict(islice(groups, PORTION)):
                found += list_groups(PartitionGroups(partition.number, portion), states)
                await turn.yield_if_long()
        is_loading = any(not partition.is_loaded for partition in self.partitions.all)
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_loading else ErrorCode.NONE, found

    async def delete(self, group_id: str) -> ErrorCode:
        """Delete a group without members, with its offsets.

        The group is dead before anything of it is deleted, and a client that goes away does not stop that.
        """
        partition = self.partitions.find(group_id, may_be_empty=True)
        if isinstance(partition, ErrorCode):
            return partition
        error, effects = delete_group(partition.groups, group_id, wall_ms())
        self._effects.perform(partition, effects)
        if error is ErrorCode.NONE:
            partition.dying.add(group_id)
            removal = self.offsets.group_died(partition, group_id)
            error = await asyncio.shield(self._supervisor.spawn("offsets-of-a-deleted-group", removal))
        return error


async def _answered(answer: asyncio.Future[GroupAnswer]) -> GroupAnswer:
    """Return the answer to a request that may be parked until all members of its group are answered.

    A full garbage collection, which the requests of a large group cause, would visit all of them.
    """
    with many_at_once():
        return await in_its_turn(answer)

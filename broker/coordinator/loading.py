"""Loading a partition of ``__consumer_offsets`` when this broker becomes its leader, and unloading it.

Source: ``GroupMetadataManager.loadGroupsAndOffsets`` and ``removeGroupsForPartition`` of Kafka 2.8. Both run
in pieces on the event loop: a partition may hold a million offsets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection

import structlog

from barnabas.broker.coordinator.coordinated import CoordinatedPartition
from barnabas.broker.coordinator.effects import GroupEffects
from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.effects import Level, Source
from barnabas.broker.core.group.effects import Log as GroupLine
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.load_times import LoadTimes
from barnabas.broker.core.group.loading import load_group, unload_groups
from barnabas.broker.core.group.log_reading import BrokenFrameError, GroupLoad
from barnabas.broker.core.group.rounds import scala_option
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.results import OffsetOutOfRange
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.collector import exempt_survivors, many_at_once
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.turn import carried_out, freed_in_turns, paced
from barnabas.cluster.runtime.wall_clock import wall_ms

_log = structlog.get_logger("kafka.coordinator.group.GroupMetadataManager")

RETRY_S = 1.0
"""Pause before a load that failed is repeated, seconds.

Kafka serves what it has loaded until the error. A group would read older commits then, or none.
"""

LINES_PER_MINUTE = 2
"""The most lines of a partition that say why it is not loaded yet, some with a traceback."""

MOST_DAMAGED_LINES = 100
"""The most damaged records of one partition that are logged one by one."""

MANY_OFFSETS = 10_000
"""The number of a partition's offsets from which garbage collections should stop visiting them."""

Forget = Callable[[CoordinatedPartition, Collection[TopicPartition]], Awaitable[int]]


class PartitionLoader:
    """Fills partitions with the groups in their logs, one partition after the other.

    Args:
        hosted: The partitions' logs.
        settings: ``group.*`` and ``offsets.load.buffer.size``.
        effects: Performs what follows from loading a group.
        forget: Deletes the offsets of partitions whose topics were deleted during the load.
        metrics: Shows how long loading takes.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        settings: GroupSettings,
        effects: GroupEffects,
        *,
        forget: Forget,
        metrics: Metrics,
    ) -> None:
        self._hosted = hosted
        self._settings = settings
        self._effects = effects
        self._forget = forget
        self._loading = asyncio.Lock()
        self._times = times = LoadTimes()
        metrics.watch(metrics.partition_load_time_max, lambda: times.measure(monotonic_ms()).longest)
        metrics.watch(metrics.partition_load_time_avg, lambda: times.measure(monotonic_ms()).average)

    async def load(self, partition: CoordinatedPartition, epoch: LeaderEpoch) -> None:
        """Load a partition that this broker leads in ``epoch``; if that fails, try again behind others."""
        name, queued = TopicPartition(OFFSETS_TOPIC, partition.number), time.monotonic()
        self._log_info(f"Scheduling loading of offsets and group metadata from {name} for epoch {epoch}")
        while True:
            async with self._loading:
                began = time.monotonic()
                with many_at_once():
                    if await self._try_to_load(partition, name):
                        break
            await asyncio.sleep(RETRY_S)
        ended = time.monotonic()
        self._times.record(_ms(queued, ended), monotonic_ms())
        self._log_info(
            f"Finished loading offsets and group metadata from {name} in {_ms(queued, ended)} milliseconds "
            f"for epoch {epoch}, of which {_ms(queued, began)} milliseconds was spent in the scheduler."
        )

    async def _try_to_load(self, partition: CoordinatedPartition, name: TopicPartition) -> bool:
        """Load a partition; return False if that failed and this broker still leads the partition."""
        hosted = self._hosted.led(name, UNKNOWN_LEADER_EPOCH)
        if isinstance(hosted, ErrorCode):
            return False
        try:
            found = await self._read(hosted)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return False
        except CorruptLogError as error:
            if LINES.allow(f"loading {name} waits", LINES_PER_MINUTE):
                _log.warning(f"Loading {name} waits for its log to be checked or repaired: {error}")
            return False
        except Exception:  # noqa: BLE001  (an error of one partition must not end the broker)
            if LINES.allow(f"error loading {name}", LINES_PER_MINUTE):
                _log.exception(f"Error loading offsets from {name}")
            return False
        async for group_id, loaded in paced(await carried_out(found.groups())):
            if loaded.offsets.has_any:
                partition.offsets[group_id] = loaded.offsets
            now_ms = wall_ms()
            loading = load_group(self._settings, partition.groups, group_id, loaded.stored, now_ms)
            lines = [each for each in loading if isinstance(each, GroupLine)]
            self._effects.perform(partition, [each for each in loading if not isinstance(each, GroupLine)])
            async for line in paced(lines):  # each member has one
                self._effects.perform(partition, [line])
        while partition.deleted_meanwhile:
            deleted, partition.deleted_meanwhile = partition.deleted_meanwhile, set()
            await self._forget(partition, deleted)
        partition.is_loaded = True
        if sum(map(len, partition.offsets.values())) >= MANY_OFFSETS:
            exempt_survivors()
        return True

    async def _read(self, hosted: HostedPartition) -> GroupLoad:
        """Read the log from its start to its end as it is now.

        The part above the high watermark is read, too: whether it is committed is decided later, and the
        commits that were acknowledged may lie there.

        Raises:
            KafkaStorageError: The disk refused.
            CorruptLogError: There is no batch where one should begin, and another replica may have it.
        """
        log, load, damaged = hosted.log, GroupLoad(), 0
        offset, end = log.log_start_offset, log.log_end_offset
        while offset < end:
            try:
                found = log.find(offset, self._settings.load_buffer_bytes, end)
            except CorruptLogError as error:
                offset = self._end_of_damage(hosted, offset, error)
                continue
            if isinstance(found, OffsetOutOfRange) and offset < log.log_start_offset:
                offset = log.log_start_offset  # retention has removed the segment meanwhile
                continue
            if isinstance(found, OffsetOutOfRange) or not found.records:
                break
            try:
                data = await asyncio.to_thread(bytes, found.records)
            except OSError as error:
                raise log.storage_error("reading", error) from error
            try:
                offset = await carried_out(load.add(data, offset))
            except BrokenFrameError as broken:
                offset = self._end_of_damage(hosted, broken.offset, _corrupt(log, broken))
            for each in load.damaged[: max(0, MOST_DAMAGED_LINES - damaged)]:
                where = f"{log.topic_partition} at offset {each.offset}"
                _log.error(f"Skipping the damaged record of {where}: {each.reason}")
            damaged += len(load.damaged)
            load.damaged.clear()
        if damaged > MOST_DAMAGED_LINES:
            _log.error(f"Skipped {damaged} damaged records of {log.topic_partition}")
        return load

    def _end_of_damage(self, hosted: HostedPartition, offset: Offset, error: CorruptLogError) -> Offset:
        """Return the end of the damaged range that holds ``offset``, if no other replica has what is lost.

        Otherwise this replica hands its leadership over, or fetches the range again.

        Raises:
            CorruptLogError: ``error``, if that may happen, or the range is not known yet.
        """
        log = hosted.log
        self._hosted.on_corrupt(hosted, error)
        for span in log.damaged_spans():
            for lost in log.damage_in(span):
                if lost.first_offset <= offset < lost.end_offset and not self._hosted.is_repairable(
                    hosted, span
                ):
                    _log.error(
                        f"Skipping the damaged offsets {lost.first_offset} to {lost.end_offset - 1} of "
                        f"{log.topic_partition}, which no other replica has: {error}"
                    )
                    return lost.end_offset
        raise error

    async def unload(self, partition: CoordinatedPartition, epoch: LeaderEpoch | None) -> None:
        """Remove the groups of a partition that moved away; waiting members are answered NOT_COORDINATOR.

        Args:
            partition: The partition.
            epoch: The leader epoch that took it away, for the log line; None if there is none.
        """
        name, by_id = TopicPartition(OFFSETS_TOPIC, partition.number), partition.groups.by_id
        groups, offsets = len(by_id), sum(map(len, partition.offsets.values()))
        async for group_id in paced(tuple(by_id)):
            group = by_id.pop(group_id, None)
            if group is not None:
                alone = PartitionGroups(partition.number, {group_id: group})
                self._effects.perform(partition, unload_groups(alone, wall_ms()))
        await freed_in_turns(partition.offsets)
        self._log_info(
            f"Finished unloading {name} for coordinator epoch {scala_option(epoch)}. "
            f"Removed {offsets} cached offsets and {groups} cached groups."
        )

    def _log_info(self, text: str) -> None:
        self._effects.log(Level.INFO, text, Source.MANAGER)


def _corrupt(log: Log, broken: BrokenFrameError) -> CorruptLogError:
    span = next(each for each in reversed(log.spans()) if each.base_offset <= broken.offset)
    return CorruptLogError(span.path, 0, broken.offset, str(broken))


def _ms(start_s: float, end_s: float) -> int:
    return int((end_s - start_s) * 1000)

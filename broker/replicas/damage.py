"""The repair of a damaged replica: another replica becomes leader, and the damaged range is fetched again.

The damaged segment stays, and its valid batches are served, until the same offsets have arrived whole from
another replica. The replica stays in the ISR: it has everything committed but that range, and the same end.
Kafka has no such repair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.segment.scrub import DamagedRange, SegmentSpan
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.repair import RangeUnavailableError, fetch_again, spans_to_fetch
from barnabas.broker.replicas.scrub import LogScrub
from barnabas.cluster.model.brokers import GRPC_LISTENER, Endpoint
from barnabas.cluster.model.commands.command import ControllerPort, Refused
from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor

_log = structlog.get_logger("kafka.log.Log")

FIRST_BACK_OFF_S = 0.1
LONGEST_BACK_OFF_S = 10.0
"""The longest pause in seconds between two attempts; each pause is twice as long as the one before."""

ELECTION_TIMEOUT_MS = 5_000
"""The time in milliseconds that the controller has to elect another leader."""

MAX_ELECTIONS = 3
"""The number of elections tried before the range is fetched without one."""

MAX_LOGGED = 10
"""The number of damaged ranges of a segment that are logged."""


class DamagedReplicas:
    """The damaged replicas of this broker, each with a task that repairs it.

    Attributes:
        controller: The port of the active controller, which elects other leaders; None until it is known.

    Args:
        hosted: The partitions.
        metadata: The live brokers and their endpoints.
        supervisor: Owns the tasks.
        metrics: Counts damaged replicas and segments.
    """

    def __init__(
        self, hosted: HostedPartitions, metadata: MetadataCache, supervisor: Supervisor, metrics: Metrics
    ) -> None:
        self.controller: ControllerPort | None = None
        self.scrub = LogScrub(hosted, self.found)
        self._hosted = hosted
        self._metadata = metadata
        self._supervisor = supervisor
        self._metrics = metrics
        self._repairs: dict[TopicPartition, asyncio.Task[None]] = {}
        self._checks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._sound: dict[TopicPartition, SegmentSpan] = {}
        self._damaged_too: dict[TopicPartition, set[tuple[Offset, BrokerId]]] = {}
        hosted.on_corrupt = self.met
        hosted.on_refetch = self.refetched
        hosted.is_repairable = self.is_repairable
        metrics.watch(metrics.damaged_replica_count, lambda: len(self._repairs))

    def met(self, partition: HostedPartition, error: CorruptLogError) -> None:
        """Log that a read met an invalid batch, and check its segment at once.

        Nothing is logged twice: not while the check runs, nor for a range that is known to be damaged, nor
        for a segment whose check found no damage.
        """
        span = next((each for each in partition.log.spans() if each.path == error.path), None)
        if span is not None and self._is_doubtful(partition, span):
            _log.error(f"{_prefix(partition)} Found invalid messages while reading: {error}")
            self._begin_check(partition, span)

    def is_repairable(self, partition: HostedPartition, span: SegmentSpan) -> bool:
        """Return whether another replica may lead instead, or has the offsets of a damaged segment.

        Dead members of the ISR count until they leave it, and replicas that do not answer: they may have
        acknowledged records. Those whose answer says that they are damaged there, too, do not.
        """
        others = {broker_id for broker_id, _ in self._sources(partition, span.end_offset)} | {
            *partition.replica.isr
        }
        others.discard(self._hosted.broker_id)
        return any(not self._is_damaged_too(partition, span, each) for each in others)

    def _is_damaged_too(self, partition: HostedPartition, span: SegmentSpan, broker_id: BrokerId) -> bool:
        return (span.base_offset, broker_id) in self._damaged_too.get(partition.topic_partition, ())

    def refetched(self, partition: HostedPartition, offset: Offset) -> None:
        """Check the segment of ``offset``, because a follower rejected the records there."""
        span = next((each for each in partition.log.spans() if each.end_offset > offset), None)
        if span is not None and self._is_doubtful(partition, span):
            _log.warning(f"{_prefix(partition)} A follower did not take the records at offset {offset}")
            self._begin_check(partition, span)

    def _is_doubtful(self, partition: HostedPartition, span: SegmentSpan) -> bool:
        topic_partition = partition.topic_partition
        return (
            topic_partition not in self._checks
            and not partition.log.damage_in(span)
            and self._sound.get(topic_partition) != span
        )

    def _begin_check(self, partition: HostedPartition, span: SegmentSpan) -> None:
        topic_partition = partition.topic_partition
        task = self._supervisor.spawn(f"check-of-{topic_partition}", self._check(partition, span))
        self._checks[topic_partition] = task
        task.add_done_callback(lambda _: self._checks.pop(topic_partition, None))

    async def _check(self, partition: HostedPartition, span: SegmentSpan) -> None:
        try:
            span = _sealed(partition, span)
            if not await self.scrub.check(partition, span):
                self._sound[partition.topic_partition] = span
                _log.info(f"{_prefix(partition)} All checksums in {span.path} are valid")
        except KafkaStorageError as error:
            if self._hosted.get(partition.topic_partition) is partition:
                self._hosted.disk_failed(error)

    def found(self, partition: HostedPartition, span: SegmentSpan, damaged: tuple[DamagedRange, ...]) -> None:
        """Note damaged ranges, which are not read any more, log them, and begin to repair the segment."""
        is_known = bool(partition.log.damage_in(span))
        if partition.log.note_damage(span, damaged):
            if not is_known:
                self._metrics.damaged_segments.inc()
            for each in damaged[:MAX_LOGGED]:
                _log.error(
                    f"{_prefix(partition)} Found invalid messages in log segment {span.path} at {each}"
                )
            if len(damaged) > MAX_LOGGED:
                _log.error(f"{_prefix(partition)} {len(damaged) - MAX_LOGGED} more ranges of it are damaged")
        topic_partition = partition.topic_partition
        if partition.log.damage_in(span) and topic_partition not in self._repairs:
            task = self._supervisor.spawn(f"repair-of-{topic_partition}", self._repair(partition))
            self._repairs[topic_partition] = task
            task.add_done_callback(lambda _: self._end_repair(topic_partition))

    def _end_repair(self, topic_partition: TopicPartition) -> None:
        self._repairs.pop(topic_partition, None)
        self._damaged_too.pop(topic_partition, None)

    async def close(self) -> None:
        """Cancel all repairs and checks."""
        tasks = [*self._repairs.values(), *self._checks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _repair(self, partition: HostedPartition) -> None:
        """Try until nothing is damaged, or the partition is no longer hosted; the segments take turns."""
        back_off_s, elections, logged, failures = FIRST_BACK_OFF_S, 0, "", 0
        while self._hosted.get(partition.topic_partition) is partition:
            damaged = partition.log.damaged_spans()
            if not damaged:
                _log.info(f"{_prefix(partition)} The replica is whole again")
                return
            span = damaged[failures % len(damaged)]
            try:
                if elections < MAX_ELECTIONS and await self._elect_other_leader(partition, span):
                    elections += 1
                else:
                    await self._fetch(partition, span)
                    back_off_s, elections, logged = FIRST_BACK_OFF_S, 0, ""
                    continue
            except RangeUnavailableError as error:
                failures += 1
                if str(error) != logged:
                    logged = str(error)
                    _log.warning(f"{_prefix(partition)} {span.path} is kept as it is: {error}")
            except KafkaStorageError as error:
                if self._hosted.get(partition.topic_partition) is partition:
                    self._hosted.disk_failed(error)
                return
            await asyncio.sleep(back_off_s)
            back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)

    async def _elect_other_leader(self, partition: HostedPartition, span: SegmentSpan) -> bool:
        """Ask the controller to elect another ISR member if this broker leads; return whether it did."""
        replica, own = partition.replica, self._hosted.broker_id
        others = [
            member
            for member in replica.isr
            if member != own
            and self._metadata.broker(member)
            and not self._is_damaged_too(partition, span, member)
        ]
        if not replica.is_leader or not others or self.controller is None:
            return False
        command = ElectLeaders(ElectionType.DAMAGED_LEADER, (partition.topic_partition,), own)
        answer = await self.controller.submit(command, ELECTION_TIMEOUT_MS)
        result = answer if isinstance(answer, Refused) else answer.elections[partition.topic_partition]
        if result.error is ErrorCode.NONE:
            _log.warning(f"{_prefix(partition)} Another ISR member leads instead of this replica")
        else:
            _log.warning(
                f"{_prefix(partition)} No other leader yet: {result.error.name} {result.message or ''}"
            )
        return True

    async def _fetch(self, partition: HostedPartition, span: SegmentSpan) -> None:
        """Fetch the offsets of ``span`` from the first other replica that has them.

        Raises:
            RangeUnavailableError: No other replica has them.
            KafkaStorageError: The disk refused.
        """
        log, topic_partition = partition.log, partition.topic_partition
        if log.spans()[-1] in spans_to_fetch(log, span):
            log.seal_active()
        end_offset = spans_to_fetch(log, span)[-1].end_offset
        if end_offset > partition.replica.high_watermark:
            raise RangeUnavailableError(f"offset {end_offset - 1} is not committed yet")
        first_dirty = self._hosted.logs.cleaner_offset(topic_partition) or Offset(0)

        async def dirty_from(offset: Offset) -> None:
            if offset < first_dirty:
                self._hosted.logs.checkpoint_cleaner_offset(topic_partition, offset)
                # The directory's thread works in order, so the checkpoint is written when this is done.
                await asyncio.wrap_future(log.on_disk_thread(lambda: None))

        timeout_ms = self._hosted.settings.session_timeout_ms
        failures, damaged_too = [], self._damaged_too.setdefault(topic_partition, set())
        for broker_id, endpoint in self._sources(partition, end_offset):
            try:
                begin = await fetch_again(
                    partition, span, first_dirty, dirty_from, source=endpoint, session_timeout_ms=timeout_ms
                )
            except RangeUnavailableError as error:
                failures.append(f"broker {broker_id}: {error}")
                if error.is_damaged:
                    damaged_too.add((span.base_offset, broker_id))
            else:
                _log.info(
                    f"{_prefix(partition)} Fetched offsets {begin} to {end_offset - 1} again "
                    f"from broker {broker_id}: {span.path} is whole"
                )
                return
        raise RangeUnavailableError("; ".join(failures) or "no other replica is known to have it")

    def _sources(self, partition: HostedPartition, end_offset: Offset) -> Iterator[tuple[BrokerId, Endpoint]]:
        """Yield the brokers that have the offsets below ``end_offset``.

        At a follower that is the leader; at the leader, followers that have fetched them.
        """
        replica, own = partition.replica, self._hosted.broker_id
        for broker_id in replica.assignment.replicas if replica.is_leader else (replica.leader,):
            remote = replica.remote(broker_id)
            is_behind = replica.is_leader and (remote is None or remote.log_end_offset < end_offset)
            broker = self._metadata.broker(broker_id)
            endpoint = broker.endpoint(GRPC_LISTENER) if broker else None
            if broker_id != own and endpoint is not None and not is_behind:
                yield broker_id, endpoint


def _sealed(partition: HostedPartition, span: SegmentSpan) -> SegmentSpan:
    """Roll the active segment if it is the one of ``span``, and return its span.

    A sealed segment has its index on the disk, which shortens the search for the valid batches after damage.

    Raises:
        KafkaStorageError: The disk refused.
    """
    if [span] == partition.log.spans()[-1:]:
        partition.log.seal_active()
    return next((each for each in partition.log.spans() if each.path == span.path), span)


def _prefix(partition: HostedPartition) -> str:
    return f"[Log partition={partition.topic_partition}, dir={partition.log.directory.parent}]"

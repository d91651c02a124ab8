"""The effects of decisions about groups: answers, timers, writes of group records, log lines."""

from __future__ import annotations

import asyncio
from itertools import count

import structlog

from barnabas.broker.coordinator.coordinated import CoordinatedPartition
from barnabas.broker.coordinator.group_log import GroupLog
from barnabas.broker.core.group.effects import (
    Answer,
    AssignmentWrite,
    ClearTimer,
    Effects,
    GroupRemoved,
    Level,
    Log,
    PersistGroup,
    SetTimer,
    Source,
    TimerKey,
)
from barnabas.broker.core.group.records import encode_group_key, encode_group_value
from barnabas.broker.core.group.requests import Token
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.timeouts import timer_expired
from barnabas.broker.core.group.writes import group_written
from barnabas.broker.core.purgatory import Timer
from barnabas.broker.core.timing_wheel import TimerTask
from barnabas.broker.replicas.interface import UNKNOWN_OFFSET
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset
from barnabas.cluster.runtime.collector import exempt_survivors
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.wall_clock import wall_ms

_LOGGERS = {
    Source.COORDINATOR: structlog.get_logger("kafka.coordinator.group.GroupCoordinator"),
    Source.MANAGER: structlog.get_logger("kafka.coordinator.group.GroupMetadataManager"),
    Source.METADATA: structlog.get_logger("kafka.coordinator.group.GroupMetadata"),
}

LINES_PER_MINUTE = 1000
"""The most lines of a class and level in a minute: a client that joins and leaves in a loop causes many."""

MANY_MEMBERS = 500
"""The members of a group whose connections and timers garbage collections should not keep visiting."""

EXEMPTION_S = 0.02
"""The seconds from a large group's assignment to their exemption: not in the turn that wakes all members."""

GroupAnswer = JoinGroupResult | SyncGroupResult


class GroupTimer(TimerTask):
    """A timer of a group, in the timing wheel."""

    __slots__ = ("_effects", "_key", "_partition")

    def __init__(self, effects: GroupEffects, partition: CoordinatedPartition, key: TimerKey) -> None:
        super().__init__()
        self._effects = effects
        self._partition = partition
        self._key = key

    def run(self) -> None:
        """Handle the end of the timer."""
        self._effects.expired(self._partition, self._key, self)


class GroupEffects:
    """Performs effects, in their order, on the event loop.

    Args:
        broker_id: This broker, named in log lines.
        log: Where group records are appended.
        timer: The timing wheel of the groups' timers.
        metrics: Where completed rebalances are counted.
    """

    def __init__(self, broker_id: BrokerId, log: GroupLog, timer: Timer, metrics: Metrics) -> None:
        self._log = log
        self._timer = timer
        self._metrics = metrics
        self._tokens = count()
        self._parked: dict[Token, asyncio.Future[GroupAnswer]] = {}
        self._prefixes = {
            Source.COORDINATOR: f"[GroupCoordinator {broker_id}]: ",
            Source.MANAGER: f"[GroupMetadataManager brokerId={broker_id}] ",
            Source.METADATA: "",
        }

    def park(self) -> tuple[Token, asyncio.Future[GroupAnswer]]:
        """Return a token for a request, and the future of its answer."""
        token = Token(next(self._tokens))
        answer: asyncio.Future[GroupAnswer] = asyncio.get_running_loop().create_future()
        self._parked[token] = answer
        return token, answer

    def perform(self, partition: CoordinatedPartition, effects: Effects) -> None:
        """Perform the effects of a decision about groups of ``partition``."""
        for effect in effects:
            match effect:
                case Answer(token, result):
                    answer = self._parked.pop(token)
                    if not answer.done():  # a client that has gone has cancelled it
                        answer.set_result(result)
                case SetTimer(key, delay_ms):
                    self._set_timer(partition, key, delay_ms)
                case ClearTimer(key):
                    self._clear_timer(partition, key)
                case PersistGroup():
                    self._persist(partition, effect)
                case GroupRemoved():
                    self._remove(partition, effect)
                case Log(level, text, source):
                    self.log(level, text, source)

    def log(self, level: Level, text: str, source: Source) -> None:
        """Write a log line of the coordinator's classes, with the prefix that Kafka gives it."""
        if level is not Level.DEBUG and not LINES.allow(f"{source.value} {level.name}", LINES_PER_MINUTE):
            return
        logger, line = _LOGGERS[source], self._prefixes[source] + text
        match level:
            case Level.DEBUG:
                logger.debug(line)
            case Level.INFO:
                logger.info(line)
            case Level.WARN:
                logger.warning(line)
            case Level.ERROR:
                logger.error(line)

    def expired(self, partition: CoordinatedPartition, key: TimerKey, timer: GroupTimer) -> None:
        """Handle the end of a timer, unless it was stopped or replaced after the wheel had released it.

        An unloaded partition decides nothing: if this broker leads it again already, new objects decide.
        """
        if partition.timers.get(key) is timer:
            del partition.timers[key]
            if partition.is_unloaded:
                return
            self.perform(partition, timer_expired(partition.groups, key, wall_ms()))

    def _set_timer(self, partition: CoordinatedPartition, key: TimerKey, delay_ms: int) -> None:
        self._clear_timer(partition, key)
        timer = partition.timers[key] = GroupTimer(self, partition, key)
        self._timer.add(timer, delay_ms)

    def _clear_timer(self, partition: CoordinatedPartition, key: TimerKey) -> None:
        timer = partition.timers.pop(key, None)
        if timer is not None:
            self._timer.cancel(timer)

    def _persist(self, partition: CoordinatedPartition, effect: PersistGroup) -> None:
        write = effect.write
        if isinstance(write, AssignmentWrite):
            self._metrics.completed_rebalances.inc()

        def written(error: ErrorCode, _offset: Offset) -> None:
            self.perform(partition, group_written(write, error, wall_ms()))
            if isinstance(write, AssignmentWrite) and len(write.assignments) >= MANY_MEMBERS:
                asyncio.get_running_loop().call_later(EXEMPTION_S, exempt_survivors)

        if partition.is_unloaded:
            written(ErrorCode.NOT_LEADER_OR_FOLLOWER, UNKNOWN_OFFSET)
            return
        batch = self._log.builder(partition.number)
        if not batch.add(encode_group_key(write.group.group_id), encode_group_value(effect.record)):
            written(ErrorCode.MESSAGE_TOO_LARGE, UNKNOWN_OFFSET)
            return
        self._log.append(partition.number, batch, written)

    def _remove(self, partition: CoordinatedPartition, removed: GroupRemoved) -> None:
        """Delete the metadata of a removed group from the log if it ever had members.

        Its offsets, which may be very many, are the caller's.
        """
        if removed.generation > 0:
            self.append_tombstones(partition, [encode_group_key(removed.group_id)])

    def append_tombstones(self, partition: CoordinatedPartition, keys: list[bytes]) -> None:
        """Append a null value for each key, in as many batches as it takes.

        Nothing is appended for an unloaded partition: if this broker leads it again, the keys may be in use.
        """
        if partition.is_unloaded:
            return
        batch = self._log.builder(partition.number)
        for key in keys:
            if not batch.add(key, None) and batch.count:
                self._log.append_tombstones(partition.number, batch)
                batch = self._log.builder(partition.number)
                batch.add(key, None)
        if batch.count:
            self._log.append_tombstones(partition.number, batch)

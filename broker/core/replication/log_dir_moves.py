"""The move of a replica between two log directories of a broker: requests and steps.

The future log follows the current one as a follower follows its leader, and takes its place when both end at
the same offset.
Source: ``ReplicaManager.alterReplicaLogDirs``, ``ReplicaAlterLogDirsThread`` and
``Partition.maybeReplaceCurrentWithFutureReplica`` of Kafka 2.8; KIP-113.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.broker.core.replication.follower_fetch import StartOver, Truncate, cut_on_divergence
from barnabas.broker.core.replication.leader_epochs import UNDEFINED_EPOCH_END, EpochEndOffset
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset


class Hosting(Enum):
    """The answer to whether a broker hosts a replica."""

    ONLINE = "it does"
    OFFLINE = "its log directory is offline"
    ABSENT = "it does not, or not yet"


@dataclass(frozen=True, slots=True)
class AlterLogDir:
    """A request to move a replica to a log directory, and the state of the broker's directories.

    Attributes:
        is_name_too_long: Whether no directory can have the name of a future log.
        is_configured: Whether the directory is one of ``log.dirs``.
        is_live: Whether it is in use.
        are_all_live: Whether all of ``log.dirs`` are.
        hosting: Whether the broker hosts the replica.
        is_current: Whether the current log lies in the directory.
        future: Whether the future log lies there; None without a future log.
    """

    is_name_too_long: bool
    is_configured: bool
    is_live: bool
    are_all_live: bool
    hosting: Hosting
    is_current: bool
    future: bool | None


@dataclass(frozen=True, slots=True)
class AlterDecision:
    """The decision about a request to move a replica.

    Attributes:
        error: The answer.
        cancels: Whether the future log is deleted, because it lies elsewhere.
        prefers: Whether the directory is remembered for the log that will be created.
        begins: Whether a future log is created in the directory.
    """

    error: ErrorCode = ErrorCode.NONE
    cancels: bool = False
    prefers: bool = False
    begins: bool = False


def judge_alter(request: AlterLogDir) -> AlterDecision:
    """Decide about a request to move a replica.

    Without a replica the directory is remembered, and the answer is REPLICA_NOT_AVAILABLE. While a directory
    is offline no move begins, because a future log may lie there.
    """
    refusal = _refusal(request)
    if refusal is not ErrorCode.NONE:
        return AlterDecision(refusal)
    if request.hosting is Hosting.ABSENT:
        is_there = request.is_current or request.future is True
        return AlterDecision(ErrorCode.REPLICA_NOT_AVAILABLE, prefers=not is_there)
    cancels = request.future is False
    if request.is_current or request.future:
        return AlterDecision(cancels=cancels)
    if not request.are_all_live:
        return AlterDecision(ErrorCode.KAFKA_STORAGE_ERROR, cancels=cancels)
    return AlterDecision(cancels=cancels, begins=True)


def _refusal(request: AlterLogDir) -> ErrorCode:
    if request.is_name_too_long:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not request.is_configured:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not request.is_live or request.hosting is Hosting.OFFLINE:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class LogRange:
    """The range of a log.

    Attributes:
        start: Its log start offset.
        end: Its log end offset.
    """

    start: Offset
    end: Offset


@dataclass(frozen=True, slots=True)
class RaiseStart:
    """Raise the future log's start to ``offset``: records were deleted."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy records from ``offset`` on."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Both logs end at the same offset, with the same records."""


MoveStep = StartOver | Truncate | RaiseStart | Copy | CaughtUp


def next_step(
    current: LogRange,
    future: LogRange,
    future_epoch: LeaderEpoch | None,
    current_end: EpochEndOffset,
    future_end: EpochEndOffset,
) -> MoveStep:
    """Return the next step of a move between log directories.

    The leader epochs are compared at each step, so a truncation of the current log needs no notice.

    Args:
        current: The range of the current log.
        future: The range of the future log.
        future_epoch: The future log's latest leader epoch, or None if it has none.
        current_end: The end of that epoch in the current log.
        future_end: The end of ``current_end.epoch`` in the future log.
    """
    is_empty = future.start == future.end
    if future.end < current.start or (is_empty and current.start < future.start):
        return StartOver(current.start)
    if future_epoch is not None and not is_empty:
        if current_end == UNDEFINED_EPOCH_END:
            return StartOver(current.start)
        if current_end.epoch < future_epoch or current_end.end_offset < future.end:
            cut = cut_on_divergence(current_end, future_end, future.end, current.start)
            return _cut(cut, current, future)
    if future.end > current.end:
        return _cut(current.end, current, future)
    if future.start < min(current.start, future.end):
        return RaiseStart(current.start)
    return Copy(future.end) if future.end < current.end else CaughtUp()


def _cut(offset: Offset, current: LogRange, future: LogRange) -> StartOver | Truncate:
    """Truncate the future log, or start over if nothing is left that the current log has."""
    return Truncate(offset) if offset > max(current.start, future.start) else StartOver(current.start)

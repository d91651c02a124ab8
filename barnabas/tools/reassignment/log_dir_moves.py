"""The moves of replicas between log directories by ``kafka-reassign-partitions.sh`` (KIP-113).

The lines are those of ``ReassignPartitionsCommand`` of Kafka 2.8 (``executeMoves``, ``findLogDirMoveStates``,
``replicaMoveStatesToString``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment.reassignment_files import LogDirTargets, Replica
from barnabas.tools.reassignment.reassignments import LogDirClient, Placement, ReassignCommandError

RETRY_S = 0.1
"""The pause in seconds before repeating the request for a replica that its broker does not have yet."""


def begin_moves(
    log_dirs: LogDirClient,
    targets: LogDirTargets,
    timeout_ms: int,
    say: Callable[[str], None],
    *,
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Begin all moves, and print those that have begun; try again where a broker has no replica yet.

    Raises:
        ToolError: A broker refused, or had no replica for ``timeout_ms``.
        AdminError: A broker did not answer.
    """
    started_s, pending = clock_s(), dict(targets)
    while True:
        results = log_dirs.alter(pending)
        begun = sorted(replica for replica, error in results.items() if error is ErrorCode.NONE)
        for replica, error in sorted(results.items()):
            if error not in {ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE}:
                raise ToolError(f"Failed to alter dir for {replica}: {error.meaning}")
        if begun:
            say(f"Successfully started log directory move{_s(begun)} for: {_join(begun)}")
        for replica in begun:
            pending.pop(replica, None)
        if not pending:
            return
        if clock_s() >= started_s + timeout_ms / 1000:
            raise ReassignCommandError(
                f"Timed out before log directory move{_s(pending)} could be started for: "
                f"{_join(sorted(pending))}"
            )
        sleep(RETRY_S)


def describe_move(replica: Replica, target: str, placement: Placement) -> str:
    """Return the line of ``--verify`` about a replica that should be in the log directory ``target``."""
    partition = f"Partition {replica.topic}-{replica.partition}"
    if placement.current is None:
        return (
            f"{partition} is not found in any live log dir on broker {replica.broker}. There is likely an "
            "offline log directory on the broker."
        )
    if placement.future is None:
        if placement.current == target:
            return f"Reassignment of replica {replica} completed successfully."
        return (
            f"{partition} on broker {replica.broker} is not being moved from log dir {placement.current} to "
            f"{target}."
        )
    if placement.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    return (
        f"{partition} on broker {replica.broker} is being moved to log dir {placement.future} instead of "
        f"{target}."
    )


def moves_back(placements: Mapping[Replica, Placement]) -> LogDirTargets:
    """Return the targets that cancel the moves in progress: the directories in which the replicas lie."""
    return {
        replica: placement.current
        for replica, placement in placements.items()
        if placement.current is not None and placement.future is not None
    }


def _join(replicas: Iterable[Replica]) -> str:
    return ",".join(map(str, replicas))


def _s(things: Collection[object]) -> str:
    return "" if len(things) == 1 else "s"

"""The wait for recovery after faults, and checks of what must not have happened meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path

import confluent_kafka

from barnabas.chaos.nemeses.faults import InjectedFault
from barnabas.chaos.nemeses.segments import differences, replica
from barnabas.chaos.targets.targets import Brokers
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.local.zookeeper_wire import WireError


class NotRecoveredError(Exception):
    """An error for a cluster that did not recover in time; the message says what was missing last."""


def ended(cluster: Brokers, allowed: Container[BrokerId] = ()) -> list[str]:
    """Find the brokers that do not run.

    Args:
        cluster: The cluster.
        allowed: The brokers that may end by themselves.

    Returns:
        A line for each other broker: its exit status and its last line.
    """
    return [
        f"broker {broker.id} ended by itself with status {broker.exit_status}: {broker.last_words()}"
        for broker in cluster.brokers.values()
        if broker.pid is None and broker.id not in allowed
    ]


def revive(cluster: Brokers, allowed: Container[BrokerId]) -> list[str]:
    """Start brokers that do not run.

    Returns:
        As ``ended``.
    """
    problems = ended(cluster, allowed)
    for broker in cluster.brokers.values():
        if broker.pid is None:
            cluster.restart(broker.id, wait=False)
    return problems


def wait_until_whole(
    cluster: Brokers,
    look: Callable[[], ClusterView],
    partitions: tuple[TopicPartition, ...],
    timeout_s: float,
) -> None:
    """Wait until all brokers serve under one controller, and ``partitions`` have leaders and full ISRs.

    Raises:
        NotRecoveredError: The time is over, or a broker ended meanwhile.
    """
    lacking = ""

    def is_whole() -> bool:
        nonlocal lacking
        lacking = _lacking(look, partitions)
        return not lacking

    deadline = time.monotonic() + timeout_s
    try:
        cluster.wait_ready(timeout_s)
        wait_until(is_whole, "a whole cluster", max(0.0, deadline - time.monotonic()), lambda: lacking)
    except (ClusterError, TimeoutError) as error:
        raise NotRecoveredError(str(error)) from error


def _lacking(look: Callable[[], ClusterView], partitions: tuple[TopicPartition, ...]) -> str:
    try:
        seen = look().partitions
    except confluent_kafka.KafkaException as error:
        return f"no broker answers ({error})"
    broken = {str(tp): seen.get(tp) for tp in partitions if tp not in seen or not seen[tp].is_whole}
    return (
        f"{len(broken)} of {len(partitions)} partitions, among them {next(iter(broken.items()))}"
        if broken
        else ""
    )


def wait_until_undone(faults: Sequence[InjectedFault], timeout_s: float) -> None:
    """Wait until the effects of the faults are gone.

    Raises:
        NotRecoveredError: Some effect is left after ``timeout_s`` seconds.
    """
    lacking = ""

    def are_undone() -> bool:
        nonlocal lacking
        try:
            lacking = "; ".join(filter(None, (fault.lacking() for fault in faults)))
        except (OSError, WireError, ZooKeeperStartError) as error:
            lacking = str(error)
        return not lacking

    try:
        wait_until(are_undone, "the end of all effects of faults", timeout_s, lambda: lacking)
    except TimeoutError as error:
        raise NotRecoveredError(str(error)) from error


def differing(
    log_dirs: Mapping[BrokerId, Sequence[Path]], partitions: Iterable[TopicPartition], timeout_s: float
) -> list[str]:
    """Wait until all replicas of partitions are complete on every disk, and equal; nobody may write to them.

    Returns:
        A line for each difference that is left after ``timeout_s`` seconds.
    """
    waiting = list(partitions)
    lines: list[str] = []

    def are_same() -> bool:
        lines.clear()
        for tp in [*waiting]:
            found = _differences(log_dirs, tp)
            lines.extend(f"{tp}: {line}" for line in found)
            if not found:
                waiting.remove(tp)
        return not lines

    with contextlib.suppress(TimeoutError):
        wait_until(are_same, "replicas that are the same", timeout_s)
    return lines


def _differences(log_dirs: Mapping[BrokerId, Sequence[Path]], tp: TopicPartition) -> list[str]:
    replicas = {broker: replica(directories, tp) for broker, directories in log_dirs.items()}
    end = max((batch.end for found in replicas.values() for batch in found), default=0)
    return differences(replicas, 0, end)


def undeleted(
    cluster: Brokers, look: Callable[[], ClusterView], deleted: frozenset[str], timeout_s: float
) -> list[str]:
    """Wait until deleted topics are gone, from metadata and from every disk.

    Returns:
        A line for each topic that is left after ``timeout_s`` seconds.
    """
    left: list[str] = []

    def are_gone() -> bool:
        left[:] = _left(cluster, look, deleted)
        return not left

    with contextlib.suppress(TimeoutError):
        wait_until(are_gone, "the end of deleted topics", timeout_s)
    return left


def _left(cluster: Brokers, look: Callable[[], ClusterView], deleted: frozenset[str]) -> list[str]:
    try:
        known = {tp.topic for tp in look().partitions}
    except confluent_kafka.KafkaException as error:
        return [f"no broker lists its topics: {error}"]
    lines = [f"topic {topic} was deleted and is in the metadata" for topic in sorted(known & deleted)]
    for broker in cluster.brokers.values():
        # A log that is being deleted was renamed already, so it does not match.
        logs = sorted(
            log.name
            for depth in ("*", "*/*")
            for log in broker.directory.glob(f"{depth}/*-[0-9]*")
            if log.is_dir()
        )
        kept = [name for name in logs if name.rpartition("-")[0] in deleted]
        lines += [f"broker {broker.id} keeps {name} of a deleted topic" for name in kept]
    return lines

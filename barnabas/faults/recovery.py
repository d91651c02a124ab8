"""Whether a cluster is whole again after faults, and what must not have happened on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Container

import confluent_kafka

from barnabas.cluster import ClusterError, LocalCluster
from barnabas.observe import ClusterView
from cluster.model.ids import BrokerId, TopicPartition

_POLL_S = 0.2


class NotRecoveredError(Exception):
    """The cluster is not whole in time; the message says what was missing last."""


def revive(cluster: LocalCluster, allowed: Container[BrokerId]) -> list[str]:
    """Start brokers that do not run.

    Args:
        cluster: Theirs.
        allowed: Who may have ended by itself.

    Returns:
        A line for each other one: how it ended, and its last words.
    """
    problems = []
    for broker in cluster.brokers.values():
        if broker.pid is None:
            if broker.id not in allowed:
                problems.append(
                    f"broker {broker.id} ended by itself with status {broker.exit_status}: "
                    f"{broker.last_words()}"
                )
            cluster.restart(broker.id, wait=False)
    return problems


def wait_until_whole(
    cluster: LocalCluster,
    look: Callable[[], ClusterView],
    partitions: tuple[TopicPartition, ...],
    timeout_s: float,
) -> None:
    """Wait until all brokers serve under one controller, and ``partitions`` have leaders and full ISRs.

    Raises:
        NotRecoveredError: They do not in time, or a broker ends meanwhile.
    """
    deadline = time.monotonic() + timeout_s
    try:
        cluster.wait_ready(timeout_s)
    except ClusterError as error:
        raise NotRecoveredError(str(error)) from error
    while True:
        lacking = _lacking(look, partitions)
        if not lacking:
            return
        if time.monotonic() > deadline:
            raise NotRecoveredError(f"not whole within {timeout_s:g} s: {lacking}")
        time.sleep(_POLL_S)


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


def undeleted(
    cluster: LocalCluster, look: Callable[[], ClusterView], deleted: frozenset[str], timeout_s: float
) -> list[str]:
    """Wait until deleted topics are gone, from metadata and from every disk.

    Returns:
        A line for each that is not in time.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        left = _left(cluster, look, deleted)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(1.0)


def _left(cluster: LocalCluster, look: Callable[[], ClusterView], deleted: frozenset[str]) -> list[str]:
    try:
        known = {tp.topic for tp in look().partitions}
    except confluent_kafka.KafkaException as error:
        return [f"no broker says which topics there are: {error}"]
    lines = [f"topic {topic} was deleted and is in the metadata" for topic in sorted(known & deleted)]
    for broker in cluster.brokers.values():
        # A log that is being deleted has another name already, and so another topic's in this sense.
        logs = sorted(log.name for log in broker.directory.glob("*/*-[0-9]*") if log.is_dir())
        kept = [name for name in logs if name.rpartition("-")[0] in deleted]
        lines += [f"broker {broker.id} keeps {name} of a deleted topic" for name in kept]
    return lines

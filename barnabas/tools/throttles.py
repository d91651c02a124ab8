"""The settings by which ``--throttle`` slows the replication of what is moved: which, of whom, and no longer.

Which they are is that of ``ReassignPartitionsCommand`` of Kafka 2.8: the replicas that lead and those that
follow, by topic, and the rate of every broker that takes part. Brokers here keep these settings, so that they
can be set, read and removed, and do not act upon them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from barnabas.cluster.model.commands.configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.config_client import ConfigClient

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""How fast a broker may send, and fetch, what is throttled, in bytes a second."""

LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""How fast a broker may move replicas between its log directories."""

REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Which replicas of a topic are throttled, each as ``partition:broker``."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where a partition is, and where it comes to beside that."""

    sources: frozenset[int]
    destinations: frozenset[int]


class NoReplicasError(Exception):
    """A partition that is to be moved is nowhere."""


def moves(
    running: Mapping[TopicPartition, Mapping[str, Sequence[int]]],
    targets: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, Move]:
    """Everything that moves once ``targets`` are asked for.

    Args:
        running: What moves already: ``replicas`` and ``adding_replicas`` of each partition.
        targets: Where partitions shall be.
        current: Where they are.

    Raises:
        NoReplicasError: One of them is not in ``current``.
    """
    found = {}
    for tp, told in running.items():
        adding = frozenset(told["adding_replicas"])
        found[tp] = Move(frozenset(told["replicas"]) - adding, adding)
    for tp, replicas in targets.items():
        if tp in found:
            sources = found[tp].sources
        elif tp in current:
            sources = frozenset(current[tp])
        else:
            raise NoReplicasError(f"Trying to reassign a topic partition {tp} with 0 replicas")
        found[tp] = Move(sources, frozenset(replicas) - sources)
    return found


def throttled_replicas(moving: Mapping[TopicPartition, Move]) -> dict[str, tuple[str, str]]:
    """By topic, the settings of `REPLICAS`: whoever has records, and whoever fetches them."""
    leaders: dict[str, set[str]] = {tp.topic: set() for tp in moving}
    followers: dict[str, set[str]] = {tp.topic: set() for tp in moving}
    for tp, move in moving.items():
        leaders[tp.topic] |= {f"{tp.partition}:{broker}" for broker in move.sources}
        followers[tp.topic] |= {f"{tp.partition}:{broker}" for broker in move.destinations}
    return {
        topic: (",".join(sorted(leaders[topic])), ",".join(sorted(followers[topic]))) for topic in leaders
    }


def throttle(client: ConfigClient, moving: Mapping[TopicPartition, Move], rate: int) -> None:
    """Set what slows ``moving`` down to ``rate`` bytes a second."""
    for topic, texts in throttled_replicas(moving).items():
        _alter(client, ConfigResourceType.TOPIC, topic, dict(zip(REPLICAS, texts, strict=True)))
    brokers = {broker for move in moving.values() for broker in move.sources | move.destinations}
    for broker in sorted(brokers):
        _alter(client, ConfigResourceType.BROKER, str(broker), dict.fromkeys(RATES, str(rate)))


def clear_brokers(client: ConfigClient, brokers: Collection[int]) -> None:
    """Remove the rates of brokers."""
    for broker in sorted(brokers):
        _alter(client, ConfigResourceType.BROKER, str(broker), dict.fromkeys((*RATES, LOG_DIR_RATE)))


def clear_topics(client: ConfigClient, topics: Collection[str]) -> None:
    """Remove the throttled replicas of topics."""
    for topic in sorted(topics):
        _alter(client, ConfigResourceType.TOPIC, topic, dict.fromkeys(REPLICAS))


def _alter(
    client: ConfigClient, kind: ConfigResourceType, name: str, settings: Mapping[str, str | None]
) -> None:
    """Set each setting, or remove it where its text is None."""
    client.alter_incrementally(
        ConfigResource(kind, name),
        [
            ConfigAlteration(setting, ConfigOperation.DELETE)
            if text is None
            else ConfigAlteration(setting, ConfigOperation.SET, text)
            for setting, text in settings.items()
        ],
    )

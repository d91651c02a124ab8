"""The settings that ``--throttle`` uses to slow the replication of partitions that are being reassigned.

As in ``ReassignPartitionsCommand`` of Kafka 2.8 they are the throttled leader and follower replicas of each
topic, and the rates of every broker that takes part.
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
from barnabas.tools.clients.config_client import ConfigClient
from barnabas.tools.command_line.parser import ToolError

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""The settings of the rates at which a broker sends and fetches throttled replicas, in bytes per second."""

LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""The setting of the rate at which a broker moves replicas between log directories, in bytes per second."""

REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""The settings of the throttled replicas of a topic, each as ``partition:broker``."""


@dataclass(frozen=True, slots=True)
class Move:
    """The move of a partition.

    Attributes:
        sources: The brokers that have a replica.
        destinations: The brokers to which replicas are added.
    """

    sources: frozenset[int]
    destinations: frozenset[int]


def moves(
    running: Mapping[TopicPartition, Mapping[str, Sequence[int]]],
    targets: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, Move]:
    """Return all moves once the reassignment to ``targets`` is requested.

    Args:
        running: The running reassignments: ``replicas`` and ``adding_replicas`` of each partition.
        targets: The target replicas of the partitions to reassign.
        current: The replicas of the partitions now.

    Raises:
        ToolError: A partition of ``targets`` is neither in ``running`` nor in ``current``.
    """
    found = {}
    for tp, reassignment in running.items():
        adding = frozenset(reassignment["adding_replicas"])
        found[tp] = Move(frozenset(reassignment["replicas"]) - adding, adding)
    for tp, replicas in targets.items():
        if tp in found:
            sources = found[tp].sources
        elif tp in current:
            sources = frozenset(current[tp])
        else:
            raise ToolError(f"Trying to reassign a topic partition {tp} with 0 replicas")
        found[tp] = Move(sources, frozenset(replicas) - sources)
    return found


def throttled_replicas(moving: Mapping[TopicPartition, Move]) -> dict[str, tuple[str, str]]:
    """Return the values of `REPLICAS` for each topic: the sources lead, the destinations follow."""
    leaders: dict[str, set[str]] = {tp.topic: set() for tp in moving}
    followers: dict[str, set[str]] = {tp.topic: set() for tp in moving}
    for tp, move in moving.items():
        leaders[tp.topic] |= {f"{tp.partition}:{broker}" for broker in move.sources}
        followers[tp.topic] |= {f"{tp.partition}:{broker}" for broker in move.destinations}
    return {
        topic: (",".join(sorted(leaders[topic])), ",".join(sorted(followers[topic]))) for topic in leaders
    }


def throttle(client: ConfigClient, moving: Mapping[TopicPartition, Move], rate: int) -> None:
    """Set the throttled replicas and rates that limit ``moving`` to ``rate`` bytes per second."""
    for topic, texts in throttled_replicas(moving).items():
        _alter(client, ConfigResourceType.TOPIC, topic, dict(zip(REPLICAS, texts, strict=True)))
    brokers = {broker for move in moving.values() for broker in move.sources | move.destinations}
    for broker in sorted(brokers):
        _alter(client, ConfigResourceType.BROKER, str(broker), dict.fromkeys(RATES, str(rate)))


def throttle_log_dirs(client: ConfigClient, brokers: Collection[int], rate: int) -> None:
    """Limit the moves between log directories of these brokers to ``rate`` bytes per second each."""
    for broker in sorted(brokers):
        _alter(client, ConfigResourceType.BROKER, str(broker), {LOG_DIR_RATE: str(rate)})


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
    """Set each setting, or delete it if its value is None."""
    client.alter_incrementally(
        ConfigResource(kind, name),
        [
            ConfigAlteration(setting, ConfigOperation.DELETE)
            if text is None
            else ConfigAlteration(setting, ConfigOperation.SET, text)
            for setting, text in settings.items()
        ],
    )

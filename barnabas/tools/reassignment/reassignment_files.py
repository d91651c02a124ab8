"""The files of ``kafka-reassign-partitions.sh``: topics to move, and target replicas.

Formats and complaints are those of Kafka 2.8's ``kafka.admin.ReassignPartitionsCommand``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.cluster.model import placement
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.tools.command_line.files import duplicates, json_items, json_partition
from barnabas.tools.command_line.parser import ToolError

Moves = dict[TopicPartition, tuple[BrokerId, ...]]
"""The target replicas of each partition, preferred leader first."""


class Replica(NamedTuple):
    """A replica: topic, partition and broker, as Kafka's tool writes them."""

    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


LogDirTargets = dict[Replica, str]
"""The target log directory of each replica."""

ANY_LOG_DIR = "any"
"""The value for a log directory that the broker chooses."""


def parse_targets(text: str) -> Moves:
    """Parse the JSON of a reassignment that was started.

    If a partition occurs twice, the last entry counts.
    """
    return dict(_moves(text))


def parse_moves(text: str) -> Moves:
    """Parse the JSON of a reassignment to start. Partitions must be unique and not empty.

    So must each partition's replicas.
    """
    moves = _moves(text)
    if not moves:
        raise ToolError("Partition reassignment list cannot be empty")
    if any(not replicas for _, replicas in moves):
        raise ToolError("Partition replica list cannot be empty")
    twice = duplicates(tp for tp, _ in moves)
    if twice:
        raise ToolError(f"Partition reassignment contains duplicate topic partitions: {_join(twice)}")
    entries = [(tp, duplicates(replicas)) for tp, replicas in moves]
    repeated = [f"{tp} contains multiple entries for {_join(again)}" for tp, again in entries if again]
    if repeated:
        raise ToolError(f"Partition replica lists may not contain duplicate entries: {'. '.join(repeated)}")
    return dict(moves)


def parse_log_dirs(text: str) -> LogDirTargets:
    """Parse the log directories in the JSON of a reassignment, without those that a broker may choose."""
    targets = {}
    for item in json_items(text, "partitions"):
        tp, replicas = _move(item)
        for broker, path in zip(replicas, _log_dirs(tp, item, replicas), strict=True):
            if path != ANY_LOG_DIR:
                targets[Replica(tp.topic, tp.partition, broker)] = path
    return targets


def parse_topics(text: str) -> list[str]:
    """Parse the file of ``--topics-to-move-json-file``."""
    topics = [item.get("topic") for item in json_items(text, "topics")]
    if not all(isinstance(topic, str) for topic in topics):
        raise ToolError(f"'topics' holds {topics!r}; expected a 'topic' (string) in each")
    twice = duplicates(topics)
    if twice:
        raise ToolError(f"List of topics to reassign contains duplicate entries: {_join(twice)}")
    return [str(topic) for topic in topics]


def parse_brokers(text: str) -> list[BrokerId]:
    """Parse ``--broker-list``, which is ids joined by commas."""
    try:
        brokers = [BrokerId(int(part)) for part in text.split(",")]
    except ValueError:
        raise ToolError(f"--broker-list {text!r} is not of the form 1,2,3") from None
    twice = duplicates(brokers)
    if twice:
        raise ToolError(f"Broker list contains duplicate entries: {_join(twice)}")
    return brokers


def render(moves: Mapping[TopicPartition, Iterable[int]]) -> str:
    """Format the moves as a file, ordered by topic and partition number."""
    return json.dumps(
        {
            "version": 1,
            "partitions": [
                {
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "replicas": list(replicas),
                    "log_dirs": [ANY_LOG_DIR for _ in replicas],
                }
                for tp, replicas in sorted((tp, tuple(replicas)) for tp, replicas in moves.items())
            ],
        },
        separators=(",", ":"),
    )


def propose(
    current: Mapping[TopicPartition, tuple[BrokerId, ...]],
    racks: Mapping[BrokerId, str | None],
    dice: Callable[[], float],
) -> Moves:
    """Propose a new placement of the partitions of ``current``, for each topic independently.

    Args:
        current: The partitions of whole topics with their replicas.
        racks: The target brokers with their racks, all of which are None to ignore racks.
        dice: Returns random numbers in [0, 1); called twice for each topic.

    Raises:
        ToolError: There are fewer brokers than replicas, or only some have a rack.
    """
    named = {broker: rack for broker, rack in racks.items() if rack is not None}
    if named and len(named) < len(racks):
        raise ToolError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    proposed: Moves = {}
    for topic in dict.fromkeys(tp.topic for tp in sorted(current)):
        numbers = sorted(tp.partition for tp in current if tp.topic == topic)
        factor = len(current[TopicPartition(topic, numbers[0])])
        if factor > len(racks):
            raise ToolError(f"Replication factor: {factor} larger than available brokers: {len(racks)}.")
        start, shift = int(dice() * len(racks)), int(dice() * len(racks))
        if named:
            placed = placement.assign_by_rack(named, len(numbers), factor, start=start, shift=shift)
        else:
            placed = placement.assign(sorted(racks), len(numbers), factor, start=start, shift=shift)
        proposed |= {TopicPartition(topic, number): replicas for number, replicas in placed.items()}
    return proposed


def _moves(text: str) -> list[tuple[TopicPartition, tuple[BrokerId, ...]]]:
    moves = []
    for item in json_items(text, "partitions"):
        tp, replicas = _move(item)
        _log_dirs(tp, item, replicas)
        moves.append((tp, tuple(BrokerId(replica) for replica in replicas)))
    return moves


def _move(item: Mapping[str, Any]) -> tuple[TopicPartition, list[int]]:
    tp, replicas = json_partition(item), item.get("replicas")
    if not isinstance(replicas, list) or any(type(each) is not int for each in replicas):
        raise ToolError(f"'replicas' of {tp} holds {replicas!r}; expected a list of numbers")
    return tp, replicas


def _log_dirs(tp: TopicPartition, item: Mapping[str, Any], replicas: list[int]) -> list[str]:
    log_dirs = item.get("log_dirs", [ANY_LOG_DIR] * len(replicas))
    if not isinstance(log_dirs, list) or len(log_dirs) != len(replicas):
        raise ToolError(
            f"Size of replicas list {replicas} is different from size of log dirs list {log_dirs} for "
            f"partition {tp}"
        )
    if not all(isinstance(each, str) for each in log_dirs):
        raise ToolError(
            f"The log dirs {log_dirs} of partition {tp} are no paths; expected an absolute path or "
            f"'{ANY_LOG_DIR}' for each replica"
        )
    return log_dirs


def _join(values: Iterable[object]) -> str:
    return ",".join(map(str, values))

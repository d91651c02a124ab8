"""The formats of values inside a line of release 2.8: for each a pattern, a writer and a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.statechange.leadership import (
    LEADERSHIP_PATTERN,
    read_leadership,
    write_leader_and_isr,
    write_leader_and_isr_partition,
    write_partition_state,
    write_stop_replica_partition,
    write_update_metadata_partition,
)


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """A format of a value.

    Attributes:
        name: The name in templates.
        pattern: A regular expression without groups that matches every spelling of a value.
        write: Writes a value.
        read: Reads the value of a matching text.
    """

    name: str
    pattern: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]


def is_readable(text: str) -> bool:
    """Return whether every number in a text has at most 299 digits; Python refuses numbers of some thousand.

    Kafka's numbers have at most 19 digits, and its topic names at most 249 letters.
    """
    return _ENDLESS.search(text) is None


def read_topic_partition(text: str) -> TopicPartition:
    """Read ``topic-0``, in which the last hyphen separates the partition number.

    Raises:
        ValueError: The text does not end with a partition number.
    """
    topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))


def write_node(broker: Broker, listener: str = GRPC_LISTENER) -> str:
    """Write a broker as ``org.apache.kafka.common.Node`` prints it: ``host:port (id: 1 rack: null)``.

    Args:
        broker: The broker.
        listener: The listener to which the logging process connects.
    """
    endpoint = broker.endpoint(listener)
    address = f"{endpoint.host}:{endpoint.port}" if endpoint else ":-1"
    return f"{address} (id: {broker.id} rack: {'null' if broker.rack is None else broker.rack})"


def _read_node(text: str) -> int:
    found = _NODE_ID.search(text)
    if found is None:
        raise ValueError(f"a node names no broker id: {text!r}")
    return int(found[1])


def _write_assignment(value: Assignment) -> str:
    return (
        f"ReplicaAssignment(replicas={_join(value.replicas)}, addingReplicas={_join(value.adding)}, "
        f"removingReplicas={_join(value.removing)})"
    )


def _read_assignment(text: str) -> Assignment:
    parts = [*_ASSIGNED.findall(text), "", "", ""][:3]
    replicas, adding, removing = (tuple(BrokerId(int(n)) for n in part.split(",") if n) for part in parts)
    return Assignment(replicas, adding, removing)


def _read_topic_partitions(text: str) -> tuple[TopicPartition, ...]:
    return tuple(read_topic_partition(part) for part in _EACH_TOPIC_PARTITION.findall(text))


def _read_ids(text: str) -> tuple[int, ...]:
    inner = text[text.find("(") + 1 :].strip("[]() ")
    return tuple(int(part) for part in inner.split(",") if part.strip())


def _join(values: Iterable[object], by: str = ",") -> str:
    return by.join(str(value) for value in values)


_NODE_ID = re.compile(r"\(id: (-?\d+) ", re.ASCII)
_ASSIGNED = re.compile(r"\w+=([\d,]*?)(?=, |\))", re.ASCII)
_ENDLESS = re.compile(r"\d{300}")
_IDS = r"(?:-?\d+(?:, ?-?\d+)*)?"
_TOPIC_PARTITION = r"[^\s,\[\]]+-\d+"
_EACH_TOPIC_PARTITION = re.compile(_TOPIC_PARTITION, re.ASCII)

_FORMATS = (
    ValueFormat("int", r"-?\d+", str, int),
    ValueFormat("word", r"\w+", str, str),
    ValueFormat(
        "flag", r"true|false", lambda value: "true" if value else "false", lambda text: text == "true"
    ),
    ValueFormat("text", r".*", str, str),
    ValueFormat("uuid", r"[\w-]+", str, str),
    ValueFormat("transition", r"become-(?:leader|follower)", str, str),
    ValueFormat("topic_partition", _TOPIC_PARTITION, str, read_topic_partition),
    ValueFormat(
        "topic_partitions",
        rf"{_TOPIC_PARTITION}(?:,{_TOPIC_PARTITION})*|",
        _join,
        _read_topic_partitions,
    ),
    ValueFormat("ids", _IDS, _join, _read_ids),
    ValueFormat("id_array", rf"\[{_IDS}\]", lambda ids: f"[{_join(ids)}]", _read_ids),
    ValueFormat(
        "id_set",
        rf"(?:Hash)?Set\({_IDS}\)",
        lambda ids: f"HashSet({_join(ids, ', ')})" if ids else "Set()",
        _read_ids,
    ),
    ValueFormat("node", r"\S+ \(id: -?\d+ rack: [^()]*\)", str, _read_node),
    ValueFormat("assignment", r"ReplicaAssignment\([^()]*\)", _write_assignment, _read_assignment),
    ValueFormat("leader_and_isr", LEADERSHIP_PATTERN, write_leader_and_isr, read_leadership),
    ValueFormat("leader_isr_and_epoch", LEADERSHIP_PATTERN, write_partition_state, read_leadership),
    ValueFormat("leader_and_isr_state", LEADERSHIP_PATTERN, write_leader_and_isr_partition, read_leadership),
    ValueFormat(
        "update_metadata_state", LEADERSHIP_PATTERN, write_update_metadata_partition, read_leadership
    ),
    ValueFormat("stop_replica_state", LEADERSHIP_PATTERN, write_stop_replica_partition, read_leadership),
)

FORMATS: dict[str, ValueFormat] = {value_format.name: value_format for value_format in _FORMATS}
"""The formats by name."""

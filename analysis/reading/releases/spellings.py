"""The spellings of values inside a line, in all releases since 0.8.

Two lines that differ only in the spelling of a value share one row of a table of lines.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from barnabas.analysis.reading.releases.leadership import LEADERSHIP_PATTERN, read_leadership
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange.template import row as row_with
from barnabas.cluster.model.statechange.values import FORMATS, ValueFormat


def read_topic_partition(text: str) -> TopicPartition:
    """Read ``[topic,0]`` (up to 0.11) or ``topic-0``; the partition follows the last hyphen.

    Raises:
        ValueError: The text does not end with a partition number.
    """
    if text.startswith("["):
        topic, _, partition = text[1:-1].rpartition(",")
    else:
        topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))


def _read_topic_partitions(text: str) -> tuple[TopicPartition, ...]:
    return tuple(read_topic_partition(part) for part in _EACH_TOPIC_PARTITION.findall(text))


def _read_node(text: str) -> int:
    found = _NODE_ID.search(text)
    if found is None:
        raise ValueError(f"a node names no broker id: {text!r}")
    return int(found[1] or found[2] or found[3])


def _read_optional_id(text: str) -> int | None:
    inner = text.removeprefix("Some(").removesuffix(")")
    return None if inner == "None" else int(inner)


def _read_optional_text(text: str) -> str | None:
    return None if text == "None" else text.removeprefix("Some(").removesuffix(")")


def _optional(value: object) -> str:
    return "None" if value is None else f"Some({value})"


_NODE_ID = re.compile(r"Node\((-?\d+),|\bid: ?(-?\d+)|^(-?\d+)$", re.ASCII)
_NODE = (
    r"(?:Node\(-?\d+, \S+, \d+\)|\S+ \(id: -?\d+ rack: [^()]*\)"
    r"|id:\d+,host:\S+,port:\d+|-?\d+)"
)
_TOPIC_PARTITION = r"(?:\[[^\s,\[\]]+,\s?\d+\]|[^\s,\[\]]+-\d+)"
_EACH_TOPIC_PARTITION = re.compile(_TOPIC_PARTITION, re.ASCII)

_LEADERSHIPS = (
    "leader_and_isr",
    "leader_isr_and_epoch",
    "leader_and_isr_state",
    "update_metadata_state",
    "stop_replica_state",
)

_OTHERS = (
    replace(FORMATS["topic_partition"], pattern=_TOPIC_PARTITION, read=read_topic_partition),
    replace(
        FORMATS["topic_partitions"],
        pattern=rf"{_TOPIC_PARTITION}(?:,{_TOPIC_PARTITION})*|",
        read=_read_topic_partitions,
    ),
    # Scala prints the name of the collection's class, which differs between Scala releases.
    replace(FORMATS["id_set"], pattern=FORMATS["id_set"].pattern.replace("(?:Hash)?", r"\w*")),
    replace(
        FORMATS["node"],
        pattern=_NODE,
        read=_read_node,
    ),
    ValueFormat("previous_leader", r"Some\(-?\d+\)|None", _optional, _read_optional_id),
    ValueFormat("topic_id", r"Some\([^\s()]*\)|None", _optional, _read_optional_text),
    ValueFormat(
        "under_min_isr", r"(?:\(under-min-isr\))?", lambda under: "(under-min-isr)" if under else "", bool
    ),
    ValueFormat(
        "end_point",
        r"BrokerEndPoint\(id=-?\d+, host=\S+\)",
        str,
        lambda text: int(text[18 : text.index(",")]),
    ),
    *(replace(FORMATS[name], pattern=LEADERSHIP_PATTERN, read=read_leadership) for name in _LEADERSHIPS),
)

SPELLINGS: dict[str, ValueFormat] = FORMATS | {value_format.name: value_format for value_format in _OTHERS}
"""The formats by name: those of 2.8 with the spellings of all releases, and those that 2.8 lacks."""

row = functools.partial(row_with, spellings=SPELLINGS)
"""The constructor of a row of a table of lines, with the spellings of all releases."""

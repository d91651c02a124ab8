"""Clusters that were made on the hosts of another one: the same broker ids, but another cluster id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.rows import BrokerLine

_START = timedelta(minutes=1)
"""The longest time from the first line of a process to the one with which it starts as a broker."""

_KINDS = (BrokerKind.NODE_STARTING, BrokerKind.STARTING, BrokerKind.CLUSTER_NAMED)


class Beginning(NamedTuple):
    """The first start of a broker in another cluster than before.

    Attributes:
        broker: The broker.
        start: The first line of the process; the line with the cluster id if no line shows the start.
        named: The line with the cluster id.
        before: The id of the cluster before.
        after: The id of the cluster.
        lines: The lines that give the two ids.
    """

    broker: int
    start: datetime
    named: datetime
    before: str
    after: str
    lines: Lines


def beginnings(lines: Iterable[BrokerLine]) -> list[Beginning]:
    """Return the starts of brokers in another cluster, by time."""
    found: list[Beginning] = []
    named: dict[int, BrokerLine] = {}
    starts: dict[int, datetime] = {}
    own = (each for each in lines if each.kind in _KINDS)
    for line in sorted(own, key=lambda each: (each.time, each.line)):
        broker = line.subject
        if broker is None:
            continue
        is_first = line.time - starts.get(broker, datetime.min) > _START  # noqa: DTZ901  (no zone)
        if line.kind == BrokerKind.NODE_STARTING or (line.kind == BrokerKind.STARTING and is_first):
            starts[broker] = line.time
        if line.kind != BrokerKind.CLUSTER_NAMED or line.cluster is None:
            continue
        before = named.get(broker)
        if before is not None and before.cluster is not None and before.cluster != line.cluster:
            start = max(starts.get(broker, before.time), before.time)
            found.append(
                Beginning(
                    broker, line.time if start == before.time else start, line.time, before.cluster,
                    line.cluster, (line.line, before.line),
                )
            )  # fmt: skip
        named[broker] = line
    return found


def cluster_folders(lines: Iterable[BrokerLine]) -> dict[str, str]:
    """Return the ids of clusters by the folders of their logs, where lines name only one in a folder."""
    named: dict[str, set[str]] = {}
    for line in lines:
        if line.cluster is not None:
            named.setdefault(line.line.source.rpartition("/")[0], set()).add(line.cluster)
    return {folder: next(iter(found)) for folder, found in named.items() if len(found) == 1}


def are_of_several(folders: Mapping[str, str], one: Lines, other: Lines) -> bool:
    """Return whether lines are of another cluster than others, by the folders of their files."""
    ids, others = (
        {folders.get(line.source.rpartition("/")[0]) for line in lines} - {None} for lines in (one, other)
    )
    return bool(ids) and bool(others) and ids.isdisjoint(others)

"""The brokers that wrote lines which do not name their writer, as far as the lines around prove it.

People have one folder for three brokers, or forty lines of one file. ``[Partition orders-0 broker=1]`` names
its writer, ``starting (kafka.server.KafkaServer)`` does not. A doubt stays a doubt.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind

AT_ONCE = timedelta(seconds=10)
"""The longest time between signals that stop several brokers together."""

STOP = timedelta(seconds=30)
"""The longest time from a signal until the broker is seen to stop."""

START = timedelta(seconds=60)
"""The longest time from the first line of a process to one that names it."""

_FIRST = (BrokerKind.NODE_STARTING, BrokerKind.STARTING)


class Place(NamedTuple):
    """The place of a line, as in the table ``events``."""

    source: str
    block: int
    line: int


class Named(NamedTuple):
    """A line that names its writer."""

    place: Place
    time: datetime
    broker: int


class Nameless(NamedTuple):
    """A line of a process about itself that does not name it."""

    place: Place
    time: datetime
    kind: str


class Stop(NamedTuple):
    """A line which shows that a broker begins to stop."""

    folder: str
    time: datetime
    broker: int


def folder_of(source: str) -> str:
    """Return the folder of a file."""
    return source.rpartition("/")[0]


def owners_of(writers: Mapping[str, frozenset[int]]) -> dict[str, int]:
    """Return the files of which all lines are of one broker, with that broker.

    Those are the files of a folder in which lines name only one broker.

    Args:
        writers: The brokers that lines of each file name as their writers; empty for none.
    """
    in_folder: dict[str, set[int]] = defaultdict(set)
    for source, brokers in writers.items():
        in_folder[folder_of(source)] |= brokers
    return {
        source: next(iter(found)) for source in writers if len(found := in_folder[folder_of(source)]) == 1
    }


def writers_of(
    nameless: Sequence[Nameless], named: Iterable[Named], stops: Sequence[Stop]
) -> dict[Place, int]:
    """Return the writers of lines in files that several brokers may have written.

    Signals at the same time are of the brokers that stop then, if these are as many. The first line of a
    process is of the broker that the next line names. Any other line is of the broker that is named before
    and after it, or alone in its file.
    """
    around: dict[str, list[Named]] = defaultdict(list)
    for line in named:
        around[line.place.source].append(line)
    for lines in around.values():
        lines.sort()
    found = _signalled(nameless, stops)
    signals = Counter(each.place.source for each in nameless if each.kind == BrokerKind.STOP_SIGNALLED)
    for each in nameless:
        # A process gets one signal: of several in a file those that no stop explains are of several brokers.
        is_doubtful = each.kind == BrokerKind.STOP_SIGNALLED and signals[each.place.source] > 1
        if each.place not in found and not is_doubtful:
            writer = _neighbour(each, around[each.place.source])
            if writer is not None:
                found[each.place] = writer
    return found


def _signalled(nameless: Iterable[Nameless], stops: Iterable[Stop]) -> dict[Place, int]:
    """Return the brokers that signals at the same time stopped, by the order of their stops."""
    signals = (each for each in nameless if each.kind == BrokerKind.STOP_SIGNALLED)
    groups: list[list[Nameless]] = []
    for each in sorted(signals, key=lambda each: (each.time, each.place)):
        is_next = groups and each.time - groups[-1][-1].time <= AT_ONCE
        if is_next and folder_of(groups[-1][0].place.source) == folder_of(each.place.source):
            groups[-1].append(each)
        else:
            groups.append([each])
    found: dict[Place, int] = {}
    for group in groups:
        folder, since, until = folder_of(group[0].place.source), group[0].time, group[-1].time + STOP
        seen = sorted(each for each in stops if each.folder == folder and since <= each.time <= until)
        brokers = list(dict.fromkeys(each.broker for each in seen))
        if len(brokers) == len(group):
            found |= {each.place: broker for each, broker in zip(group, brokers, strict=True)}
    return found


def _neighbour(line: Nameless, lines: Sequence[Named]) -> int | None:
    """Return the broker that the lines around name; None if they name several, or none."""
    if len({each.broker for each in lines}) == 1:
        return lines[0].broker
    index = bisect(lines, (line.place,), key=lambda each: (each.place,))
    after = lines[index] if index < len(lines) else None
    if line.kind in _FIRST:
        return after.broker if after is not None and after.time - line.time <= START else None
    before = lines[index - 1] if index else None
    return before.broker if before and after and before.broker == after.broker else None

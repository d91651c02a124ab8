"""The story of a cluster: its faults, and the changes of controllers, leaders and ISRs. Pure.

The changes come from the lines of ``state-change.log`` in which a broker caches a partition's state, at level
TRACE. Every broker writes each of them, and the story has the first one. A leader that shrinks or expands an
ISR logs it in ``server.log``, seconds before the controller informs the others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange import Kind, Leadership, read_message
from barnabas.cluster.model.statechange.template import Speaker

MOST_LINES = 300
"""The most lines of a story; the first ones are left out."""

_STAMP = slice(1, 24)
"""The place of the time in a line, ``2026-11-21 03:12:45,678``."""

_TIME_OF_DAY = slice(11, None)

_ISR_UPDATED = re.compile(
    r"\[Partition (\S+)-(\d+) broker=\d+\] ISR updated to ([\d,]*) and version updated to \[(\d+)\]", re.ASCII
)

_NO_PARTITION = TopicPartition("", -1)


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the test on the cluster, such as a fault, with its time as in the logs."""

    stamp: str
    text: str


@dataclass(slots=True)
class _Known:
    """The facts in the lines so far.

    Attributes:
        epoch: The highest controller epoch.
        partitions: The last leadership of each partition.
        seen: The versions of the states that were reported; every write raises a partition's version.
    """

    epoch: int = 0
    partitions: dict[TopicPartition, Leadership] = field(default_factory=dict)
    seen: dict[TopicPartition, set[int | None]] = field(default_factory=dict)

    def update(self, tp: TopicPartition, now: Leadership) -> str | None:
        """Note a partition's state; return the words about what is new in it, None if nothing is."""
        if now.version in self.seen.setdefault(tp, set()):
            return None
        self.seen[tp].add(now.version)
        before = self.partitions.get(tp)
        self.partitions[tp] = now
        return _difference(before, now)


@dataclass(frozen=True, slots=True)
class _Change:
    stamp: str
    subject: str
    text: str


def stamp(seconds: float) -> str:
    """Return the time as the logs write it; ``seconds`` since 1970."""
    whole = int(seconds)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(whole))},{int((seconds - whole) * 1000):03d}"


def story_of(actions: Iterable[Action], lines: Iterable[str], since: str) -> list[str]:
    """Return a line for each event from ``since`` on.

    Args:
        actions: The test's actions.
        lines: The lines of all brokers' state-change.log and server.log, in any order. Lines
            before ``since`` give the state at the begin of the story.
        since: The time at which the story begins, as ``stamp`` returns it.
    """
    known = _Known()
    ours = sorted(line for line in lines if line[:1] == "[")
    changes = [change for line in ours for change in _changes(line, known)]
    changes += [_Change(action.stamp, "", f"--- {action.text}") for action in actions]
    changes = sorted((each for each in changes if each.stamp >= since), key=lambda each: each.stamp)
    lines = list(_merged(changes))
    if len(lines) > MOST_LINES:
        return [f"({len(lines) - MOST_LINES} earlier lines are left out)", *lines[-MOST_LINES:]]
    return lines


def _merged(changes: Iterable[_Change]) -> Iterator[str]:
    """Generate the lines; partitions of a topic that change alike, one after the other, share one."""
    for (topic, text), same in groupby(
        changes, key=lambda each: (each.subject.rpartition("-")[0], each.text)
    ):
        alike = list(same)
        time_of_day = alike[0].stamp[_TIME_OF_DAY]
        if topic:
            numbers = ",".join(each.subject.rpartition("-")[2] for each in alike)
            yield f"{time_of_day} {topic}-{numbers}: {text}"
        else:
            yield from (f"{each.stamp[_TIME_OF_DAY]} {text}" for each in alike)


def _changes(line: str, known: _Known) -> Iterator[_Change]:
    """Generate the new facts in a line."""
    at = line[_STAMP]
    updated = _updated(line, known)
    if updated is not None:
        yield updated
        return
    _, _, text = line[25:].strip().partition(" ")
    message = read_message(text.rpartition(" (")[0])
    if message.speaker is Speaker.CONTROLLER and (message.speaker_epoch or 0) > known.epoch:
        known.epoch = message.speaker_epoch or 0
        yield _Change(at, "", f"broker {message.speaker_id} is the controller, epoch {known.epoch}")
    tp: TopicPartition = message.values.get("tp", _NO_PARTITION)
    if message.kind == Kind.METADATA_DELETED and known.partitions.pop(tp, None) is not None:
        known.seen.pop(tp, None)
        yield _Change(at, str(tp), "deleted")
    elif message.kind == Kind.METADATA_CACHED:
        said = known.update(tp, message.values["leadership"])
        if said is not None:
            yield _Change(at, str(tp), said)


def _updated(line: str, known: _Known) -> _Change | None:
    """Return the fact in a leader's line about an ISR that it has written itself, if it is new."""
    found = _ISR_UPDATED.search(line)
    if found is None:
        return None
    tp = TopicPartition(found[1], int(found[2]))
    isr = tuple(int(broker) for broker in found[3].split(",") if broker)
    before = known.partitions.get(tp)
    if before is None:
        return None
    said = known.update(tp, replace(before, isr=isr, version=int(found[4])))
    return None if said is None else _Change(line[_STAMP], str(tp), said)


def _difference(before: Leadership | None, now: Leadership) -> str:
    leader, isr = _leader(now.leader), _ids(now.isr)
    if before is None:
        return f"leader {leader}, ISR {isr}"
    said = []
    if before.leader != now.leader:
        said.append(f"leader {_leader(before.leader)} -> {leader} (leader epoch {now.leader_epoch})")
    if before.isr != now.isr:
        said.append(f"ISR {_ids(before.isr)} -> {isr}")
    return ", ".join(said) or f"leader {leader} again, leader epoch {now.leader_epoch}"


def _leader(broker: int | None) -> str:
    return "none" if broker is None or broker < 0 else str(broker)


def _ids(brokers: tuple[int, ...] | None) -> str:
    return ",".join(map(str, sorted(brokers or ()))) or "empty"

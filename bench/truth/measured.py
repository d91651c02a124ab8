"""The measurements of a scenario: the scripted faults, ZooKeeper's history, and brokers' answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from barnabas.bench.truth.probe import Answers
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import FailedDisk, Span
from barnabas.bench.truth.znodes import Znodes


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done to a broker.

    Attributes:
        broker: The broker.
        action: What was done.
        gone: From the signal to the end of the process, or to the answer of ZooKeeper.
        returned: From the start, SIGCONT or the end of the cut until it served; None if it stayed away.
    """

    broker: int
    action: Action
    gone: Span
    returned: Span | None


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything measured of a scenario.

    Attributes:
        window: From the creation of the topics to the end.
        deeds: What was done, by time.
        znodes: What ZooKeeper wrote since its first transaction.
        answers: What the brokers answered to the probe.
        partitions: The partitions of the scenario's topics.
        session: The ZooKeeper session timeout.
        min_insync: min.insync.replicas of all topics.
        disks: The log directories that were gone, by time.
    """

    window: Span
    deeds: Sequence[Deed]
    znodes: Znodes
    answers: Answers = field(default_factory=dict)
    partitions: Sequence[str] = ()
    session: timedelta = timedelta(0)
    min_insync: int = 1
    disks: Sequence[FailedDisk] = ()


def at(seconds: float) -> datetime:
    """Return a moment as the logs of a machine in UTC write it."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def span(begin: float, end: float) -> Span:
    """Return the span between two moments in seconds since 1970."""
    return Span(at(begin), at(end))


def names_of(topics: Mapping[str, int]) -> list[str]:
    """Return the names of the partitions of topics."""
    return [f"{topic}-{number}" for topic, count in topics.items() for number in range(count)]

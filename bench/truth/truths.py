"""The truth about a cluster, with the uncertainty of its measurement, and its JSON. Pure.

All times are those of one machine's clock. A ``Span`` is the time between two measurements within which
something happened, such as the sending of a signal and the end of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from barnabas.bench.truth.scenarios import Action


class Span(NamedTuple):
    """The time within which something happened.

    Attributes:
        low: The earliest moment.
        high: The latest moment.
    """

    low: datetime
    high: datetime


@dataclass(frozen=True, slots=True)
class Departure:
    """A broker that went, or was cut off.

    Attributes:
        broker: The broker.
        action: What was done to it.
        gone: When it went.
        returned: When it was back; None if it did not return.
        was_controller: Whether it was the controller until then; None if that is not certain.
        kept: The partitions that it still led when it went.
    """

    broker: int
    action: Action
    gone: Span
    returned: Span | None
    was_controller: bool | None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedDisk:
    """A log directory of a broker that was gone, while the broker stayed.

    Attributes:
        broker: The broker.
        failed: From its end until it was back, which is when the broker may have noticed.
        partitions: The partitions whose replicas lay there.
    """

    broker: int
    failed: Span
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaderless:
    """A time in which no broker led a partition.

    Attributes:
        partition: The partition, as ``topic-0``.
        leader_before: The leader that was lost.
        begin: When it was lost.
        leader_after: The next leader; None if there was none.
        end: When the next leader led; None if there was none.
        is_due: Whether a story that does not tell of it is incomplete; not if no line can show it.
    """

    partition: str
    leader_before: int
    begin: Span
    leader_after: int | None
    end: Span | None
    is_due: bool = True

    @property
    def least(self) -> timedelta:
        """Return the shortest time that the measurements allow."""
        return timedelta(0) if self.end is None else max(self.end.low - self.begin.high, timedelta(0))

    @property
    def most(self) -> timedelta | None:
        """Return the longest time that the measurements allow; None without an end."""
        return None if self.end is None else self.end.high - self.begin.low


class InSync(NamedTuple):
    """An ISR, and when it was written.

    Attributes:
        since: When ZooKeeper wrote it.
        size: The number of its members.
    """

    since: datetime
    size: int


class Tenure(NamedTuple):
    """A controller.

    Attributes:
        broker: The broker.
        epoch: The controller epoch.
        since: When it was elected.
    """

    broker: int
    epoch: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that was measured.

    Attributes:
        departures: The brokers that went, by time.
        leaderless: The times without a leader.
        controllers: The controllers, by time; empty if they were not watched.
        in_sync: The ISRs of each partition, by time; empty if they were not watched.
        min_insync: min.insync.replicas of all topics.
        disks: The log directories that were gone, by time.
    """

    departures: tuple[Departure, ...]
    leaderless: tuple[Leaderless, ...] = ()
    controllers: tuple[Tenure, ...] = ()
    in_sync: Mapping[str, tuple[InSync, ...]] = field(default_factory=dict)
    min_insync: int = 1
    disks: tuple[FailedDisk, ...] = ()


def as_json(truth: Truth) -> dict[str, Any]:
    """Convert to JSON."""
    return {
        "departures": [
            {
                "broker": each.broker,
                "action": each.action.value,
                "gone": _as_text(each.gone),
                "returned": _as_text(each.returned),
                "was_controller": each.was_controller,
                "kept": list(each.kept),
            }
            for each in truth.departures
        ],
        "leaderless": [
            {
                "partition": each.partition,
                "leader_before": each.leader_before,
                "begin": _as_text(each.begin),
                "leader_after": each.leader_after,
                "end": _as_text(each.end),
                "is_due": each.is_due,
            }
            for each in truth.leaderless
        ],
        "controllers": [[each.broker, each.epoch, each.since.isoformat(" ")] for each in truth.controllers],
        "in_sync": {
            name: [[each.since.isoformat(" "), each.size] for each in steps]
            for name, steps in truth.in_sync.items()
        },
        "min_insync": truth.min_insync,
        "disks": [
            {"broker": each.broker, "failed": _as_text(each.failed), "partitions": list(each.partitions)}
            for each in truth.disks
        ],
    }


def from_json(content: Mapping[str, Any]) -> Truth:
    """Convert from JSON.

    Raises:
        KeyError: A part is missing.
        ValueError: A time or an action is none.
    """
    return Truth(
        departures=tuple(
            Departure(
                each["broker"], Action(each["action"]), _span(each["gone"]), _maybe(each["returned"]),
                each["was_controller"], tuple(each["kept"]),
            )
            for each in content["departures"]
        ),
        leaderless=tuple(
            Leaderless(
                each["partition"], each["leader_before"], _span(each["begin"]), each["leader_after"],
                _maybe(each["end"]), each.get("is_due", True),
            )
            for each in content["leaderless"]
        ),
        controllers=tuple(
            Tenure(broker, epoch, datetime.fromisoformat(since))
            for broker, epoch, since in content["controllers"]
        ),
        in_sync={
            name: tuple(InSync(datetime.fromisoformat(since), size) for since, size in steps)
            for name, steps in content["in_sync"].items()
        },
        min_insync=content["min_insync"],
        disks=tuple(
            FailedDisk(each["broker"], _span(each["failed"]), tuple(each["partitions"]))
            for each in content.get("disks", ())
        ),
    )  # fmt: skip


def _as_text(span: Span | None) -> list[str] | None:
    return None if span is None else [span.low.isoformat(" "), span.high.isoformat(" ")]


def _span(texts: list[str]) -> Span:
    low, high = map(datetime.fromisoformat, texts)
    return Span(low, high)


def _maybe(texts: list[str] | None) -> Span | None:
    return None if texts is None else _span(texts)

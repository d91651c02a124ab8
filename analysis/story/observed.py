"""Everything that the incident model knows, and how it is looked up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.rows import (
    BrokerLine,
    Controller,
    Delay,
    LedAgain,
    Mark,
    Refusal,
    Setting,
    State,
)

OF_KRAFT = (
    BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNREGISTERED, BrokerKind.BROKER_FENCED,
    BrokerKind.BROKER_UNFENCED, BrokerKind.BROKER_STOP_GRANTED,
)  # fmt: skip
"""The kinds of lines by which a controller of KRaft names a broker."""

_NO_ROLES = "process.roles=[]"
"""The setting of a broker of ZooKeeper mode from Kafka 2.8 on."""

CLOCKS = timedelta(seconds=2)
"""The largest difference of clocks that is assumed."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that the story is made from.

    Attributes:
        brokers: The lines about brokers, by time.
        states: The states of partitions.
        marks: The lines that show a partition without a leader.
        led: The lines of leaders that they lead, of partitions that ``marks`` concern, by time.
        refusals: The lines of brokers that they do not lead, by time.
        controllers: The controllers, by the time of their elections.
        spoken: The times of each broker's own lines, sorted. Within a second the first and the last suffice.
        served: The times of those of them that a broker writes only when it has started, sorted. Of each
            second the last suffices, and any may be missing.
        as_brokers: Those of whose lines some are a broker's; a process of KRaft may be a controller only.
        spoken_until: Until when ``spoken`` has each broker's last line before all moments that the model
            looks at; None to the end of the logs.
        deleted: When the topic of a partition's life was deleted.
        settings: The topics' settings in the output of Kafka's tools, which has no times.
        min_insync: The brokers' min.insync.replicas as the operator gives it; None to take it from the lines.
        untold: The number of partitions with trouble that are left out, because all have too many states.
        delays: The delays of brokers' lines, by controller and broker.
        moves: When controllers moved what lay on a log directory, as begins and ends, by broker and time of
            its failure, as far as the model has found out.
        repeated: The spans whose local times occurred twice, as clocks were set back for the winter: a time
            in them may be an hour off.
        is_kraft: Whether the lines show a cluster of KRaft, of which a controller need not be a broker.
    """

    brokers: Sequence[BrokerLine] = ()
    states: Sequence[State] = ()
    marks: Sequence[Mark] = ()
    led: Sequence[LedAgain] = ()
    refusals: Sequence[Refusal] = ()
    controllers: Sequence[Controller] = ()
    spoken: Mapping[int, Sequence[datetime]] = field(default_factory=dict)
    served: Mapping[int, Sequence[datetime]] = field(default_factory=dict)
    as_brokers: frozenset[int] = frozenset()
    spoken_until: datetime | None = None
    deleted: Mapping[tuple[str, int, int], datetime] = field(default_factory=dict)
    settings: Sequence[Setting] = ()
    min_insync: int | None = None
    untold: int = 0
    delays: Sequence[Delay] = ()
    moves: Mapping[tuple[int, datetime], Sequence[tuple[datetime, datetime]]] = field(default_factory=dict)
    repeated: Sequence[tuple[datetime, datetime]] = ()
    is_kraft: bool = field(init=False)
    _about: Mapping[tuple[int | None, str], Sequence[BrokerLine]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Group the lines about brokers, which are looked for once for each absence and each outage."""
        about: dict[tuple[int | None, str], list[BrokerLine]] = {}
        for line in self.brokers:
            about.setdefault((line.subject, line.kind), []).append(line)
        for lines in about.values():
            lines.sort(key=_time)
        object.__setattr__(self, "_about", about)
        kinds = {kind for _, kind in about}
        is_kraft = not kinds.isdisjoint((*OF_KRAFT, BrokerKind.NODE_STARTED)) or any(
            map(_has_roles, self.brokers)
        )
        object.__setattr__(self, "is_kraft", is_kraft)

    def in_seconds(self) -> list[str]:
        """Return the files whose times are whole seconds, by the first line of each that is at hand."""
        first: dict[str, Line] = {}
        for line in (*(each.line for each in self.brokers), *(each.line for each in self.states)):
            first.setdefault(line.source, line)
        return sorted(source for source, line in first.items() if line.is_in_seconds)

    def about(self, broker: int | None, *kinds: str) -> list[BrokerLine]:
        """Return the lines of some kinds about a broker, kind by kind, each by time."""
        return [line for kind in kinds for line in self._about.get((broker, kind), ())]

    def of_kind(self, kind: str) -> Iterator[BrokerLine]:
        """Generate the lines of a kind about all brokers, of each by time."""
        for (_, each), lines in self._about.items():
            if each == kind:
                yield from lines

    def about_within(
        self, broker: int | None, kind: str, since: datetime | None, until: datetime | None
    ) -> Sequence[BrokerLine]:
        """Return the lines of a kind about a broker from one moment to another, by time.

        Args:
            broker: The broker.
            kind: The kind.
            since: The first moment; None for no bound.
            until: The last moment; None for no bound.
        """
        lines = self._about.get((broker, kind), ())
        first = 0 if since is None else bisect_left(lines, since, key=_time)
        last = len(lines) if until is None else bisect_right(lines, until, key=_time)
        return lines[first:last]

    def knows_until(self, time: datetime) -> bool:
        """Return whether a broker that has no line up to a moment in ``spoken`` was silent until then."""
        return self.spoken_until is None or time <= self.spoken_until

    def last_spoken(self, broker: int, until: datetime) -> datetime | None:
        """Return the time of the broker's last own line before ``until``."""
        return _last_before(self.spoken.get(broker, ()), until)

    def has_spoken_since(self, broker: int, time: datetime) -> bool:
        """Return whether a broker has a line of its own at or after a moment."""
        times = self.spoken.get(broker, ())
        return len(times) > 0 and times[-1] >= time

    def last_served(self, broker: int, until: datetime) -> datetime | None:
        """Return the time of the last line before ``until`` that the broker wrote after a start."""
        return _last_before(self.served.get(broker, ()), until)


def _has_roles(line: BrokerLine) -> bool:
    return any(each.startswith("process.roles=") and each != _NO_ROLES for each in line.settings)


def first_after(times: Sequence[datetime], since: datetime) -> datetime | None:
    """Return the first of some sorted times after a moment; None if there is none."""
    index = bisect_right(times, since)
    return times[index] if index < len(times) else None


def _last_before(times: Sequence[datetime], until: datetime) -> datetime | None:
    index = bisect_left(times, until)
    return times[index - 1] if index else None


def _time(line: BrokerLine) -> datetime:
    return line.time


def seconds(times: Iterable[datetime]) -> list[datetime]:
    """Return the first and the last time of each second, sorted."""
    kept: list[datetime] = []
    for time in sorted(times):
        second = time.replace(microsecond=0)
        if len(kept) > 1 and kept[-2] >= second:
            kept[-1] = time
        else:
            kept.append(time)
    return kept

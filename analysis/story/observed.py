"""The facts in the lines as typed rows, which are the input of the incident model."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Line, Lines

NO_LEADER = -1

RECORD = '{"offset": '
"""The begin of the text of a record of a metadata log, as ``metadata.history`` writes it."""

Row = Mapping[str, Any]


_MIN_INSYNC = "min.insync.replicas"


class BrokerLine(NamedTuple):
    """A row of the table ``broker_events``, with the same names; ``cluster`` is its column ``cluster_id``.

    ``subject`` is also the replica that a controller takes offline, and the broker to which it sends
    LeaderAndIsr or StopReplica. ``in_sync`` is its column ``count``, in a leader's line the number of
    replicas in sync. ``setting`` is the line of an entry below its first one that gives min.insync.replicas.
    """

    time: datetime
    kind: str
    role: str | None
    broker: int | None
    subject: int | None
    line: Line
    added: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    bounced: tuple[int, ...] = ()
    live: tuple[int, ...] = ()
    contact: str | None = None
    error: str | None = None
    broker_epoch: int | None = None
    settings: tuple[str, ...] = ()
    topic: str | None = None
    partition: int | None = None
    minimum: int | None = None
    cluster: str | None = None
    controller_epoch: int | None = None
    duration_ms: int | None = None
    in_sync: int | None = None
    setting: Line | None = None


class State(NamedTuple):
    """A row of the table ``states``, with the same names; ``was`` is its column ``from``.

    Attributes:
        removed: The replica whose removal from the ISR led to the state; None if no line says so.
        election: How its leader was elected, a value of ``Election``; None if no line says so.
        changed: When the ISR was changed to this one, by the line of its leader or of a metadata log.
        adding: The replicas that a reassignment adds; None if no line says which.
        removing: Those that it removes; None if no line says which.
        kept: Until when at least the ISR was this one, by the leader's next line about it; None if no line of
            a leader that logs what it asks for shows it.
    """

    topic: str
    partition: int
    life: int
    leader_epoch: int | None
    version: int | None
    leader: int
    isr: tuple[int, ...] | None
    replicas: tuple[int, ...] | None
    controller_epoch: int | None
    decided: datetime | None
    first_logged: datetime
    led_at: datetime | None
    was: str | None
    removed: int | None
    line: Line
    election: str | None = None
    changed: datetime | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    kept: datetime | None = None


class LeaderIsr(NamedTuple):
    """A leader's line about a change of the ISR of a partition.

    Attributes:
        before: The ISR before; empty if the line does not give it.
        isr: The ISR after it; None if the change failed.
        version: The version of that ISR; None if the leader only asks for the change.
    """

    topic: str
    partition: int
    life: int
    time: datetime
    broker: int
    before: tuple[int, ...]
    isr: tuple[int, ...] | None
    version: int | None
    line: Line


class Mark(NamedTuple):
    """A controller's line which shows that a partition had no leader at ``time``.

    Attributes:
        reason: Why an election failed; None if the line is not about an election.
        born: When a controller logged that the partition was created; None if no line shows that.
    """

    topic: str
    partition: int
    life: int
    time: datetime
    controller_epoch: int | None
    reason: str | None
    line: Line
    born: datetime | None = None

    @property
    def is_unborn(self) -> bool:
        """Return whether the partition was new, and got no leader because no replica of it was alive."""
        return self.reason is not None and "No assigned replica is alive" in self.reason


class LedAgain(NamedTuple):
    """A leader's own line that it leads, about a partition with marks, or that a new process leads again.

    A broker that starts leads in its old leader epoch, if nobody else was elected meanwhile.
    """

    topic: str
    partition: int
    life: int
    time: datetime
    leader_epoch: int | None
    leader: int
    line: Line


class Refusal(NamedTuple):
    """A broker's own line that it refuses a request to lead, because its log directory is offline.

    The line does not contain the leader epoch.
    """

    topic: str
    partition: int
    life: int
    time: datetime
    broker: int
    line: Line


class Setting(NamedTuple):
    """A topic's own setting as a tool of Kafka prints it; an empty value stands for the brokers' setting."""

    topic: str
    name: str
    value: str
    line: Line


class Controller(NamedTuple):
    """A row of the table ``controllers``: a controller epoch.

    Attributes:
        broker: The controller.
        epoch: The controller epoch.
        since: The election, or the first line of the controller.
        lines: The line of that time.
    """

    broker: int
    epoch: int
    since: datetime
    lines: Lines = ()


class Alone(NamedTuple):
    """The last state of a partition, if its leader alone was in sync.

    Attributes:
        life: The partition: its topic, number, and how often its topic was created before.
        leader: The leader.
        since: The first line about the state.
        line: The line.
    """

    life: tuple[str, int, int]
    leader: int
    since: datetime
    line: Line


class RefusedProcess(NamedTuple):
    """A process of KRaft that gave up its start, because another one of its broker was registered.

    Attributes:
        broker: The broker.
        gave_up: When it gave up.
        lines: The lines of the refusal and of its end.
    """

    broker: int
    gave_up: datetime
    lines: Lines


class Delay(NamedTuple):
    """The delay from a controller's decisions to a broker's lines about them, each by its writer's clock.

    Attributes:
        controller: The controller.
        broker: The broker.
        least: The least delay; negative if a line of the broker is before the decision.
        led: The least delay of the broker's lines that it leads; None if it has none.
        by_epochs: Whether it is the delay from a controller's last act to the next one's election, which is
            negative.
        registered: The least delay from the record of a registration to the broker's line about it; None if
            no registration is in both.
        excess: The least by which a delay is longer than that of the controller's own elections of about that
            time, which may all be slow; None if it has none.
    """

    controller: int
    broker: int
    least: timedelta
    led: timedelta | None = None
    by_epochs: bool = False
    registered: timedelta | None = None
    excess: timedelta | None = None


class SetBack(NamedTuple):
    """A clock that was set back while its broker wrote, unless the lines of the file are not in their order.

    Attributes:
        broker: The broker.
        before: The time of the line before.
        after: The time of the line that follows it in the file.
        line: That line.
    """

    broker: int
    before: datetime
    after: datetime
    line: Line


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
        joined: The times of brokers' own lines that show the writer in the cluster, as in ``served``: that it
            leads, or that an ISR was changed as it asked.
        refused: The processes of which ``brokers`` has no lines, as they were refused while their broker was
            there, by time.
        isr_lines: The lines of leaders about ISRs of which ``states`` has none.
        set_backs: The largest step back of each clock that was set back.
        repeated: The spans whose local times occurred twice, as clocks were set back for the winter: a time
            in them may be an hour off.
        alone: The last states of partitions in which the leader alone was in sync, if a controller of KRaft
            fenced a broker.
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
    joined: Mapping[int, Sequence[datetime]] = field(default_factory=dict)
    refused: Sequence[RefusedProcess] = ()
    isr_lines: Sequence[LeaderIsr] = ()
    set_backs: Sequence[SetBack] = ()
    repeated: Sequence[tuple[datetime, datetime]] = ()
    alone: Sequence[Alone] = ()
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

    def first_served(self, broker: int, since: datetime) -> datetime | None:
        """Return the time of the first known line after ``since`` that the broker wrote after a start."""
        return first_after(self.served.get(broker, ()), since)

    def first_joined(self, broker: int, since: datetime) -> datetime | None:
        """Return the time of the first known line after ``since`` that shows the broker in the cluster."""
        return first_after(self.joined.get(broker, ()), since)

    def last_served(self, broker: int, until: datetime) -> datetime | None:
        """Return the time of the last line before ``until`` that the broker wrote after a start."""
        return _last_before(self.served.get(broker, ()), until)


def first_after(times: Sequence[datetime], since: datetime) -> datetime | None:
    """Return the first of some sorted times after a moment; None if there is none."""
    index = bisect_right(times, since)
    return times[index] if index < len(times) else None


def _last_before(times: Sequence[datetime], until: datetime) -> datetime | None:
    index = bisect_left(times, until)
    return times[index - 1] if index else None


def _time(line: BrokerLine) -> datetime:
    return line.time


@cache
def _once(value: Any) -> Any:
    """Return one object for all equal values; hundreds of thousands of rows have the same few."""
    return value


def line_of(row: Row) -> Line:
    """Return the place and text of a row's line; ``raw`` may be null in tables that lack it."""
    text = (row["raw"] or "").split("\n", 1)[0]
    return Line(_once(row["source"]), row["block"], row["line"], text, row["broker"])


def _broker_line(row: Row) -> BrokerLine:
    """Convert a row of ``broker_events``, or of ``events`` with the same columns."""
    line = line_of(row)._replace(broker=_writer(row))
    return BrokerLine(
        time=row["time"],
        kind=row["kind"],
        role=row["role"],
        broker=row["broker"],
        subject=row["subject"],
        added=tuple(row["added_brokers"] or ()),
        lost=tuple(row["lost_brokers"] or ()),
        bounced=tuple(row["bounced_brokers"] or ()),
        live=tuple(row["live_brokers"] or ()),
        contact=row["contact"],
        error=row["error"],
        broker_epoch=row["broker_epoch"],
        settings=tuple(row["settings"] or ()),
        topic=row["topic"],
        partition=row["partition"],
        minimum=row["minimum"],
        cluster=row["cluster_id"],
        controller_epoch=row["controller_epoch"],
        duration_ms=row["duration_ms"],
        in_sync=row["count"],
        line=line,
        setting=_setting(row, line) if row["kind"] == BrokerKind.CONFIGURED else None,
    )


def _setting(row: Row, line: Line) -> Line | None:
    """Return the line of an entry below its first one that gives min.insync.replicas; None if none does."""
    for below, text in enumerate((row["raw"] or "").split("\n")[1:], 1):
        if text.lstrip().startswith(_MIN_INSYNC):
            return line._replace(number=line.number + below, text=text.strip())
    return None


def broker_lines(row: Row) -> Iterator[BrokerLine]:
    """Convert a row of ``broker_events``; a line about log directories of several brokers is about each."""
    line = _broker_line(row)
    if line.kind != BrokerKind.DIRECTORY_FAILED or not line.lost:
        yield line
    else:
        yield from (line._replace(subject=each, lost=()) for each in line.lost)


def _writer(row: Row) -> int | None:
    """Return by whose clock a line has its time; a record of a metadata log is of the controller."""
    is_record = row["broker"] is None and row["role"] == "controller"
    writer: int | None = row["controller"] if is_record else row["broker"]
    return writer


def state(row: Row) -> State:
    """Convert a row of ``states``."""
    isr, replicas, adding, removing = row["isr"], row["replicas"], row["adding"], row["removing"]
    return State(
        _once(row["topic"]), row["partition"], row["life"], row["leader_epoch"], row["version"],
        row["leader"], None if isr is None else _once(tuple(isr)),
        None if replicas is None else _once(tuple(replicas)), row["controller_epoch"], row["decided"],
        row["first_logged"], row["led_at"], _once(row["from"]),
        row["removed"], line_of(row), row["election"], row["changed"],
        None if adding is None else _once(tuple(adding)),
        None if removing is None else _once(tuple(removing)),
    )  # fmt: skip


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


CLOCKS = timedelta(seconds=2)
"""The largest difference of clocks that is assumed."""

"""The rows of the derived tables, typed, which are the input of the incident model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


class Mark(NamedTuple):
    """A controller's line which shows that a partition had no leader at ``time``.

    Attributes:
        reason: Why an election failed; None if the line is not about an election.
    """

    topic: str
    partition: int
    life: int
    time: datetime
    controller_epoch: int | None
    reason: str | None
    line: Line


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


class Delay(NamedTuple):
    """The delay from a controller's decisions to a broker's lines about them, each by its writer's clock.

    Attributes:
        controller: The controller.
        broker: The broker.
        least: The least delay; negative if a line of the broker is before the decision.
        led: The least delay of the broker's lines that it leads; None if it has none.
        excess: The least by which a delay is longer than that of the controller's own elections of about that
            time, which may all be slow; None if it has none.
    """

    controller: int
    broker: int
    least: timedelta
    led: timedelta | None = None
    excess: timedelta | None = None


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

"""The tables of ``kafka-consumer-groups.sh``.

They are those of ``kafka.admin.ConsumerGroupCommand`` of Kafka 2.8. Where Kafka's order is that of a hash
map, rows are ordered by topic and partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.groups import Group
from barnabas.tools.command_line.parser import ToolError

MISSING = "-"
"""The text of a value that is not known."""

_LEAST = 15
"""The least width of a column whose width follows its content."""

_LEAST_INSTANCE_ID = 17
_LEAST_COORDINATOR = 25

STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
"""The states of a group, in the order of ``ConsumerGroupState``."""


class Notice(NamedTuple):
    """A message about a group, and whether it goes to standard error; without its final newline."""

    text: str
    is_stderr: bool


def notice(group: Group) -> Notice | None:
    """Return the message before a group's table; None for a stable group.

    Raises:
        ToolError: The state is none that Kafka knows.
    """
    match group.state:
        case "Dead":
            return Notice(error_line(f"Consumer group '{group.name}' does not exist."), is_stderr=False)
        case "Empty":
            return Notice(f"\nConsumer group '{group.name}' has no active members.", is_stderr=True)
        case "PreparingRebalance" | "CompletingRebalance":
            return Notice(f"\nWarning: Consumer group '{group.name}' is rebalancing.", is_stderr=True)
        case "Stable":
            return None
        case other:
            raise ToolError(
                f"Expected a valid consumer group state, but found '{other}'.",
            )


def error_line(message: str) -> str:
    """Return an error as the tool prints it: after an empty line, to standard output."""
    return f"\nError: {message}"


def listing(states: Mapping[str, str]) -> list[str]:
    """Return the lines of ``--list --state``."""
    width = max([_LEAST, *map(len, states)])
    return [f"{name:<{width}} {state}" for name, state in [("GROUP", "STATE"), *states.items()]]


class OffsetRow(NamedTuple):
    """A row of ``--describe --offsets``."""

    group: str
    topic: str
    partition: str
    offset: str
    end: str
    lag: str
    member_id: str
    host: str
    client_id: str


_OFFSETS_HEAD = OffsetRow(
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)


def offset_rows(
    group: Group, committed: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> list[OffsetRow]:
    """Return the rows of a group: its members by their number of partitions, then what nobody has.

    Args:
        group: The group.
        committed: Its committed offsets.
        ends: The log end offsets of its partitions, as far as they are known.
    """
    members = [each for each in group.members if each.assigned]
    members.sort(key=lambda each: len(each.assigned), reverse=True)
    owned = [
        (tp, (each.member_id, each.host, each.client_id))
        for each in members
        for tp in sorted(each.assigned, key=lambda tp: tp.partition)
    ]
    assigned = {tp for tp, _ in owned}
    free = [(tp, (MISSING, MISSING, MISSING)) for tp in sorted(committed) if tp not in assigned]
    rows = []
    for tp, owner in [*owned, *free]:
        offset, end = committed.get(tp), ends.get(tp)
        lag = None if offset is None or offset == -1 or end is None else end - offset
        row = (group.name, tp.topic, tp.partition, offset, end, lag, *owner)
        rows.append(OffsetRow._make(MISSING if each is None else str(each) for each in row))
    return rows


def offsets_table(rows: Iterable[OffsetRow]) -> list[str]:
    """Return the table of ``--describe --offsets`` after an empty line; nothing without rows."""
    found = list(rows)
    if not found:
        return []
    group, topic, member, host = (
        max(_LEAST, *(len(getattr(row, name)) for row in found))
        for name in ("group", "topic", "member_id", "host")
    )
    return [
        "",
        *(
            f"{row.group:<{group}} {row.topic:<{topic}} {row.partition:<10} {row.offset:<15} {row.end:<15} "
            f"{row.lag:<15} {row.member_id:<{member}} {row.host:<{host}} {row.client_id}"
            for row in [_OFFSETS_HEAD, *found]
        ),
    ]


def members_table(group: Group, *, verbose: bool) -> list[str]:
    """Return the table of ``--describe --members`` after an empty line; nothing without members."""
    if not group.members:
        return []
    rows = [("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")]
    rows += [
        (
            group.name,
            each.member_id,
            each.instance_id,
            each.host,
            each.client_id,
            str(len(each.assigned)),
            assignment_text(each.assigned),
        )
        for each in group.members
    ]
    least = (_LEAST, _LEAST, _LEAST_INSTANCE_ID, _LEAST, _LEAST, _LEAST)
    widths = [max(least[at], *(len(row[at]) for row in rows[1:])) for at in range(5)] + [_LEAST]
    shown = [at for at in range(6) if at != 2 or any(each.instance_id for each in group.members)]
    return [
        "",
        *(
            "".join(f"{row[at]:<{widths[at]}} " for at in shown) + (row[-1] if verbose else "")
            for row in rows
        ),
    ]


def assignment_text(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions as ``t(0,1), u(0)``; ``-`` if there are none."""
    topics = groupby(sorted(partitions), key=lambda tp: tp.topic)
    texts = [f"{topic}({','.join(str(tp.partition) for tp in tps)})" for topic, tps in topics]
    return ", ".join(sorted(texts)) or MISSING


def state_table(group: Group) -> list[str]:
    """Return the table of ``--describe --state``, after an empty line."""
    first = max(_LEAST_COORDINATOR, len(group.coordinator))
    rows = [
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (group.name, group.coordinator, group.strategy, group.state, str(len(group.members))),
    ]
    return ["", *(f"{a:<{first}} {b:<25} {c:<20} {d:<15} {e}" for a, b, c, d, e in rows)]


def reset_table(plan: Mapping[str, Mapping[TopicPartition, int]]) -> list[str]:
    """Return the table of ``--reset-offsets`` after an empty line; nothing without groups."""
    rows = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")]
    rows += [
        (group, tp.topic, str(tp.partition), str(offset))
        for group, offsets in plan.items()
        for tp, offset in offsets.items()
    ]
    return ["", *(f"{a:<30} {b:<30} {c:<10} {d:<15}" for a, b, c, d in rows)] if plan else []


def deletion_lines(errors: Mapping[str, str | None]) -> list[str]:
    """Return the lines of ``--delete``; ``errors`` has the error of each group, None if it was deleted."""
    deleted = ", ".join(f"'{name}'" for name, error in errors.items() if error is None)
    failed = {name: error for name, error in errors.items() if error is not None}
    if not failed:
        return [f"Deletion of requested consumer groups ({deleted or _NO_NAME}) was successful."]
    lines = [error_line("Deletion of some consumer groups failed:")]
    lines += [f"* Group '{name}' could not be deleted due to: {error}" for name, error in failed.items()]
    if deleted:
        lines.append(f"\nThese consumer groups were deleted successfully: {deleted}")
    return lines


_NO_NAME = "''"
"""The names of no groups, as Scala's ``mkString`` puts them."""


def deleted_offsets_table(errors: Mapping[TopicPartition, str | None]) -> list[str]:
    """Return the table of ``--delete-offsets`` after an empty line.

    Args:
        errors: The error of each partition, None if its offset was deleted. Partition -1 stands for a topic
            that does not exist.
    """
    rows = [("TOPIC", "PARTITION", "STATUS")]
    for tp, error in sorted(errors.items(), key=lambda item: f"{item[0].topic}{item[0].partition}"):
        number = str(tp.partition) if tp.partition >= 0 else "Not Provided"
        rows.append((tp.topic, number, "Successful" if error is None else f"Error: {error}"))
    return ["", *(f"{a:<30} {b:<15} {c:<15}" for a, b, c in rows)]

"""The texts from which ``kafka-consumer-groups.sh --reset-offsets`` takes partitions, times and offsets.

Sources: ``kafka.admin.ConsumerGroupCommand`` and ``Utils.getDateTime`` of Kafka 2.8, ``java.time.Duration``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.parser import ToolError, UsageError

Plan = dict[str, dict[TopicPartition, int]]
"""The new offsets of each group."""

_INTEGER = re.compile("[+-]?[0-9]+")
_DATE_TIME = re.compile(
    r"(?P<year>\d{1,4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})T(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):"
    r"(?P<second>\d{1,2})\.(?P<ms>\d{1,3})(?:Z|(?P<sign>[+-])(?P<zone_hours>\d\d)(?::(?P<zone_minutes>\d\d))?)",
    re.ASCII,
)
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?"
    r"(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_SECONDS_PER_UNIT = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}

_LONGEST_PLAIN = 24
"""The most characters of a CSV value that is written without quotes (Jackson's ``CsvEncoder``)."""


def parse_topic(text: str) -> tuple[str, list[int] | None]:
    """Parse ``topic`` or ``topic:0,1``; None stands for all partitions.

    Raises:
        UsageError: A partition is not a number.
    """
    topic, colon, numbers = text.partition(":")
    if not colon:
        return topic, None
    partitions = []
    for number in numbers.split(","):
        if not _INTEGER.fullmatch(number):
            raise UsageError(f'For input string: "{number}"; expected --topic {topic}:0,1,2')
        partitions.append(int(number))
    return topic, partitions


def parse_date_time(text: str) -> int:
    """Parse ``YYYY-MM-DDTHH:mm:SS.sss`` with an optional zone, else UTC, to milliseconds since 1970.

    Raises:
        ToolError: It is not of this form, or there is no such time.
    """
    _, _, time = text.partition("T")
    if not time:
        raise ToolError("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    zoned = text if re.search("[-+Z]", time) else f"{text}Z"
    found = _DATE_TIME.fullmatch(zoned)
    if found is None:
        raise ToolError(f'Unparseable date: "{zoned}"')
    parts = found.groupdict(default="0")
    offset = timedelta(hours=int(parts["zone_hours"]), minutes=int(parts["zone_minutes"]))
    names = ("year", "month", "day", "hour", "minute", "second")
    try:
        zone = timezone(-offset if parts["sign"] == "-" else offset)
        when = datetime(*(int(parts[name]) for name in names), tzinfo=zone)  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise ToolError(f'Unparseable date: "{zoned}"') from error
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) + int(parts["ms"])


def parse_duration(text: str) -> int:
    """Parse ``PnDTnHnMnS`` to nanoseconds.

    Raises:
        ToolError: It is not a duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None or not any(found[name] for name in _SECONDS_PER_UNIT) or found["time"] in ("T", "t"):
        raise ToolError("Text cannot be parsed to a Duration")
    whole = sum(int(found[name] or 0) * seconds for name, seconds in _SECONDS_PER_UNIT.items())
    fraction_ns = int((found["fraction"] or "").ljust(9, "0"))
    if (found["seconds"] or "").startswith("-"):
        fraction_ns = -fraction_ns
    nanoseconds = whole * 1_000_000_000 + fraction_ns
    return -nanoseconds if found["sign"] == "-" else nanoseconds


def format_plan(plan: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool) -> str:
    """Return offsets as the CSV of ``--export``, each line with its newline."""
    lines = []
    for group, offsets in plan.items():
        for (topic, partition), offset in offsets.items():
            names = [group, topic] if with_group else [topic]
            lines.append(",".join([*map(_csv_value, names), str(partition), str(offset)]) + "\n")
    return "".join(lines)


def parse_plan(text: str, group: str | None) -> Plan:
    """Parse the CSV of ``--from-file``.

    Args:
        text: Lines ``topic,partition,offset``, or ``group,topic,partition,offset`` if several groups are
            reset.
        group: The only group to be reset; None if there are several.

    Raises:
        ToolError: A line has other fields.
    """
    rows = [row for row in csv.reader(text.splitlines()) if row]
    is_plain = group is not None and bool(rows) and len(rows[0]) == len(_PLAIN)
    plan: Plan = {}
    for row in rows:
        fields = [group or "", *row] if is_plain else row
        if len(fields) != len(_PLAIN) + 1 or not all(_INTEGER.fullmatch(each.strip()) for each in fields[2:]):
            expected = _PLAIN if is_plain else ("group", *_PLAIN)
            raise ToolError(
                f"{','.join(row)!r} in the reset plan; expected {','.join(expected)}",
            )
        owner, topic, partition, offset = fields
        plan.setdefault(owner, {})[TopicPartition(topic, int(partition))] = int(offset)
    return plan


_PLAIN = ("topic", "partition", "offset")


def cut_to_range(
    wanted: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Limit offsets to the range of each log (``checkOffsetsRange``); return them, and the warnings."""
    offsets, warnings = {}, []
    for tp, offset in wanted.items():
        offsets[tp] = min(max(offset, starts[tp]), ends[tp])
        if offset > ends[tp]:
            warnings.append(_cut(tp, offset, "higher than latest", ends[tp]))
        elif offset < starts[tp]:
            warnings.append(_cut(tp, offset, "lower than earliest", starts[tp]))
    return offsets, warnings


def shifted(
    partitions: list[TopicPartition], committed: Mapping[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    """Return the committed offset of each partition, moved by ``by``.

    Raises:
        UsageError: A partition has no committed offset.
    """
    for tp in partitions:
        if tp not in committed:
            raise UsageError(
                f"Cannot shift offset for partition {tp} since there is no current committed offset"
            )
    return {tp: committed[tp] + by for tp in partitions}


def _cut(tp: TopicPartition, offset: int, how: str, bound: int) -> str:
    return f"New offset ({offset}) is {how} offset for topic partition {tp}. Value will be set to {bound}"


def _csv_value(text: str) -> str:
    """Quote a name that is long, or has a character whose code is not above the comma's, as Jackson does."""
    if len(text) <= _LONGEST_PLAIN and all(each > "," for each in text):
        return text
    return '"' + text.replace('"', '""') + '"'

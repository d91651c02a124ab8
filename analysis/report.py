"""The story in plain text and in JSON, from the rows of the questions in ``analysis.timeline``.

Everything here works on rows one after the other and never holds them all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, TextIO

Row = Mapping[str, Any]
_NO_LEADER = -1
_SAMPLE_WIDTH = 160
_MILLISECOND = timedelta(milliseconds=1)


def text(
    coverage: Iterable[Row], controllers: Iterable[Row], elections: Iterable[Row], failures: Iterable[Row]
) -> Iterator[str]:
    """The lines of the report: what was read, who was controller, who was elected, what failed."""
    yield from _coverage(list(coverage))
    yield ""
    yield from _controllers(controllers)
    yield ""
    yield from _elections(elections)
    yield from _failures(failures)


def write_json(target: TextIO, sections: Mapping[str, Iterable[Row]]) -> None:
    """One object with a list of rows for each section; times as ``2026-11-21T03:12:45.678``."""
    target.write("{")
    for number, (name, rows) in enumerate(sections.items()):
        target.write(f"{',' if number else ''}\n{json.dumps(name)}: [")
        target.writelines(
            f"{',' if position else ''}\n  {json.dumps(dict(row), default=_plain)}"
            for position, row in enumerate(rows)
        )
        target.write("]")
    target.write("\n}\n")


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    raise TypeError(f"a report holds no {type(value).__name__}: {value!r}")


def _coverage(rows: list[Row]) -> Iterator[str]:
    lines = sum(row["lines"] for row in rows)
    unknown = [row for row in rows if row["kind"] is None]
    strange = sum(row["lines"] for row in unknown)
    kinds = _count(len(rows) - len(unknown), "kind")
    yield f"Read {_count(lines, 'line')}, understood {lines - strange:,} of them, of {kinds}."
    for row in unknown:
        sample = row["sample"][:_SAMPLE_WIDTH]
        yield f"Not understood, and kept in the table: {row['lines']:,}, such as: {sample}"


def _controllers(rows: Iterable[Row]) -> Iterator[str]:
    yield "Controllers"
    table: list[tuple[str, ...]] = [("epoch", "broker", "first heard", "last heard", "partition changes")]
    table.extend(
        (
            str(row["controller_epoch"]),
            str(row["controller"]),
            _time(row["first"]),
            _time(row["last"]),
            f"{row['changes']:,}",
        )
        for row in rows
    )
    yield from _table(table)


def _elections(rows: Iterable[Row]) -> Iterator[str]:
    yield "Leader elections"
    for (topic, partition), reigns in groupby(rows, key=lambda row: (row["topic"], row["partition"])):
        yield f"  {topic}-{partition}"
        for row in reigns:
            yield "    " + _election(row).rstrip()


def _election(row: Row) -> str:
    leader = "no leader" if row["leader"] == _NO_LEADER else f"leader {row['leader']}"
    epoch = "-" if row["leader_epoch"] is None else row["leader_epoch"]
    isr = "?" if row["isr"] is None else ",".join(map(str, row["isr"]))
    by = f"controller {row['controller']} (epoch {row['controller_epoch']})"
    when, why = _time(row["time"]), row["reason"]
    return f"{when}  epoch {epoch:<4}{leader:<11} ISR {isr:<10} {why:<28}{by}{_delay(row)}"


def _delay(row: Row) -> str:
    if row["led_at"] is None:
        return ""
    # Two brokers' clocks: a leader may seem to lead before it was elected.
    return f", led after {(row['led_at'] - row['time']) // _MILLISECOND} ms"


def _failures(rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == 0:
            yield ""
            yield "Failed changes"
        yield (
            f"  {_time(row['time'])}  {row['topic']}-{row['partition']} from {row['from']} to {row['to']}: "
            f"{row['cause'] or 'no reason given'}"
        )


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _time(value: datetime) -> str:
    return value.isoformat(" ", timespec="milliseconds")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""From a piece of a log file to typed rows: what a line says, in plain Python, without Spark.

A *record* is what the scan cuts the files into: the text from one line that begins with ``[`` to before the
next, so that a stack trace belongs to the line it follows, whichever split of the file it lies in. An
*entry* is one logged line with its trace. Almost always a record is one entry; after a crash NUL bytes can
stand before a line and hide it from the scan, so records are searched for further entries
(state-change-in-the-wild.md, section 2, number 13).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from cluster.model.statechange import LOGGER, Leadership, Message, Speaker, read_message

RECORD_SEPARATOR = "\n["
"""Where the scan cuts. It takes these letters away: all records but a file's first lack their bracket."""

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
_NEXT_ENTRY = re.compile(rf"(?:\r?\n\0*|\0+)(?=\[{_TIME}\] )")
_ENTRY = re.compile(
    rf"\0*\[?(?P<time>{_TIME})\] (?P<level>[A-Z]+) +(?P<message>.*?) "
    rf"\({re.escape(LOGGER)}\)\s*?(?:\n(?P<trace>.*))?",
    re.DOTALL,
)

Row = dict[str, Any]
"""The columns that a line gives (``analysis.tables``), without those that it does not say."""


def read_record(record: bytes) -> list[Row]:
    """The rows of a record's entries, in their order; bytes that are no UTF-8 become U+FFFD.

    Text that is no entry is one row that is not understood: its time and kind are missing, its text is kept.
    """
    text = record.decode("utf-8", errors="replace")
    return [read_entry(part) for part in _entries(text) if part.strip("\0\r\n ")]


def read_entry(text: str) -> Row:
    """The row of one entry: its first line's columns, and its trace."""
    raw = text.strip("\0\r\n")
    found = _ENTRY.fullmatch(text.rstrip("\0\r\n"))
    if found is None:
        return {"raw": raw, "understood": False}
    message = read_message(found["message"])
    row: Row = {
        "time": datetime.fromisoformat(found["time"]),
        "level": found["level"],
        "raw": raw if raw.startswith("[") else f"[{raw}",
        "trace": _trace(found["trace"]),
        "understood": message.kind is not None,
        "kind": None if message.kind is None else message.kind.value,
        "broker": message.speaker_id,
    }
    return row | _speaker(message) | _values(message.values)


def _entries(text: str) -> Iterator[str]:
    start = 0
    for found in _NEXT_ENTRY.finditer(text):
        yield text[start : found.start()]
        start = found.end()
    yield text[start:]


def _trace(text: str | None) -> str | None:
    return text.replace("\r\n", "\n").rstrip() or None if text else None


def _speaker(message: Message) -> Row:
    match message.speaker:
        case Speaker.CONTROLLER | Speaker.CONTROLLER_WITHOUT_EPOCH:
            return {
                "role": "controller",
                "controller": message.speaker_id,
                "controller_epoch": message.speaker_epoch,
            }
        case Speaker.BROKER:
            return {"role": "broker"}
        case Speaker.NOBODY:
            return {}


_COLUMNS = frozenset(
    {
        "controller", "controller_epoch", "replica", "from", "to", "leader", "leader_epoch", "isr",
        "correlation_id", "count", "duration_ms", "error",
    }
)  # fmt: skip
"""The values that have a column of their own; the others are kept as text in ``details``."""


def _values(values: Mapping[str, Any]) -> Row:
    row: Row = {}
    details: dict[str, str] = {}
    for name, value in values.items():
        if name == "tp":
            row["topic"], row["partition"] = value
        elif name == "leadership":
            row |= _leadership(value, details)
        elif name == "partition_epoch":
            row["version"] = value
        elif name in _COLUMNS:
            row[name] = value
        elif value is not None:
            details[name] = _text(value)
    if details:
        row["details"] = list(details.items())
    return row


def _leadership(value: Leadership, details: dict[str, str]) -> Row:
    row: Row = {
        name: known
        for name, known in (
            ("leader", value.leader),
            ("leader_epoch", value.leader_epoch),
            ("isr", value.isr),
            ("version", value.version),
        )
        if known is not None
    }
    # From 2.4 on the received request names its partition nowhere but in here.
    if value.topic_partition is not None:
        row["topic"], row["partition"] = value.topic_partition
    if value.controller_epoch is not None:
        # The reign that wrote the state: not always the one that sends it.
        details["state_controller_epoch"] = str(value.controller_epoch)
    if value.replicas is not None:
        details["replicas"] = _text(value.replicas)
    return row


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return str(value) if hasattr(value, "_fields") else ",".join(str(part) for part in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

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

from cluster.model.statechange import LOGGER, Kind, Leadership, Message, Speaker, read_message

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
        "releases": message.releases,
        "broker": message.speaker_id,
    }
    return row | _speaker(message) | _values(message.kind, message.values) | _api(message.kind)


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


_APIS = ("LEADER_AND_ISR", "UPDATE_METADATA", "STOP_REPLICA")


def _api(kind: Kind | None) -> Row:
    """The request that a kind is about, where its name says so."""
    found = next((api for api in _APIS if kind is not None and kind.name.startswith(api)), None)
    return {} if found is None else {"api": found}


_COLUMN_OF = {
    "partition_epoch": "version",
    "server": None,
    "response": None,
    "node": None,
    "medium": None,
    "exception": None,
    "requested_topic_id": None,
    "aborted_controller": None,
    "live": None,
    "under_min_isr": None,
}
"""The values whose column has another name, or that have none."""


def _values(kind: Kind | None, values: Mapping[str, Any]) -> Row:
    row: Row = {}
    for name, value in values.items():
        match name:
            case "tp":
                row["topic"], row["partition"] = value
            case "tps":
                row["partitions"] = [str(each) for each in value]
            case "broker" if kind is Kind.REPLICAS_OFFLINE:
                row["replica"] = value
            case "broker" | "node":
                row["targets"] = (value,)
            case "brokers":
                row["targets"] = value
            case "leadership":
                row |= _leadership(value)
            case "assignment":
                row |= {"replicas": value.replicas, "adding": value.adding, "removing": value.removing}
            case "response":
                row["error_code"] = _error_code(value)
            case "error_code":
                row["error"] = value
            case _:
                column = _COLUMN_OF.get(name, name)
                if column is not None and value is not None:
                    row[column] = value
    return row


def _leadership(value: Leadership) -> Row:
    row: Row = {
        "leader": value.leader,
        "leader_epoch": value.leader_epoch,
        "isr": value.isr,
        "version": value.version,
        "state_controller_epoch": value.controller_epoch,
        "replicas": value.replicas,
        "delete": value.delete,
    }
    # From 2.4 on the received request names its partition nowhere but in here.
    if value.topic_partition is not None:
        row["topic"], row["partition"] = value.topic_partition
    return {name: known for name, known in row.items() if known is not None}


_ERROR_CODE = re.compile(r"error_?code[=:](-?\d+)", re.IGNORECASE)


def _error_code(response: str) -> int | None:
    codes = [int(code) for code in _ERROR_CODE.findall(response)]
    return next((code for code in codes if code), 0) if codes else None

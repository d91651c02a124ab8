"""One line after the other, in plain Python: where its header is, and which columns its message gives.

This is what a line means. ``analysis.blocks`` says the same of thousands of lines at once, and asks here
whenever it meets a form that it has not learned yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cluster.model.statechange import Kind, Leadership, Message, Speaker, read_message

Row = dict[str, Any]
"""The columns that a line gives (``analysis.tables``), without those that it does not say."""

_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}"
_HEAD = re.compile(rf"\[?(?P<time>{_TIME})Z?\]? +(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +", re.ASCII)
# A thread's name stands before the message in some layouts, behind the logger's name in others (Strimzi).
_REST = re.compile(
    r"(?:\[(?!Controller id=|Broker id=|Partition )[^\]]*\]:? +)?"
    r"(?P<message>.*) \((?P<logger>[A-Za-z_][\w.$]*)\)(?: +\[[^\]]*\])?\s*",
    re.DOTALL | re.ASCII,
)


class Head(NamedTuple):
    """The header of an entry: what a layout puts around the message.

    Attributes:
        start: Where in the line it begins; what stands before is somebody else's (docker, grep, ...).
        time: As written, ``2026-11-21 03:12:45,678``.
        level: As written.
        message: Where in the line the message begins and ends.
        logger: The logger's name; None where the line has none, as one that is torn off.
    """

    start: int
    time: str
    level: str
    message: tuple[int, int]
    logger: str | None

    def in_bytes(self, line: str) -> Head:
        """The same with places that count the bytes of the line in UTF-8, and not its letters."""
        if line.isascii():
            return self
        start, begin, end = (len(line[:place].encode()) for place in (self.start, *self.message))
        return self._replace(start=start, message=(begin, end))


def find_head(line: str) -> Head | None:
    """The header in a line, wherever it begins; None for a line that belongs to the entry above it."""
    found = _HEAD.search(line)
    if found is None:
        return None
    time = f"{found['time'][:10]} {found['time'][11:19]},{found['time'][20:]}"
    rest = _REST.fullmatch(line, found.end())
    if rest is None:
        return Head(found.start(), time, found["level"], (found.end(), len(line)), None)
    return Head(found.start(), time, found["level"], rest.span("message"), rest["logger"])


def message_columns(text: str) -> Row:
    """The columns that the text of a line gives, from ``understood`` and ``kind`` on."""
    message = read_message(text)
    if message.kind is None:
        return {"understood": False} | speaker_columns(message)
    row = constant_columns(message.kind, message.releases)
    return row | speaker_columns(message) | value_columns(message.kind, message.values)


def constant_columns(kind: Kind, releases: str | None) -> Row:
    """The columns that are the same for all lines of a form."""
    row: Row = {"understood": True, "kind": kind.value, "releases": releases}
    api = next((api for api in _APIS if kind.name.startswith(api)), None)
    return row if api is None else row | {"api": api}


_APIS = ("LEADER_AND_ISR", "UPDATE_METADATA", "STOP_REPLICA")


def speaker_columns(message: Message) -> Row:
    """Who speaks."""
    row: Row = {}
    match message.speaker:
        case Speaker.CONTROLLER | Speaker.CONTROLLER_WITHOUT_EPOCH:
            row = {
                "role": "controller",
                "broker": message.speaker_id,
                "controller": message.speaker_id,
                "controller_epoch": message.speaker_epoch,
            }
        case Speaker.BROKER:
            row = {"role": "broker", "broker": message.speaker_id}
        case Speaker.NOBODY:
            pass
    return {name: value for name, value in row.items() if value is not None}


_COLUMN_OF = {
    "partition_epoch": "version",
    "server": None,
    "medium": None,
    "exception": None,
    "requested_topic_id": None,
    "aborted_controller": None,
    "assigned": None,
    "live": None,
    "under_min_isr": None,
}
"""The values whose column has another name, or that have none."""


def value_columns(kind: Kind, values: Mapping[str, Any]) -> Row:
    """The columns that the values of a line's fields give."""
    row: Row = {}
    for name, value in values.items():
        match name:
            case "tp":
                row["topic"], row["partition"] = value
            case "tps":
                row["partitions"] = tuple(str(each) for each in value)
            case "broker" if kind is Kind.REPLICAS_OFFLINE:
                row["replica"] = value
            case "broker" | "node":
                row["targets"] = (value,)
            case "brokers":
                row["targets"] = value
            case "leadership":
                row |= leadership_columns(value)
            case "assignment":
                row |= {"replicas": value.replicas, "adding": value.adding, "removing": value.removing}
            case "response":
                row["error_code"] = _error_code(value)
            case "error_code":
                row["error"] = value
            case _:
                row[_COLUMN_OF.get(name, name) or ""] = value
    return {name: value for name, value in row.items() if name and value is not None}


def leadership_columns(value: Leadership) -> Row:
    """The columns that a leadership gives, as far as its spelling says them."""
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

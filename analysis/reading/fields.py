"""The fields of a message: their places in the text, and the columns that their texts give."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.releases.leadership import locate_leadership
from barnabas.analysis.reading.releases.lines import Located, locate_message
from barnabas.analysis.reading.releases.spellings import SPELLINGS
from barnabas.cluster.model.statechange import Kind, Leadership, Speaker

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Attributes:
        span: The begin and end of the field in the message.
        key: A key that is equal for fields whose ``read`` gives the same columns for the same text.
        read: The function from the field's text to columns.
    """

    span: Span
    key: Hashable
    read: Callable[[str], Row]


def find_fields(message: str) -> tuple[Row, list[Field]]:
    """Return the columns that a message's words give, and its fields from left to right.

    If two fields give the same column, the later one counts. If no rule matches the message, only the speaker
    is returned.
    """
    located = locate_message(message)
    row = _role(located)
    if located.template is None:
        row["understood"] = False
    else:
        row |= constant_columns(located.template.kind, located.releases)
        row |= value_columns(located.template.kind, located.template.constants)
    return row, sorted(_fields(message, located), key=lambda field: field.span)


def _role(located: Located) -> Row:
    match located.prefix.speaker:
        case Speaker.BROKER:
            return {"role": "broker"}
        case Speaker.NOBODY:
            # A line without a prefix may name its broker in the sentence.
            return {"role": "broker"} if "speaker_id" in located.spans else {}
        case _:
            return {"role": "controller"}


def _fields(message: str, located: Located) -> Iterator[Field]:
    template, prefix = located.template, located.prefix
    if prefix.id_span is not None:
        is_broker = prefix.speaker is Speaker.BROKER
        yield _number(prefix.id_span, ("broker",) if is_broker else ("broker", "controller"))
    if prefix.epoch_span is not None and prefix.speaker is not Speaker.BROKER:
        yield _number(prefix.epoch_span, ("controller_epoch",))
    for name, span in located.spans.items():
        parts = locate_leadership(message[slice(*span)]) if name == "leadership" else None
        if name == "speaker_id":
            yield _number(span, ("broker",))
        elif parts is not None:
            for part, (start, end) in parts.items():
                yield _leadership_part(part, (span[0] + start, span[0] + end))
        elif template is not None:
            read, kind = template.formats[name].read, template.kind
            yield _field(kind, name, span, read)


def _number(span: Span, columns: tuple[str, ...]) -> Field:
    return Field(span, columns, lambda text: dict.fromkeys(columns, int(text)))


def _field(kind: StrEnum, name: str, span: Span, read: Callable[[str], Any]) -> Field:
    # The kind matters only for the field ``broker``, whose column depends on it.
    key = (name, read, kind is Kind.REPLICAS_OFFLINE)
    return Field(span, key, lambda text: value_columns(kind, {name: read(text)}))


def _leadership_part(name: str, span: Span) -> Field:
    match name:
        case "topic":
            return Field(span, "topic of a leadership", lambda text: {"topic": text})
        case "partition":
            return _number(span, ("partition",))
    read: Callable[[str], Any] = int
    if name in ("isr", "replicas", "delete"):
        read = SPELLINGS["flag" if name == "delete" else "ids"].read
    return Field(
        span, ("leadership", name), lambda text: leadership_columns(Leadership(**{name: read(text)}))
    )


def constant_columns(kind: StrEnum, releases: str | None) -> Row:
    """Return the columns that follow from the row of the table of lines alone."""
    row: Row = {"understood": True, "kind": kind.value, "releases": releases}
    api = next((api for api in _APIS if kind.name.startswith(api)), None)
    return row if api is None else row | {"api": api}


_APIS = ("LEADER_AND_ISR", "UPDATE_METADATA", "STOP_REPLICA")


_COLUMN_OF = {
    "partition_epoch": "version",
    "server": None,
    "medium": None,
    "exception": None,
    "requested_topic_id": None,
    "aborted_controller": None,
    "assigned": None,
    "live": None,
}
"""The column of each field whose name differs from it; None for fields without a column."""


def value_columns(kind: StrEnum, values: Mapping[str, Any]) -> Row:
    """Return the columns for the values of a line's fields."""
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
    """Return the columns for a leadership; parts that its spelling leaves out are absent."""
    row: Row = {
        "leader": value.leader,
        "leader_epoch": value.leader_epoch,
        "isr": value.isr,
        "version": value.version,
        "state_controller_epoch": value.controller_epoch,
        "replicas": value.replicas,
        "delete": value.delete,
    }
    # From 2.4 on, the leadership is the only place in the line of a received request that names the
    # partition.
    if value.topic_partition is not None:
        row["topic"], row["partition"] = value.topic_partition
    return {name: known for name, known in row.items() if known is not None}


_ERROR_CODE = re.compile(r"error_?code[=:](-?\d+)", re.IGNORECASE)


def _error_code(response: str) -> int | None:
    codes = [int(code) for code in _ERROR_CODE.findall(response)]
    return next((code for code in codes if code), 0) if codes else None

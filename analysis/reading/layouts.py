"""Layouts that wrap or replace log4j's lines: JSON, containers' log files, and colours.

``unwrap`` rewrites a block to lines in log4j's default layout, so that all later steps know one layout. An
entry that is a JSON object becomes ``[time] LEVEL message (logger)`` with its stack trace below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from barnabas.analysis.reading.grammar import find_head
from barnabas.analysis.reading.text import Places

_OCTET_MAX = 0xFF
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_COLOUR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
# The prefix that docker compose or kubectl puts before a line never holds a brace.
_JSON_LINE = re.compile(rb'(?P<front>[^{\n]{0,200})(?P<object>\{\s*".*\})\s*', re.DOTALL)
_JSON_LEVEL = re.compile(rb'\\?"(?:log\.)?level\\?"\s*:')
# The log files of containerd and CRI-O; P marks a line that the next one continues.
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) (?P<part>[FP])(?: |$)")
# One of these is in every block that has such a line or object, after the text that all of a kind have in
# common: a search for one text reads the block once.
_WRAPPERS = ((b"{", (b'{"', b'{ "')), (b" std", (b" stdout F ", b" stdout P ", b" stderr F ", b" stderr P ")))


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A block in log4j's default layout.

    Attributes:
        data: The text.
        line_of: The index of the line of the block from which each line comes; None if they are the same.
    """

    data: bytes
    line_of: Places | None = None


def begins_entry(line: bytes) -> bool:
    """Return whether a line of a file, in any layout, begins an entry."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    if find_head(line.decode(errors="replace")) is not None:
        return True
    inner = _inner(line)[0]
    if inner is not line:
        return begins_entry(inner)
    return (
        b"level" in line and _JSON_LEVEL.search(line) is not None and _JSON_LINE.fullmatch(line) is not None
    )


def unwrap(data: bytes, *, is_utc: bool) -> Unwrapped:
    """Rewrite a block of whole entries to lines in log4j's default layout.

    Args:
        data: The block.
        is_utc: Whether times without a zone are in UTC; if not, times that JSON gives in UTC get a ``Z``.
    """
    if b"\x1b" in data:
        data = _COLOUR.sub(b"", data)
    if not any(common in data and any(each in data for each in whole) for common, whole in _WRAPPERS):
        return Unwrapped(data)
    lines: list[bytes] = []
    line_of: list[int] = []
    # A line that a container's log file holds in pieces: those so far, and the number of its first line. They
    # are joined once, because a damaged line may have thousands.
    pieces: list[bytes] = []
    begin = 0
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n")):
        text, goes_on = _inner(line)
        begin = begin if pieces else number
        pieces.append(text)
        if goes_on:
            continue
        for each in _spelled(b"".join(pieces), is_utc):
            lines.append(each)
            line_of.append(begin)
        pieces.clear()
    if pieces:
        lines.append(b"".join(pieces))
        line_of.append(begin)
    return Unwrapped(b"\n".join(lines) + b"\n", np.array(line_of, dtype=np.int64))


def _inner(line: bytes) -> tuple[bytes, bool]:
    """Return the line inside a line of a container's log file or journal, and whether the next continues it.

    A line of another kind is returned as it is.
    """
    cri = _CRI.match(line)
    if cri is not None:
        return line[cri.end() :], cri["part"] == b"P"
    found = _JSON_LINE.fullmatch(line)
    if found is None:
        return line, False
    record = _object(found["object"])
    text = record.get("log")
    if isinstance(text, str):
        # docker's json-file cuts lines into pieces of 16 KiB; only the last one ends with a line feed.
        return found["front"] + _utf8(text.removesuffix("\n")), not text.endswith("\n")
    message = record.get("MESSAGE")
    if isinstance(message, list):
        # journald writes a text with control characters as an array of bytes.
        octets = (each for each in message if isinstance(each, int) and 0 <= each <= _OCTET_MAX)
        message = bytes(octets).decode(errors="replace")
    if isinstance(message, str):
        names = [str(record[name]) for name in ("_HOSTNAME", "_SYSTEMD_UNIT") if name in record]
        front = f"{' '.join(names)} | " if names else ""
        return found["front"] + _utf8(f"{front}{message}"), False
    return line, False


def _spelled(line: bytes, is_utc: bool) -> Iterator[bytes]:
    """Return the lines of an entry that is a JSON object; another line as it is."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    found = _JSON_LINE.fullmatch(line)
    record = _object(found["object"]) if found is not None else {}
    level, message = _at(record, "log.level", "level"), _at(record, "message")
    time = _time(record, is_utc)
    if found is None or time is None or not isinstance(level, str) or not isinstance(message, str):
        yield from line.split(b"\n")
        return
    first, _, rest = message.partition("\n")
    logger = _at(record, "loggerName", "logger_name", "log.logger", "logger")
    named = f" ({logger})" if isinstance(logger, str) else ""
    yield found["front"] + _utf8(f"[{time}] {level.upper()} {first.rstrip()}{named}")
    below = "\n".join(each for each in (rest, *_trace(record)) if each)
    yield from (_utf8(each) for each in below.replace("\r", "").split("\n") if each)


def _trace(record: Mapping[str, Any]) -> Iterator[str]:
    for key in ("stack_trace", "error.stack_trace", "exception.stacktrace", "thrown.extendedStackTrace"):
        text = _at(record, key)
        if isinstance(text, str):
            yield text
            return
    name, text = _at(record, "thrown.name"), _at(record, "thrown.message")
    if isinstance(name, str):
        yield f"{name}: {text}" if isinstance(text, str) else name
    frames = _at(record, "thrown.extendedStackTrace")
    for frame in frames if isinstance(frames, list) else ():
        if isinstance(frame, dict):
            yield f"\tat {frame.get('class')}.{frame.get('method')}({frame.get('file')}:{frame.get('line')})"


def _time(record: Mapping[str, Any], is_utc: bool) -> str | None:
    zone = "" if is_utc else "Z"
    stamp = record.get("@timestamp")
    try:
        if isinstance(stamp, str):
            moment = datetime.fromisoformat(stamp)
            if moment.tzinfo is None:
                zone, moment = "", moment.replace(tzinfo=UTC)
        elif (seconds := _at(record, "instant.epochSecond")) is not None:
            nanos = _at(record, "instant.nanoOfSecond") or 0
            moment = _EPOCH + timedelta(seconds=int(seconds), microseconds=int(nanos) // 1000)
        elif (millis := record.get("timeMillis")) is not None:
            moment = _EPOCH + timedelta(milliseconds=int(millis))
        else:
            return None
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return None
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}{zone}"


def _at(record: Mapping[str, Any], *keys: str) -> Any:
    """Return the value of the first key that exists, as a dotted name or nested."""
    for key in keys:
        if key in record:
            return record[key]
        value: Any = record
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _utf8(text: str) -> bytes:
    # JSON can spell half of a surrogate pair, which UTF-8 cannot.
    return text.encode(errors="replace")


def _object(text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}

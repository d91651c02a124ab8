"""The reader of one line: its header, and the columns that its message gives.

``analysis.reading.forms`` gives the same result for thousands of lines at once. It uses this module to read
one line of each form, and every line that it cannot read itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.fields import find_fields
from barnabas.cluster.model.statechange import LOGGER

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels of a header, as log4j spells them."""

_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[,.]\d{3})?Z?"
_THREAD = r"\[(?!Controller id=|Broker id=|Partition )[^\]]*\]"
# Other layouts have the thread before the level, as ``%d %r [%t] %-5p %c - %m``; ``%r`` is in milliseconds.
_EARLY = rf"(?P<early>(?:\d+ +)?{_THREAD} +)?"
_LEVEL = rf"\[?(?P<level>{'|'.join(LEVELS)})(?: *\])? +"
_HEAD = re.compile(rf"\[?(?P<time>{_TIME})\]? +{_EARLY}{_LEVEL}", re.ASCII)
_LOGGER = r"(?P<logger>[A-Za-z_][\w.$]*)"
# Some layouts put a thread's name before the message, others (Strimzi) after the logger's name.
_REST = re.compile(
    rf"(?:{_THREAD}:? +)?(?P<message>.*) \({_LOGGER}\)(?: +\[[^\]]*\])?\s*", re.DOTALL | re.ASCII
)
# Others write the logger first: ``[thread] [logger] - message`` or ``[thread] logger:line - message``.
_LOGGER_FIRST = re.compile(
    rf"{_THREAD} +\[?{_LOGGER}(?::\d+\]?|\]) +- (?P<message>.*?)\s*", re.DOTALL | re.ASCII
)
_AFTER_EARLY = re.compile(rf"{_LOGGER}(?::\d+)? +- (?P<message>.*?)\s*", re.DOTALL | re.ASCII)
_SHORT_LOGGERS = {"logger": LOGGER}
"""The loggers' last names, which some layouts write alone, where the full name matters."""


class Head(NamedTuple):
    """The header of an entry: the parts that a layout puts around the message.

    Attributes:
        start: The index in the line at which the header begins; text before it was added by docker or grep.
        time: The time as ``2026-11-21 03:12:45,678``, with a ``Z`` at its end if the line has one.
        level: The level as written.
        message: The begin and end of the message in the line; of other loggers than that of state changes
            with the thread's name, if it stands before the message.
        logger: The logger's name; None if the line has none, for example because the line is truncated.
    """

    start: int
    time: str
    level: str
    message: tuple[int, int]
    logger: str | None


def find_head(line: str) -> Head | None:
    """Find the header in a line, wherever it begins; return None if the line continues the entry above it."""
    # To find a level is a hundred times quicker than the pattern in a long line that has none.
    found = _HEAD.search(line) if any(level in line for level in LEVELS) else None
    if found is None:
        return None
    spelled = found["time"]
    millis = spelled[20:23] or "000"
    time = f"{spelled[:10]} {spelled[11:19]},{millis}{'Z' if spelled.endswith('Z') else ''}"
    first = _AFTER_EARLY if found["early"] else _LOGGER_FIRST
    rest = first.fullmatch(line, found.end()) or _REST.fullmatch(line, found.end())
    if rest is None:
        return Head(found.start(), time, found["level"], (found.end(), len(line)), None)
    logger = _SHORT_LOGGERS.get(rest["logger"], rest["logger"])
    begin, end = rest.span("message")
    if rest.re is _REST and logger != LOGGER:
        # Brackets may hold a thread's name, or the writer's as in ``[KafkaServer id=1]``.
        begin = found.end()
    return Head(found.start(), time, found["level"], (begin, end), logger)


def layout_of(line: str) -> str:
    """Describe the layout of a line that no rule reads, for who wonders why."""
    if find_head(line) is not None:
        return "a header, but nothing of a broker that a rule matches"
    if line.lstrip().startswith("{"):
        return "JSON without a time, a level and a message under known names"
    if re.search(_TIME, line) is not None:
        return "a date and time, but no level after it"
    if any(level in line for level in LEVELS):
        return "a level, but no date and time before it"
    return "neither a date and time nor a level"


def message_columns(text: str) -> Row:
    """Return the columns that the message of a line gives, ``understood`` and ``kind`` included."""
    row, fields = find_fields(text)
    for field in fields:
        row |= field.read(text[slice(*field.span)])
    return row

"""The reader of one line: its header, and the columns that its message gives.

``analysis.reading.forms`` gives the same result for thousands of lines at once. It uses this module to read
one line of each form, and every line that it cannot read itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.analysis.reading.fields import Row, find_fields

_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}"
_HEAD = re.compile(rf"\[?(?P<time>{_TIME})Z?\]? +(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +", re.ASCII)
# Some layouts put a thread's name before the message, others (Strimzi) after the logger's name.
_REST = re.compile(
    r"(?:\[(?!Controller id=|Broker id=|Partition )[^\]]*\]:? +)?"
    r"(?P<message>.*) \((?P<logger>[A-Za-z_][\w.$]*)\)(?: +\[[^\]]*\])?\s*",
    re.DOTALL | re.ASCII,
)


class Head(NamedTuple):
    """The header of an entry: the parts that a layout puts around the message.

    Attributes:
        start: The index in the line at which the header begins; text before it was added by docker or grep.
        time: The time as written, ``2026-11-21 03:12:45,678``.
        level: The level as written.
        message: The begin and end of the message in the line.
        logger: The logger's name; None if the line has none, for example because the line is truncated.
    """

    start: int
    time: str
    level: str
    message: tuple[int, int]
    logger: str | None


def find_head(line: str) -> Head | None:
    """Find the header in a line, wherever it begins; return None if the line continues the entry above it."""
    found = _HEAD.search(line)
    if found is None:
        return None
    time = f"{found['time'][:10]} {found['time'][11:19]},{found['time'][20:]}"
    rest = _REST.fullmatch(line, found.end())
    if rest is None:
        return Head(found.start(), time, found["level"], (found.end(), len(line)), None)
    return Head(found.start(), time, found["level"], rest.span("message"), rest["logger"])


def message_columns(text: str) -> Row:
    """Return the columns that the message of a line gives, ``understood`` and ``kind`` included."""
    row, fields = find_fields(text)
    for field in fields:
        row |= field.read(text[slice(*field.span)])
    return row

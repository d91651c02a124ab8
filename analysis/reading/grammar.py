"""What one line means: where its header is, and which columns its message gives.

``analysis.reading.forms`` says the same of thousands of lines at once. It asks for one line of each form, and
leaves every line that it cannot read to this module.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.analysis.reading.fields import Row, find_fields

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
        start: Where in the line it begins; what stands before is somebody else's (docker, grep).
        time: As written, ``2026-11-21 03:12:45,678``.
        level: As written.
        message: Where in the line the message begins and ends.
        logger: The logger's name; None where the line has none, for example because it is torn off.
    """

    start: int
    time: str
    level: str
    message: tuple[int, int]
    logger: str | None


def find_head(line: str) -> Head | None:
    """Find the header in a line, wherever it begins; None for a line that belongs to the entry above it."""
    found = _HEAD.search(line)
    if found is None:
        return None
    time = f"{found['time'][:10]} {found['time'][11:19]},{found['time'][20:]}"
    rest = _REST.fullmatch(line, found.end())
    if rest is None:
        return Head(found.start(), time, found["level"], (found.end(), len(line)), None)
    return Head(found.start(), time, found["level"], rest.span("message"), rest["logger"])


def message_columns(text: str) -> Row:
    """Return the columns that the message of a line gives, from ``understood`` and ``kind`` on."""
    row, fields = find_fields(text)
    for field in fields:
        row |= field.read(text[slice(*field.span)])
    return row

"""The reader and writer of Java's ``.properties`` format (``server.properties``, ``meta.properties``).

Source: ``java.util.Properties.load`` (Java SE 17 API documentation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)


def _logical_lines(text: str) -> Iterator[str]:
    """Generate the lines without blanks and comments; a backslash at its end joins a line to the next."""
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(_BLANKS)
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        backslashes = len(pending) - len(pending.rstrip("\\"))
        if backslashes % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2]) if match[2] else ""

    return _ESCAPE.sub(replacement, text)


def _split(line: str) -> tuple[str, str]:
    """Split a line at the first ``=``, ``:`` or blank that is not escaped."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANKS:
        position += 2 if line[position] == "\\" else 1
    key, rest = line[:position], line[position:].lstrip(_BLANKS)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def parse_properties(text: str) -> dict[str, str]:
    """Parse a properties text; the last of several equal keys counts."""
    pairs = (_split(line) for line in _logical_lines(text))
    return {_unescape(key): _unescape(value) for key, value in pairs}


def _escape(text: str, also: str) -> str:
    named = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}
    return "".join(
        named.get(c) or ("\\" + c if c in also else c if " " <= c <= "~" else _escape_unicode(c))
        for c in text
    )


def _escape_unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))


def render_properties(values: Mapping[str, str], comment: str = "") -> str:
    """Format ``values`` in their order as a properties text, below the lines of ``comment``."""
    lines = [f"# {line}" for line in comment.splitlines()]
    for key, value in values.items():
        body = _escape(value, "")
        if body[:1] == " ":
            body = "\\" + body
        lines.append(f"{_escape(key, '=: #!')}={body}")
    return "\n".join(lines) + "\n"

"""Texts that others choose, as log lines show them."""

from __future__ import annotations


def shortened(text: str, most: int = 255) -> str:
    """Return ``text`` for a log line: cut after ``most`` characters, with its length if it is longer."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def printable(text: str) -> str:
    """Return ``text`` with escapes for the characters that would break or forge a line."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)

"""Which names a topic may have, and which topics are Kafka's own.

Sources: ``org.apache.kafka.common.internals.Topic`` of release 2.8.
"""

from __future__ import annotations

import re

MAX_NAME_CHARACTERS = 249
"""A log directory is named topic-partition, and some file systems end at 255 characters."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""The topics that coordinators keep their state in; clients see them and may not write to them."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def fault(name: str) -> str | None:
    """What is wrong with a topic's name, as the rest of a sentence about it; None for a legal name."""
    if not name:
        return "the empty string is not allowed"
    if name in {".", ".."}:
        return "'.' or '..' is not allowed"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_CHARACTERS}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None

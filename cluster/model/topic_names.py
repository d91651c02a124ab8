"""Which names a topic may have, and which topics are Kafka's own.

Source: ``org.apache.kafka.common.internals.Topic`` of release 2.8.
"""

from __future__ import annotations

import re

MAX_NAME_LENGTH = 249
"""Of a topic's name, in characters: a directory name must hold it, a partition number and a suffix."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""The topics that coordinators keep their state in; clients see them and may not write to them."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def fault(name: str) -> str | None:
    """What is wrong with a topic's name, in a sentence; None for a legal name."""
    if not name:
        return "Topic name is illegal, it can't be empty"
    if name in {".", ".."}:
        return 'Topic name cannot be "." or ".."'
    if len(name) > MAX_NAME_LENGTH:
        return f"Topic name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters: {name}"
    if not _LEGAL_NAME.fullmatch(name):
        return (
            f'Topic name "{name}" is illegal, it contains a character other than ASCII alphanumerics, '
            '"." , "_" and "-"'
        )
    return None

"""The rules for topic names, and the names of internal topics.

Source: ``org.apache.kafka.common.internals.Topic`` of release 2.8.
"""

from __future__ import annotations

import re

MAX_NAME_LENGTH = 249
"""The most characters of a topic name, which must fit into a directory name with partition and suffix."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""The topics that hold coordinators' state; clients see them and may not write to them."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def fault(name: str) -> str | None:
    """Return what is wrong with a topic name; None for a legal name."""
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

"""The files that options name: text, properties, and JSON about partitions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.properties import parse_properties
from barnabas.tools.command_line.parser import ToolError


def read_text(path: str, option: str = "") -> str:
    """Return the content of a file.

    Args:
        path: The file.
        option: The option that names it, for the error.

    Raises:
        ToolError: The file cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(f"{option} {path} cannot be read: {error}".lstrip()) from error


def read_properties(path: str | None, option: str) -> dict[str, str]:
    """Return the properties in the file at ``path``, which ``option`` names; empty without a path.

    Raises:
        ToolError: The file cannot be read.
    """
    return {} if path is None else parse_properties(read_text(path, option))


def json_items(text: str, key: str) -> list[dict[str, Any]]:
    """Return the objects in the list ``key`` of a JSON object of version 1; none if the list is missing.

    Raises:
        ToolError: The text is not of this form.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The input string is not a valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ToolError(f"The file holds {text[:100]!r}; expected a JSON object")
    if content.get("version", 1) != 1:
        raise ToolError(f"Not supported version field value {content['version']}")
    items = content.get(key, [])
    if not (isinstance(items, list) and all(isinstance(item, dict) for item in items)):
        raise ToolError(f"'{key}' holds {items!r}; expected a list of objects")
    return items


def json_partition(item: Mapping[str, Any], *numbers: str) -> TopicPartition:
    """Return the partition in an item that has a topic, a partition, and whole numbers of these names.

    Raises:
        ToolError: The item lacks one of them.
    """
    fields = ("partition", *numbers)
    # A bool is an int, too.
    if isinstance(item.get("topic"), str) and all(type(item.get(name)) is int for name in fields):
        return TopicPartition(item["topic"], item["partition"])
    raise ToolError(
        f"{json.dumps(item)} is no partition; expected a 'topic' (string) and numbers: {', '.join(fields)}"
    )


def duplicates(values: Iterable[Hashable]) -> list[Hashable]:
    """Return the values that occur more than once."""
    return [value for value, times in Counter(values).items() if times > 1]

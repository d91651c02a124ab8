"""``--command-config``: a file of properties for the tools' own clients, as Kafka's tools take it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka.admin import KafkaAdminClient

from cluster.model.properties import parse_properties


class CommandConfigError(Exception):
    """The file cannot be read, or the client does not know one of its properties; the message names it."""


def properties(path: Path | None) -> dict[str, str]:
    """The properties in the file at ``path``; none where there is no such flag.

    librdkafka knows most of them by the names that Kafka's own clients have.

    Raises:
        CommandConfigError: The file cannot be read.
    """
    if path is None:
        return {}
    try:
        return parse_properties(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandConfigError(f"--command-config {path} cannot be read: {error}") from error


def for_kafka_python(path: Path | None) -> dict[str, Any]:
    """The same as arguments of kafka-python's admin client.

    Raises:
        CommandConfigError: The file cannot be read, or that client has no such setting or value.
    """
    arguments: dict[str, Any] = {}
    for name, text in properties(path).items():
        argument = name.replace(".", "_")
        if argument not in KafkaAdminClient.DEFAULT_CONFIG:
            raise CommandConfigError(f"--command-config {path}: the client has no property '{name}'")
        arguments[argument] = _typed(path, name, text, KafkaAdminClient.DEFAULT_CONFIG[argument])
    return arguments


def _typed(path: Path | None, name: str, text: str, default: object) -> object:
    """``text`` in the type of ``default``."""
    if isinstance(default, bool):
        return text.strip().lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError as error:
            raise CommandConfigError(
                f"--command-config {path}: {name} is '{text}', expected a whole number"
            ) from error
    return text

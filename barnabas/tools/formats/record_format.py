"""The text of a record that ``kafka-console-consumer.sh`` prints.

Source: ``DefaultMessageFormatter`` in ``kafka.tools.ConsoleConsumer`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from barnabas.tools.command_line.parser import ToolError

_SERIALIZATION = "org.apache.kafka.common.serialization"


class Record(NamedTuple):
    """A record as a consumer gets it.

    Attributes:
        partition: Its partition.
        offset: Its offset.
        timestamp_type: ``CreateTime`` or ``LogAppendTime``; None without a timestamp.
        timestamp: Milliseconds since 1970.
        key: Its key; None for null.
        value: Its value; None for null.
        headers: Its headers.
    """

    partition: int
    offset: int
    timestamp_type: str | None
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


Deserialize = Callable[[bytes], bytes]
"""The type of functions that return the text of a key, a value or a header."""


def _number(name: str, layout: Struct) -> Deserialize:
    def deserialize(content: bytes) -> bytes:
        if len(content) != layout.size:
            raise ToolError(
                f"Size of data received by {name} is not {layout.size}",
            )
        return str(layout.unpack(content)[0]).encode()

    return deserialize


def _uuid(content: bytes) -> bytes:
    try:
        return str(UUID(content.decode())).encode()
    except ValueError as error:
        raise ToolError(
            f"Error parsing data into UUID: {content!r}, expected its text",
        ) from error


_DESERIALIZERS: dict[str, Deserialize] = {
    f"{_SERIALIZATION}.StringDeserializer": lambda content: content.decode(errors="replace").encode(),
    f"{_SERIALIZATION}.ShortDeserializer": _number("ShortDeserializer", Struct(">h")),
    f"{_SERIALIZATION}.IntegerDeserializer": _number("IntegerDeserializer", Struct(">i")),
    f"{_SERIALIZATION}.LongDeserializer": _number("LongDeserializer", Struct(">q")),
    f"{_SERIALIZATION}.UUIDDeserializer": _uuid,
}


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The layout of a printed record.

    Attributes:
        shown: The printed columns, of ``timestamp``, ``partition``, ``offset``, ``headers``, ``key`` and
            ``value``.
        separators: What stands behind a column, a line and a header: ``key``, ``line`` and ``headers``.
        null: The text of a null.
        deserializers: The deserializers of ``key``, ``value`` and ``headers``.
    """

    shown: frozenset[str]
    separators: Mapping[str, bytes]
    null: bytes
    deserializers: Mapping[str, Deserialize]

    def text_of(self, record: Record) -> bytes:
        """Return the text of a record, with its line separator.

        Raises:
            ToolError: A deserializer does not fit.
        """
        columns = [
            column for name in _COLUMNS if name in self.shown for column in [self._column(name, record)]
        ]
        return self.separators["key"].join(columns) + self.separators["line"] if columns else b""

    def _column(self, name: str, record: Record) -> bytes:
        match name:
            case "timestamp":
                if record.timestamp_type is None:
                    return b"NO_TIMESTAMP"
                return f"{record.timestamp_type}:{record.timestamp}".encode()
            case "partition":
                return f"Partition:{record.partition}".encode()
            case "offset":
                return f"Offset:{record.offset}".encode()
            case "headers":
                headers = (
                    f"{key}:".encode() + self._content("headers", value) for key, value in record.headers
                )
                return self.separators["headers"].join(headers) or b"NO_HEADERS"
            case "key":
                return self._content("key", record.key)
            case _:
                return self._content("value", record.value)

    def _content(self, name: str, content: bytes | None) -> bytes:
        # A null goes through the deserializer as the text that stands for it, as in Kafka.
        data = self.null if content is None else content
        deserialize = self.deserializers.get(name)
        return data if deserialize is None else deserialize(data)


_COLUMNS = ("timestamp", "partition", "offset", "headers", "key", "value")
"""The columns in their order."""

_SHOWN_AT_FIRST = frozenset({"value"})
_SEPARATORS = {"key": "\t", "line": "\n", "headers": ","}


def record_format(properties: Mapping[str, str]) -> RecordFormat:
    """Return the format that the properties of ``--property`` describe.

    Raises:
        ToolError: A deserializer is not known.
    """
    shown = {
        name
        for name in _COLUMNS
        if properties.get(f"print.{name}", str(name in _SHOWN_AT_FIRST)).strip().lower() == "true"
    }
    separators = {
        name: properties.get(f"{name}.separator", default).encode() for name, default in _SEPARATORS.items()
    }
    classes = {
        name: properties[f"{name}.deserializer"]
        for name in ("key", "value", "headers")
        if f"{name}.deserializer" in properties
    }
    for name in classes.values():
        if name not in _DESERIALIZERS:
            raise ToolError(f"{name}; expected one of {', '.join(_DESERIALIZERS)}")
    deserializers = {name: _DESERIALIZERS[class_] for name, class_ in classes.items()}
    null = properties.get("null.literal", "null").encode()
    return RecordFormat(frozenset(shown), separators, null, deserializers)

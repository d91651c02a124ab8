"""Properties of Java's clients as settings of librdkafka, through which tools read and write records.

Most names are the same. What Java's clients need and librdkafka has no use for, such as serializers, is
left out; librdkafka refuses properties that it does not know.
Sources: ``ProducerConfig`` and ``ConsumerConfig`` of Kafka 2.8, the configuration properties of librdkafka
2.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import confluent_kafka

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.tools.clients.client_login import ClientLoginError, with_login
from barnabas.tools.clients.client_tls import taken
from barnabas.tools.command_line.parser import ToolError

C = TypeVar("C")

_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}

EXCLUDE_INTERNAL = "exclude.internal.topics"
"""The property by which patterns leave out Kafka's own topics; tools with patterns do that themselves."""

_WITHOUT_USE = frozenset(
    {
        "default.api.timeout.ms",
        EXCLUDE_INTERNAL,
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "value.deserializer",
        "value.serializer",
    }
)

_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
}

_VALUES = {
    "auto.offset.reset": {"none": "error"},
    "partition.assignment.strategy": _ASSIGNORS,
}
"""The values that have another name in librdkafka."""

_BYTES_PER_KB = 1024

SILENT = logging.Logger("librdkafka")  # noqa: LOG001  # a logger of nobody's: not one of the process's tree
"""The logger for librdkafka's own lines, which are not shown: its errors come as events."""
SILENT.addHandler(logging.NullHandler())


def consumer(
    properties: Mapping[str, str], settings: Mapping[str, Any] | None = None
) -> confluent_kafka.Consumer:
    """Create a consumer.

    Args:
        properties: Properties of Java's clients.
        settings: More settings of librdkafka.

    Raises:
        ToolError: A property or its value is refused.
    """
    return _created(confluent_kafka.Consumer, properties, settings)


def producer(
    properties: Mapping[str, str], settings: Mapping[str, Any] | None = None
) -> confluent_kafka.Producer:
    """Create a producer, as `consumer` does a consumer."""
    return _created(confluent_kafka.Producer, properties, settings)


def _created(
    kind: Callable[[dict[str, Any]], C], properties: Mapping[str, str], settings: Mapping[str, Any] | None
) -> C:
    try:
        return kind({**for_librdkafka(properties), **(settings or {}), "logger": SILENT})
    except confluent_kafka.KafkaException as error:
        raise ToolError(error.args[0].str()) from error


def for_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """Translate properties of Java's clients.

    Raises:
        ToolError: The login or the stores that they name cannot be used.
    """
    try:
        tls, others = taken(properties)
        with_password = with_login(others)
    except (ClientLoginError, ConfigError) as error:
        raise ToolError(str(error)) from None
    settings: dict[str, str] = {}
    for name, value in with_password.items():
        if name == "buffer.memory" and value.isdigit():
            settings["queue.buffering.max.kbytes"] = str(max(1, int(value) // _BYTES_PER_KB))
        elif name not in _WITHOUT_USE:
            settings[_RENAMED.get(name, name)] = _VALUES.get(name, {}).get(value, value)
    return settings if tls is None else settings | tls.for_librdkafka()

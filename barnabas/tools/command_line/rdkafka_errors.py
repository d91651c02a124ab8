"""The errors of librdkafka's consumers; the names of its own begin with an underscore."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError

from barnabas.tools.command_line.parser import ToolError

_PASSING = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)
"""The errors after which a consumer continues with a warning, as Java's does."""


def is_record(message: Any) -> bool:
    """Return whether a message of a consumer is a record; errors that pass are not.

    Raises:
        ToolError: The error does not pass.
    """
    error = message.error()
    if error is not None and (error.fatal() or error.code() not in _PASSING):
        raise ToolError(error.str())
    return error is None

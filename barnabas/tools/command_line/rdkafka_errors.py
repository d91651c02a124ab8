"""Errors of librdkafka under the names of Java's exceptions.

Brokers' errors have the same numbers as in the protocol; librdkafka's own are negative.
"""

from __future__ import annotations

import confluent_kafka
from confluent_kafka import KafkaError

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.java_errors import java_class, java_message
from barnabas.tools.command_line.options import JavaError

_TIMEOUTS = frozenset({KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._TRANSPORT})  # noqa: SLF001
"""librdkafka's public names of its own errors begin with an underscore."""

PASSING = frozenset(
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


def java_error(error: confluent_kafka.KafkaError) -> JavaError:
    """Return an error as Java's clients throw it."""
    code = int(error.code())
    if code in _TIMEOUTS:
        return JavaError(java_class(ErrorCode.REQUEST_TIMED_OUT), error.str())
    if code < 0:
        return JavaError("org.apache.kafka.common.KafkaException", error.str())
    known = ErrorCode.from_code(code)
    return JavaError(java_class(known), java_message(known))

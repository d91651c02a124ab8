"""Errors of librdkafka under Java's names."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from barnabas.tools.rdkafka_errors import java_error


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        (
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            "errors.UnknownTopicOrPartitionException",
            "This server does not host this topic-partition.",
        ),
        (KafkaError._MSG_TIMED_OUT, "errors.TimeoutException", "too late"),
        (KafkaError._INVALID_ARG, "KafkaException", "too late"),
    ],
)
def test_an_error_is_called_as_in_java(code: int, name: str, text: str) -> None:
    error = java_error(KafkaError(code, "too late"))
    assert (error.java_class, str(error)) == (f"org.apache.kafka.common.{name}", text)

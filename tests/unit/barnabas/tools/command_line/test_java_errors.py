"""The errors and log lines of the tools, as Java's print them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from confluent_kafka import KafkaError

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.java_errors import java_class, java_message
from barnabas.tools.command_line.log4j import log, log_line
from barnabas.tools.command_line.rdkafka_errors import java_error


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ErrorCode.UNKNOWN_SERVER_ERROR, "UnknownServerException"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "UnknownTopicOrPartitionException"),
        (ErrorCode.REQUEST_TIMED_OUT, "TimeoutException"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "InvalidTopicException"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "ClusterAuthorizationException"),
        (ErrorCode.INVALID_CONFIG, "InvalidConfigurationException"),
        (ErrorCode.NOT_CONTROLLER, "NotControllerException"),
        (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "PreferredLeaderNotAvailableException"),
    ],
)
def test_an_error_is_called_as_in_java(error: ErrorCode, name: str) -> None:
    assert java_class(error) == f"org.apache.kafka.common.errors.{name}"


def test_an_error_says_what_it_says_in_java() -> None:
    assert java_message(ErrorCode.GROUP_ID_NOT_FOUND) == "The group id does not exist."
    assert java_message(ErrorCode.NOT_CONTROLLER) == ErrorCode.NOT_CONTROLLER.meaning


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
def test_an_error_of_librdkafka_is_called_as_in_java(code: int, name: str, text: str) -> None:
    error = java_error(KafkaError(code, "too late"))
    assert (error.java_class, str(error)) == (f"org.apache.kafka.common.{name}", text)


def test_a_line_has_log4js_pattern() -> None:
    when = datetime(2026, 11, 22, 22, 8, 48, 84_999, UTC)
    assert log_line(when, "WARN", "It is late", "kafka.Tool$") == (
        "[2026-11-22 22:08:48,084] WARN It is late (kafka.Tool$)"
    )


def test_a_cause_is_written_below(capsys: pytest.CaptureFixture[str]) -> None:
    log("ERROR", "It failed", "kafka.Tool$", "java.lang.Exception: why")
    line, cause = capsys.readouterr().err.splitlines()
    assert line.endswith("] ERROR It failed (kafka.Tool$)")
    assert cause == "java.lang.Exception: why"

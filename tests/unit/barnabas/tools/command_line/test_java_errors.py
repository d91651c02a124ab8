"""The names of errors in the output of the tools."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.java_errors import java_class


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

"""The errors of a test's cluster."""

from __future__ import annotations

from barnabas.local.errors import ClusterError

__all__ = ["ClusterError", "RefusedError", "UnknownBrokerError", "UnknownTopicError", "WaitTimeoutError"]


class UnknownBrokerError(ClusterError, LookupError):
    """An error for a broker id or node that does not exist; the message names those that do."""


class UnknownTopicError(ClusterError, LookupError):
    """An error for a topic or partition that does not exist; the message names those that do."""


class WaitTimeoutError(ClusterError, TimeoutError):
    """An error of a wait whose time is over; the message says what was awaited and how things stand."""


class RefusedError(ClusterError):
    """An error for a request that the cluster refused; the message has Kafka's error."""

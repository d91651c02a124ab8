"""The names of Kafka's exceptions in Java, which are part of what its tools print.

Source: the exceptions in ``org.apache.kafka.common.protocol.Errors`` of release 2.8.
"""

from __future__ import annotations

from barnabas.cluster.model.errors import ErrorCode

_PACKAGE = "org.apache.kafka.common.errors"

_OTHERWISE = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServer",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecord",
    ErrorCode.REQUEST_TIMED_OUT: "Timeout",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLarge",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMoved",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopic",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLarge",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorization",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorization",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorization",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorization",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExists",
    ErrorCode.INVALID_CONFIG: "InvalidConfiguration",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequence",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequence",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMapping",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeout",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorage",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmpty",
}
"""The errors whose exceptions have irregular names."""


def java_class(error: ErrorCode) -> str:
    """Return the full class name of an error's exception in Kafka's clients."""
    name = _OTHERWISE.get(error) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"{_PACKAGE}.{name}Exception"

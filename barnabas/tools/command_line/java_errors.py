"""The names of Kafka's exceptions in Java, as its tools print them.

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


_MESSAGES = {
    ErrorCode.UNKNOWN_SERVER_ERROR: (
        "The server experienced an unexpected error when processing the request."
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        "The requested offset is not within the range of offsets maintained by the server."
    ),
    ErrorCode.CORRUPT_MESSAGE: (
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a "
        "compacted topic, or is otherwise corrupt."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.LEADER_NOT_AVAILABLE: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not the"
        " current leader. For requests intended for any replica, this error indicates that the "
        "broker is not a replica of the topic partition."
    ),
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.BROKER_NOT_AVAILABLE: "The broker is not available.",
    ErrorCode.MESSAGE_TOO_LARGE: (
        "The request included a message larger than the max message size the server will accept."
    ),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "The metadata field of the offset request was too large.",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
    ErrorCode.RECORD_LIST_TOO_LARGE: (
        "The request included message batch larger than the configured segment size on the server."
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: (
        "Messages are rejected since there are fewer in-sync replicas than required."
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (
        "Messages are written to the log, but to fewer in-sync replicas than required."
    ),
    ErrorCode.INVALID_REQUIRED_ACKS: "Produce request specified an invalid value for required acks.",
    ErrorCode.ILLEGAL_GENERATION: "Specified group generation id is not valid.",
    ErrorCode.INVALID_GROUP_ID: "The configured groupId is invalid.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    ErrorCode.REBALANCE_IN_PROGRESS: "The group is rebalancing, so a rejoin is needed.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.INVALID_TIMESTAMP: "The timestamp of the message is out of acceptable range.",
    ErrorCode.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
    ErrorCode.UNSUPPORTED_VERSION: "The version of API is not supported.",
    ErrorCode.KAFKA_STORAGE_ERROR: "Disk error when trying to access log file on the disk.",
    ErrorCode.LOG_DIR_NOT_FOUND: "The user-specified log directory is not found in the broker config.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    ErrorCode.UNKNOWN_LEADER_EPOCH: (
        "The leader epoch in the request is newer than the epoch on the broker."
    ),
    ErrorCode.OFFSET_NOT_AVAILABLE: (
        "The leader high watermark has not caught up from a recent leader election so the offsets "
        "cannot be guaranteed to be monotonically increasing."
    ),
    ErrorCode.FENCED_INSTANCE_ID: (
        "The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id."
    ),
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    ErrorCode.INVALID_RECORD: "This record has failed the validation on broker and hence will be rejected.",
}
"""The messages of the exceptions that a broker sends without one of its own."""


def java_class(error: ErrorCode) -> str:
    """Return the full class name of an error's exception in Kafka's clients."""
    name = _OTHERWISE.get(error) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"{_PACKAGE}.{name}Exception"


def java_message(error: ErrorCode) -> str:
    """Return the message of an error's exception in Kafka's clients."""
    return _MESSAGES.get(error, error.meaning)

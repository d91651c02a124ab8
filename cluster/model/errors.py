"""The table of Kafka's error codes: number, whether a client may retry, and meaning.

Source: ``org.apache.kafka.common.protocol.Errors`` of release 2.8. Codes of features that no ZooKeeper-mode
broker has (delegation tokens, KRaft) are left out.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ErrorCode(IntEnum):
    """The error codes of the protocol.

    Attributes:
        retriable: Whether the same request may succeed later.
        meaning: One sentence for people.
    """

    retriable: bool
    meaning: str

    def __new__(cls, code: int, retriable: bool, meaning: str) -> Self:
        """Create a member whose value is its ``code``."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.meaning = meaning
        return member

    @classmethod
    def from_code(cls, code: int) -> ErrorCode:
        """Return the error with a number; ``UNKNOWN_SERVER_ERROR`` for an unknown number."""
        return _BY_CODE.get(code, cls.UNKNOWN_SERVER_ERROR)

    UNKNOWN_SERVER_ERROR = -1, False, "the server failed with an unexpected error"
    NONE = 0, False, "no error"
    OFFSET_OUT_OF_RANGE = 1, False, "the offset lies outside the log"
    CORRUPT_MESSAGE = 2, True, "a batch has a wrong checksum, size or magic"
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "this broker does not know the topic or partition"
    INVALID_FETCH_SIZE = 4, False, "the fetch size is not valid"
    LEADER_NOT_AVAILABLE = 5, True, "the partition has no leader now"
    NOT_LEADER_OR_FOLLOWER = 6, True, "this broker is not the leader, or no replica, of the partition"
    REQUEST_TIMED_OUT = 7, True, "the request was not completed in its time"
    BROKER_NOT_AVAILABLE = 8, False, "the broker is not available"
    REPLICA_NOT_AVAILABLE = 9, True, "the replica is not available"
    MESSAGE_TOO_LARGE = 10, False, "the batch is larger than max.message.bytes"
    STALE_CONTROLLER_EPOCH = 11, False, "the request is of an older controller"
    OFFSET_METADATA_TOO_LARGE = 12, False, "the metadata of an offset commit is too large"
    NETWORK_EXCEPTION = 13, True, "the connection broke before an answer came"
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "the coordinator is loading"
    COORDINATOR_NOT_AVAILABLE = 15, True, "there is no coordinator now"
    NOT_COORDINATOR = 16, True, "this broker is not the coordinator"
    INVALID_TOPIC_EXCEPTION = 17, False, "the topic's name is not valid, or the topic may not be used so"
    RECORD_LIST_TOO_LARGE = 18, False, "the batch is larger than a segment"
    NOT_ENOUGH_REPLICAS = 19, True, "fewer in-sync replicas than min.insync.replicas; nothing was written"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        True,
        "written, but the in-sync replicas fell below min.insync.replicas",
    )
    INVALID_REQUIRED_ACKS = 21, False, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, False, "the group is in another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "no protocol is shared with the members of the group"
    INVALID_GROUP_ID = 24, False, "the group id is not valid"
    UNKNOWN_MEMBER_ID = 25, False, "the group does not know this member"
    INVALID_SESSION_TIMEOUT = 26, False, "the session timeout is outside the broker's bounds"
    REBALANCE_IN_PROGRESS = 27, False, "the group is rebalancing"
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "the offset commit is too large"
    TOPIC_AUTHORIZATION_FAILED = 29, False, "not allowed on this topic"
    GROUP_AUTHORIZATION_FAILED = 30, False, "not allowed on this group"
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "not allowed on this cluster"
    INVALID_TIMESTAMP = 32, False, "a timestamp is outside the allowed range"
    UNSUPPORTED_SASL_MECHANISM = 33, False, "the listener does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, False, "the request does not fit the state of the authentication"
    UNSUPPORTED_VERSION = 35, False, "this version of the API is not served"
    TOPIC_ALREADY_EXISTS = 36, False, "a topic of this name exists"
    INVALID_PARTITIONS = 37, False, "the number of partitions is not valid"
    INVALID_REPLICATION_FACTOR = 38, False, "the replication factor is not valid"
    INVALID_REPLICA_ASSIGNMENT = 39, False, "the replica assignment is not valid"
    INVALID_CONFIG = 40, False, "a setting is not valid"
    NOT_CONTROLLER = 41, True, "this broker is not the controller"
    INVALID_REQUEST = 42, False, "the request contradicts itself"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "the message format does not allow this"
    POLICY_VIOLATION = 44, False, "the request breaks a policy"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "the producer's sequence has a gap"
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "the producer's batch was written before"
    INVALID_PRODUCER_EPOCH = 47, False, "the producer's epoch is old"
    INVALID_TXN_STATE = 48, False, "the transaction is in another state"
    INVALID_PRODUCER_ID_MAPPING = 49, False, "the producer id belongs to another transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, False, "the transaction timeout is too large"
    CONCURRENT_TRANSACTIONS = 51, True, "the last transaction is still being completed"
    TRANSACTION_COORDINATOR_FENCED = 52, False, "the transaction coordinator has a newer epoch"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "not allowed for this transactional id"
    SECURITY_DISABLED = 54, False, "this cluster has no authorizer"
    OPERATION_NOT_ATTEMPTED = 55, False, "not tried, because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, True, "the log directory is offline"
    LOG_DIR_NOT_FOUND = 57, False, "no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, False, "the client is not authenticated"
    UNKNOWN_PRODUCER_ID = 59, False, "this producer id is no longer known"
    REASSIGNMENT_IN_PROGRESS = 60, False, "the partition is being reassigned"
    NON_EMPTY_GROUP = 68, False, "the group has members"
    GROUP_ID_NOT_FOUND = 69, False, "no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "no such fetch session"
    INVALID_FETCH_SESSION_EPOCH = 71, True, "the fetch session is at another epoch"
    LISTENER_NOT_FOUND = 72, True, "the leader does not have this listener"
    TOPIC_DELETION_DISABLED = 73, False, "delete.topic.enable is false"
    FENCED_LEADER_EPOCH = 74, True, "the leader epoch is older than the broker's"
    UNKNOWN_LEADER_EPOCH = 75, True, "the leader epoch is newer than the broker's"
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "this API version does not know the compression type"
    STALE_BROKER_EPOCH = 77, False, "the request has the broker epoch of an earlier registration"
    OFFSET_NOT_AVAILABLE = 78, True, "the new leader does not know its high watermark yet"
    MEMBER_ID_REQUIRED = 79, False, "join again with the member id given here"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "the preferred leader cannot lead now"
    GROUP_MAX_SIZE_REACHED = 81, False, "the group is full"
    FENCED_INSTANCE_ID = 82, False, "another member has taken this group instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "no replica can lead now"
    ELECTION_NOT_NEEDED = 84, True, "the wanted leader leads already"
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "the partition is not being reassigned"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "the group is subscribed to the topic"
    INVALID_RECORD = 87, False, "a record breaks a rule of the format"
    UNSTABLE_OFFSET_COMMIT = 88, True, "a transactional offset commit is still open"
    THROTTLING_QUOTA_EXCEEDED = 89, True, "the quota is used up"
    PRODUCER_FENCED = 90, False, "a newer producer has the transactional id"
    RESOURCE_NOT_FOUND = 91, False, "the request names something that does not exist"
    DUPLICATE_RESOURCE = 92, False, "the request names something twice"
    UNACCEPTABLE_CREDENTIAL = 93, False, "the credential breaks a rule"
    INVALID_UPDATE_VERSION = 95, False, "the partition's state has another version"
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "only the endpoints of brokers are served (since Kafka 3.7)"


_BY_CODE = {int(error): error for error in ErrorCode}

"""The APIs this broker serves and their versions.

They are those of release 2.8, but for the lowest ones of Produce and Fetch, which carry message formats that
are not served, and where the table says so. Announcing a version is a promise: Java and franz-go take the
highest one at once, so a range is announced only if every version in it is served. Sources:
``common/message/*Request.json`` of release 2.8; KIP-35; KIP-511; KIP-896.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique
from types import MappingProxyType


@unique
class ApiKey(IntEnum):
    """The number of an API on the wire."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    ALTER_CONFIGS = 33
    CREATE_PARTITIONS = 37
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    OFFSET_DELETE = 47


@dataclass(frozen=True, slots=True)
class Api:
    """An API and its versions, all inclusive.

    Attributes:
        key: The API.
        min_version: The lowest version served; a request below it closes the connection.
        max_version: The highest version served and announced.
        announced_from: The lowest announced version if it differs from the lowest served one, else None.
        pipelined: Whether the next request of a connection may start before this one is answered (the answers
            are still sent in order).
    """

    key: ApiKey
    min_version: int
    max_version: int
    announced_from: int | None = None
    pipelined: bool = False

    @property
    def announced_min(self) -> int:
        """The lowest version in ApiVersions."""
        return self.min_version if self.announced_from is None else self.announced_from

    def serves(self, version: int) -> bool:
        """Return whether the version is served."""
        return self.min_version <= version <= self.max_version


_TABLE = (
    # librdkafka before 2.11.1 compresses only if Produce 0 is announced. Kafka 4.0, which refuses versions 0
    # to 2, too, announces it for that reason (KIP-896). An idempotent producer has five produce requests in
    # flight: each is appended as it comes, while earlier ones wait for the high watermark.
    Api(ApiKey.PRODUCE, 3, 9, announced_from=0, pipelined=True),
    Api(ApiKey.FETCH, 4, 12),
    # Release 2.8 has versions up to 6. Version 7 asks for the largest timestamp (KIP-734).
    Api(ApiKey.LIST_OFFSETS, 0, 8),
    Api(ApiKey.METADATA, 0, 11),
    Api(ApiKey.OFFSET_COMMIT, 0, 8),
    Api(ApiKey.OFFSET_FETCH, 0, 7),
    Api(ApiKey.FIND_COORDINATOR, 0, 3),
    Api(ApiKey.JOIN_GROUP, 0, 7),
    Api(ApiKey.HEARTBEAT, 0, 4),
    Api(ApiKey.LEAVE_GROUP, 0, 4),
    Api(ApiKey.SYNC_GROUP, 0, 5),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 5),
    Api(ApiKey.LIST_GROUPS, 0, 4),
    Api(ApiKey.SASL_HANDSHAKE, 0, 1),
    Api(ApiKey.API_VERSIONS, 0, 3),
    Api(ApiKey.CREATE_TOPICS, 0, 7),
    Api(ApiKey.DELETE_TOPICS, 0, 6),
    Api(ApiKey.DELETE_RECORDS, 0, 2),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 4),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 0, 4),
    Api(ApiKey.DESCRIBE_ACLS, 0, 2),
    Api(ApiKey.CREATE_ACLS, 0, 2),
    Api(ApiKey.DELETE_ACLS, 0, 2),
    Api(ApiKey.DESCRIBE_CONFIGS, 0, 4),
    Api(ApiKey.DELETE_GROUPS, 0, 2),
    Api(ApiKey.ELECT_LEADERS, 0, 2),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 0),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0),
    Api(ApiKey.ALTER_CONFIGS, 0, 2),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 0, 2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 0, 2),
    Api(ApiKey.SASL_AUTHENTICATE, 0, 2),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0),
    # Release 2.8 has version 0 alone. kafka-python 3 fails with it: it expects the fields of version 1.
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 1),
    Api(ApiKey.OFFSET_DELETE, 0, 0),
    Api(ApiKey.UPDATE_FEATURES, 0, 0),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
)

APIS: Mapping[int, Api] = MappingProxyType({api.key: api for api in _TABLE})
"""Every served API by its key, in the order in which ApiVersions lists them."""

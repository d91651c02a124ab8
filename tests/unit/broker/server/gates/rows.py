"""The table of what each served API needs, from which the tests of all states of a client come.

``test_table`` has the states with an authorizer, ``test_before_authentication`` those without authentication.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
from types import NoneType, UnionType
from typing import get_args, get_origin

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import Request
from barnabas.broker.wire.schemas import REQUEST, load_schema
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.principal import ANONYMOUS

OP = AclOperation
T, G, X, C = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
TOPIC, GROUP, CLUSTER = 29, 30, 31

PARTITION = {"partition_index": 3, "partition": 3, "index": 3, "records": None}
TOPICS = {"topics": [{"name": "secret", "topic": "secret", "partitions": [PARTITION]}]}
FOLLOWED = TOPICS | {"replica_id": 2}
NUMBERED = {"topics": [{"name": "secret", "partition_indexes": [3]}]}
GROUPED = {"group_id": "secret"}
RESOURCES = {"resources": [{"resource_type": 2, "resource_name": "secret"}]}
BROKERS = {"resources": [{"resource_type": 4, "resource_name": "1"}]}

ROWS = [
    (
        ApiKey.PRODUCE,
        {"acks": -1, "topic_data": [{"name": "secret", "partition_data": [PARTITION]}]},
        [(OP.WRITE, T)],
        TOPIC,
    ),
    (ApiKey.FETCH, TOPICS | {"replica_id": -1, "session_epoch": -1}, [(OP.READ, T)], TOPIC),
    (ApiKey.FETCH, FOLLOWED | {"session_epoch": -1}, [(OP.CLUSTER_ACTION, C)], TOPIC),
    (ApiKey.LIST_OFFSETS, TOPICS, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.METADATA, {"topics": [{"name": "secret"}]}, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.OFFSET_COMMIT, TOPICS | GROUPED, [(OP.READ, G), (OP.READ, T)], GROUP),
    (ApiKey.OFFSET_FETCH, NUMBERED | GROUPED, [(OP.DESCRIBE, G), (OP.DESCRIBE, T)], GROUP),
    (ApiKey.FIND_COORDINATOR, {"key": "secret"}, [(OP.DESCRIBE, G)], GROUP),
    (ApiKey.JOIN_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.HEARTBEAT, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.LEAVE_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.SYNC_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.DESCRIBE_GROUPS, {"groups": ["secret"]}, [(OP.DESCRIBE, G)], GROUP),
    (
        ApiKey.CREATE_TOPICS,
        {"topics": [{"name": "secret"}]},
        [(OP.CREATE, T), (OP.DESCRIBE_CONFIGS, T)],
        TOPIC,
    ),
    (
        ApiKey.CREATE_TOPICS,
        {"topics": [{"name": "secret"}]},
        [(OP.CREATE, C), (OP.DESCRIBE_CONFIGS, T)],
        TOPIC,
    ),
    (
        ApiKey.DELETE_TOPICS,
        {"topics": [{"name": "secret", "topic_id": None}], "topic_names": ["secret"]},
        [(OP.DELETE, T)],
        TOPIC,
    ),
    (ApiKey.DELETE_RECORDS, TOPICS, [(OP.DELETE, T)], TOPIC),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": None}, [(OP.IDEMPOTENT_WRITE, C)], CLUSTER),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": None}, [(OP.WRITE, T)], CLUSTER),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": "secret"}, [(OP.WRITE, X)], 53),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, TOPICS, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, TOPICS, [(OP.CLUSTER_ACTION, C)], TOPIC),
    (
        ApiKey.DESCRIBE_ACLS,
        {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
        [(OP.DESCRIBE, C)],
        CLUSTER,
    ),
    (ApiKey.CREATE_ACLS, {"creations": [{"resource_name": "secret"}]}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DELETE_ACLS, {"filters": [{"resource_name_filter": "secret"}]}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DESCRIBE_CONFIGS, RESOURCES, [(OP.DESCRIBE_CONFIGS, T)], TOPIC),
    (ApiKey.DESCRIBE_CONFIGS, BROKERS, [(OP.DESCRIBE_CONFIGS, C)], CLUSTER),
    (ApiKey.ALTER_CONFIGS, RESOURCES, [(OP.ALTER_CONFIGS, T)], TOPIC),
    (ApiKey.ALTER_CONFIGS, BROKERS, [(OP.ALTER_CONFIGS, C)], CLUSTER),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, RESOURCES, [(OP.ALTER_CONFIGS, T)], TOPIC),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, BROKERS, [(OP.ALTER_CONFIGS, C)], CLUSTER),
    (ApiKey.DELETE_GROUPS, {"groups_names": ["secret"]}, [(OP.DELETE, G)], GROUP),
    (
        ApiKey.ELECT_LEADERS,
        {"topic_partitions": [{"topic": "secret", "partitions": [3]}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, TOPICS, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.LIST_PARTITION_REASSIGNMENTS, {"topics": None}, [(OP.DESCRIBE, C)], CLUSTER),
    (ApiKey.CREATE_PARTITIONS, {"topics": [{"name": "secret"}]}, [(OP.ALTER, T)], TOPIC),
    (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        {"dirs": [{"path": "/a", "topics": [{"name": "secret", "partitions": [3]}]}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.DESCRIBE_LOG_DIRS, {"topics": None}, [(OP.DESCRIBE, C)], None),
    (ApiKey.DESCRIBE_CLIENT_QUOTAS, {}, [(OP.DESCRIBE_CONFIGS, C)], CLUSTER),
    (
        ApiKey.ALTER_CLIENT_QUOTAS,
        {"entries": [{"entity": [{"entity_type": "user", "entity_name": "secret"}]}]},
        [(OP.ALTER_CONFIGS, C)],
        CLUSTER,
    ),
    (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": [{"name": "secret"}]}, [(OP.DESCRIBE, C)], CLUSTER),
    (
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        {"deletions": [{"name": "secret"}], "upsertions": [{"name": "secret"}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.UPDATE_FEATURES, {}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DESCRIBE_PRODUCERS, NUMBERED, [(OP.READ, T)], TOPIC),
    (ApiKey.LIST_GROUPS, {}, [(OP.DESCRIBE, C)], None),
    (ApiKey.LIST_GROUPS, {}, [(OP.DESCRIBE, G)], None),
    (ApiKey.DESCRIBE_CLUSTER, {}, [(OP.DESCRIBE, C)], None),
    (ApiKey.OFFSET_DELETE, TOPICS | GROUPED, [(OP.DELETE, G), (OP.READ, T)], GROUP),
]
"""An API, the fields of a request for the resource ``secret``, what it needs, and the error without that.

An API without an error answers everybody, with less for those who lack the grant (``FILTERED``).
"""

NEEDS_NOTHING = {
    ApiKey.API_VERSIONS: "a client asks for the versions before it can say who it is",
    ApiKey.SASL_HANDSHAKE: "a client says who it is by this",
    ApiKey.SASL_AUTHENTICATE: "a client says who it is by this",
}
"""The APIs that everybody may use, and why."""

FILTERED = {
    ApiKey.LIST_GROUPS: ({"groups": [{"group_id": "secret"}]}, lambda answer: answer.groups),
    ApiKey.DESCRIBE_CLUSTER: (
        {"cluster_authorized_operations": 8096},
        lambda answer: answer.cluster_authorized_operations,
    ),
}
"""What the handler of an API answers that needs nothing, and the part of it that needs a grant."""


TOLD = {
    ApiKey.FETCH: 7,
    ApiKey.OFFSET_FETCH: 2,
    ApiKey.FIND_COORDINATOR: 0,
    ApiKey.JOIN_GROUP: 0,
    ApiKey.HEARTBEAT: 0,
    ApiKey.LEAVE_GROUP: 0,
    ApiKey.SYNC_GROUP: 0,
    ApiKey.LIST_GROUPS: 0,
    ApiKey.SASL_HANDSHAKE: 0,
    ApiKey.SASL_AUTHENTICATE: 0,
    ApiKey.API_VERSIONS: 0,
    ApiKey.INIT_PRODUCER_ID: 0,
    ApiKey.DESCRIBE_ACLS: 0,
    ApiKey.ELECT_LEADERS: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 0,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.UPDATE_FEATURES: 0,
    ApiKey.DESCRIBE_CLUSTER: 0,
}
"""The APIs with an error for a whole request, and since which version.

Only they are answered, before the connection is closed, in the middle of an authentication.
"""


def versions(key):
    return range(APIS[key].min_version, APIS[key].max_version + 1)


CASES = [
    pytest.param(key, version, *row, id=f"{key.name} {version} {'+'.join(op.name for op, _ in row[1])}")
    for key, *row in ROWS
    for version in versions(key)
]


def made(kind, values):
    """An entity of kio from nested values; fields without one are empty."""
    if get_origin(kind) is UnionType:
        if values is None:
            return None
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return tuple(made(get_args(kind)[0], each) for each in values or ())
    if dataclasses.is_dataclass(kind):
        if not isinstance(values, dict):
            values = {}
        fields = {}
        for field in dataclasses.fields(kind):
            if field.name in values:
                fields[field.name] = made(field.type, values[field.name])
            elif field.default is dataclasses.MISSING:
                fields[field.name] = made(field.type, _empty(field.type))
        return kind(**fields)
    return values


def _empty(kind):
    if get_origin(kind) is UnionType:
        return None
    if get_origin(kind) is tuple:
        return ()
    if dataclasses.is_dataclass(kind):
        return {}
    base = kind if inspect.isclass(kind) else object
    if issubclass(base, KioErrorCode):
        return KioErrorCode.none
    for plain, empty in ((bool, False), (str, ""), (bytes, b""), (dt.timedelta, dt.timedelta(0))):
        if issubclass(base, plain):
            return empty
    return 0


def request_of(key, version, values):
    body = made(load_schema(key, version, REQUEST), values)
    return Request(APIS[key], version, 7, "me", "PLAINTEXT", body, "10.0.0.1", ANONYMOUS)

"""The table of the rights that each API needs; a broker does not start if a served API is missing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.broker.server.access import Gate
from barnabas.broker.server.context import Handler
from barnabas.broker.server.gates import groups, topic_admin
from barnabas.broker.server.gates.cluster import (
    OnCluster,
    alter_user_scram_credentials,
    describe_cluster,
    init_producer_id,
    refused_acl_filters,
    refused_acls,
    refused_altered_quotas,
    refused_elections,
    refused_log_dirs,
    refused_moves,
    refused_reassignments,
    refused_with,
)
from barnabas.broker.server.gates.configs import EachResource
from barnabas.broker.server.gates.groups import OneGroup
from barnabas.broker.server.gates.metadata import metadata
from barnabas.broker.server.gates.produce import produce
from barnabas.broker.server.gates.topics import (
    DELETE_RECORDS,
    DESCRIBE_PRODUCERS,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    EachTopic,
)
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.model.acls import AclOperation

_Op = AclOperation

OPEN = frozenset({ApiKey.API_VERSIONS, ApiKey.FETCH, ApiKey.SASL_AUTHENTICATE, ApiKey.SASL_HANDSHAKE})
"""The APIs without a gate: those that need no right, and Fetch, whose handler checks each partition."""

GATES: Mapping[ApiKey, Gate] = MappingProxyType(
    {
        ApiKey.PRODUCE: produce,
        ApiKey.LIST_OFFSETS: EachTopic(_Op.DESCRIBE, LIST_OFFSETS),
        ApiKey.METADATA: metadata,
        ApiKey.OFFSET_COMMIT: groups.offset_commit,
        ApiKey.OFFSET_FETCH: groups.offset_fetch,
        ApiKey.FIND_COORDINATOR: groups.find_coordinator,
        ApiKey.JOIN_GROUP: OneGroup(_Op.READ, groups.refused_join),
        ApiKey.HEARTBEAT: OneGroup(_Op.READ, groups.refused_heartbeat),
        ApiKey.LEAVE_GROUP: OneGroup(_Op.READ, groups.refused_leave),
        ApiKey.SYNC_GROUP: OneGroup(_Op.READ, groups.refused_sync),
        ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
        ApiKey.LIST_GROUPS: groups.list_groups,
        ApiKey.CREATE_TOPICS: topic_admin.create_topics,
        ApiKey.DELETE_TOPICS: topic_admin.delete_topics,
        ApiKey.DELETE_RECORDS: EachTopic(_Op.DELETE, DELETE_RECORDS),
        ApiKey.INIT_PRODUCER_ID: init_producer_id,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: EachTopic(
            _Op.DESCRIBE, OFFSET_FOR_LEADER_EPOCH, or_cluster=_Op.CLUSTER_ACTION
        ),
        ApiKey.DESCRIBE_ACLS: OnCluster(_Op.DESCRIBE, refused_with("DescribeAclsResponse", resources=())),
        ApiKey.CREATE_ACLS: OnCluster(_Op.ALTER, refused_acls),
        ApiKey.DELETE_ACLS: OnCluster(_Op.ALTER, refused_acl_filters),
        ApiKey.DESCRIBE_CONFIGS: EachResource(_Op.DESCRIBE_CONFIGS, ("DescribeConfigsResult", "results")),
        ApiKey.DELETE_GROUPS: groups.delete_groups,
        ApiKey.ELECT_LEADERS: OnCluster(_Op.ALTER, refused_elections),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: OnCluster(_Op.ALTER, refused_reassignments),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: OnCluster(
            _Op.DESCRIBE, refused_with("ListPartitionReassignmentsResponse", topics=())
        ),
        ApiKey.ALTER_CONFIGS: EachResource(_Op.ALTER_CONFIGS, ("AlterConfigsResourceResponse", "responses")),
        ApiKey.CREATE_PARTITIONS: topic_admin.create_partitions,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: EachResource(
            _Op.ALTER_CONFIGS, ("AlterConfigsResourceResponse", "responses")
        ),
        ApiKey.ALTER_REPLICA_LOG_DIRS: OnCluster(_Op.ALTER, refused_moves),
        ApiKey.DESCRIBE_LOG_DIRS: OnCluster(_Op.DESCRIBE, refused_log_dirs),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: OnCluster(
            _Op.DESCRIBE_CONFIGS, refused_with("DescribeClientQuotasResponse", entries=None)
        ),
        ApiKey.ALTER_CLIENT_QUOTAS: OnCluster(_Op.ALTER_CONFIGS, refused_altered_quotas),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: OnCluster(
            _Op.DESCRIBE, refused_with("DescribeUserScramCredentialsResponse", results=())
        ),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
        ApiKey.UPDATE_FEATURES: OnCluster(_Op.ALTER, refused_with("UpdateFeaturesResponse", results=())),
        ApiKey.DESCRIBE_CLUSTER: describe_cluster,
        ApiKey.DESCRIBE_PRODUCERS: EachTopic(_Op.READ, DESCRIBE_PRODUCERS),
        ApiKey.OFFSET_DELETE: groups.offset_delete,
    }
)
"""The gate of each API that needs something."""


def guarded(handlers: Mapping[ApiKey, Handler]) -> Mapping[ApiKey, Handler]:
    """Return handlers that ask the authorizer first.

    Raises:
        KeyError: An API has no gate.
    """
    return MappingProxyType(
        {key: handler if key in OPEN else _behind(GATES[key], handler) for key, handler in handlers.items()}
    )


def _behind(gate: Gate, handler: Handler) -> Handler:
    return lambda context, request: gate(context, request, handler)

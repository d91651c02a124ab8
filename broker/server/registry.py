"""The table of handlers: one for each API that the table of APIs announces, no more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.broker.server.context import Handler
from barnabas.broker.server.handlers import (
    alter_configs,
    alter_partition_reassignments,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    elect_leaders,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from barnabas.broker.wire.apis import ApiKey

HANDLERS: Mapping[ApiKey, Handler] = MappingProxyType(
    {
        ApiKey.PRODUCE: produce.handle,
        ApiKey.FETCH: fetch.handle,
        ApiKey.LIST_OFFSETS: list_offsets.handle,
        ApiKey.METADATA: metadata.handle,
        ApiKey.FIND_COORDINATOR: find_coordinator.handle,
        ApiKey.JOIN_GROUP: join_group.handle,
        ApiKey.API_VERSIONS: api_versions.handle,
        ApiKey.CREATE_TOPICS: create_topics.handle,
        ApiKey.DELETE_TOPICS: delete_topics.handle,
        ApiKey.DELETE_RECORDS: delete_records.handle,
        ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
        ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
        ApiKey.ELECT_LEADERS: elect_leaders.handle,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments.handle,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments.handle,
        ApiKey.ALTER_CONFIGS: alter_configs.handle,
        ApiKey.CREATE_PARTITIONS: create_partitions.handle,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.handle,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    }
)
"""The handler of each served API."""

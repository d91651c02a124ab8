"""Well-formed requests with any number of elements, far more than clients send."""

from __future__ import annotations

import datetime as dt
import importlib
import io
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kio.serial import entity_writer
from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint

from barnabas.bench.clients.hostile_groups import GROUP_REQUESTS
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.guard import MAX_ELEMENTS, MAX_TAGGED_FIELDS
from barnabas.broker.wire.schemas import REQUEST, load_schema

TOPIC = "hostile"
"""The topic of requests with many partitions, few of which need to exist."""

CLIENT_ID = "hostile"

# Two records without a producer id, built by a client library.
_BATCH = bytes.fromhex(
    "000000000000000000000046ffffffff02e7f6ad240000000000010000018bcfe568000000018bcfe56805ffffffffffffffffffffffffffff0000000218000000026b027602026802310e000a0201027700"
)
_PATIENCE = dt.timedelta(seconds=30)
_TOPIC_RESOURCE = 2
_SIZE = struct.Struct(">i")
_STRING_BYTES = 32_767
"""A broker refuses longer strings, so a list in one string has some 5,000 values at most."""


class _Schema:
    """The classes of one API's highest version, by name."""

    def __init__(self, key: ApiKey) -> None:
        self.request = load_schema(key, APIS[key].max_version, REQUEST)
        self._module = importlib.import_module(self.request.__module__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _produce(s: Any, count: int) -> Any:
    data = tuple(s.PartitionProduceData(index=n, records=_BATCH) for n in range(count))
    topic = s.TopicProduceData(name=TOPIC, partition_data=data)
    return s.request(transactional_id=None, acks=1, timeout=_PATIENCE, topic_data=(topic,))


def _fetch(s: Any, count: int) -> Any:
    of_topic = tuple(
        s.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1_000) for n in range(count)
    )
    return s.request(
        max_wait=dt.timedelta(0),
        min_bytes=1,
        max_bytes=1_000_000,
        isolation_level=0,
        topics=(s.FetchTopic(topic=TOPIC, partitions=of_topic),),
        forgotten_topics_data=(),
    )


def _list_offsets(s: Any, count: int) -> Any:
    of_topic = tuple(s.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(count))
    topic = s.ListOffsetsTopic(name=TOPIC, partitions=of_topic)
    return s.request(replica_id=-1, isolation_level=0, topics=(topic,))


def _metadata(s: Any, count: int) -> Any:
    topics = tuple(s.MetadataRequestTopic(name=f"t.{n}", topic_id=None) for n in range(count))
    return s.request(
        topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )


def _create_topics(s: Any, count: int) -> Any:
    topics = tuple(
        s.CreatableTopic(name=f"t.{n}", num_partitions=1, replication_factor=1, assignments=(), configs=())
        for n in range(count)
    )
    return s.request(topics=topics, timeout=_PATIENCE, validate_only=True)


def _delete_topics(s: Any, count: int) -> Any:
    topics = tuple(s.DeleteTopicState(name=f"t.{n}", topic_id=None) for n in range(count))
    return s.request(topics=topics, timeout=_PATIENCE)


def _delete_records(s: Any, count: int) -> Any:
    of_topic = tuple(s.DeleteRecordsPartition(partition_index=n, offset=0) for n in range(count))
    return s.request(topics=(s.DeleteRecordsTopic(name=TOPIC, partitions=of_topic),), timeout=_PATIENCE)


def _offset_for_leader_epoch(s: Any, count: int) -> Any:
    of_topic = tuple(s.OffsetForLeaderPartition(partition=n, leader_epoch=0) for n in range(count))
    return s.request(replica_id=-2, topics=(s.OffsetForLeaderTopic(topic=TOPIC, partitions=of_topic),))


def _describe_configs(s: Any, count: int) -> Any:
    resources = tuple(
        s.DescribeConfigsResource(
            resource_type=_TOPIC_RESOURCE, resource_name=f"t.{n}", configuration_keys=None
        )
        for n in range(count)
    )
    return s.request(resources=resources, include_synonyms=True)


def _elect_leaders(s: Any, count: int) -> Any:
    partitions = (s.TopicPartitions(topic=TOPIC, partitions=tuple(range(count))),)
    return s.request(election_type=0, topic_partitions=partitions, timeout=_PATIENCE)


def _alter_partition_reassignments(s: Any, count: int) -> Any:
    of_topic = tuple(s.ReassignablePartition(partition_index=n, replicas=None) for n in range(count))
    return s.request(timeout=_PATIENCE, topics=(s.ReassignableTopic(name=TOPIC, partitions=of_topic),))


def _list_partition_reassignments(s: Any, count: int) -> Any:
    topic = s.ListPartitionReassignmentsTopics(name=TOPIC, partition_indexes=tuple(range(count)))
    return s.request(timeout=_PATIENCE, topics=(topic,))


def _alter_configs(s: Any, count: int, **operation: int) -> Any:
    config = s.AlterableConfig(name="retention.ms", value="1000000", **operation)
    resources = tuple(
        s.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=f"t.{n}", configs=(config,))
        for n in range(count)
    )
    return s.request(resources=resources, validate_only=True)


def _incremental_alter_configs(s: Any, count: int) -> Any:
    return _alter_configs(s, count, config_operation=0)


def _create_partitions(s: Any, count: int) -> Any:
    topics = tuple(s.CreatePartitionsTopic(name=f"t.{n}", count=2, assignments=None) for n in range(count))
    return s.request(topics=topics, timeout=_PATIENCE, validate_only=True)


def _of_one_topic(s: Any, partitions: int, assignments: tuple[Any, ...]) -> Any:
    topic = s.CreatableTopic(
        name="wide", num_partitions=partitions, replication_factor=-1 if assignments else 1,
        assignments=assignments, configs=(),
    )  # fmt: skip
    return s.request(topics=(topic,), timeout=_PATIENCE, validate_only=True)


def _describe_log_dirs(s: Any, count: int) -> Any:
    partitions = s.DescribableLogDirTopic(topic=TOPIC, partitions=tuple(range(count)))
    return s.request(topics=(partitions,))


def _alter_replica_log_dirs(s: Any, count: int) -> Any:
    topic = s.AlterReplicaLogDirTopic(name=TOPIC, partitions=tuple(range(count)))
    return s.request(dirs=(s.AlterReplicaLogDir(path="/nowhere", topics=(topic,)),))


def _describe_client_quotas(s: Any, count: int) -> Any:
    component = s.ComponentData(entity_type="user", match_type=2, match=None)
    return s.request(components=(component,) * count, strict=False)


def _alter_client_quotas(s: Any, count: int) -> Any:
    count = min(count, MAX_ELEMENTS // 3)  # each entry is three: itself, its entity and its operation
    op = s.OpData(key="producer_byte_rate", value=-1.0, remove=False)
    entries = tuple(
        s.EntryData(entity=(s.EntityData(entity_type="user", entity_name=f"u{n}"),), ops=(op,))
        for n in range(count)
    )
    return s.request(entries=entries, validate_only=True)


def _describe_user_scram_credentials(s: Any, count: int) -> Any:
    return s.request(users=tuple(s.UserName(name=f"u{n}") for n in range(count)))


def _alter_user_scram_credentials(s: Any, count: int) -> Any:
    deletions = tuple(s.ScramCredentialDeletion(name=f"u{n}", mechanism=0) for n in range(count))
    return s.request(deletions=deletions, upsertions=())


def _describe_producers(s: Any, count: int) -> Any:
    return s.request(topics=(s.TopicRequest(name=TOPIC, partition_indexes=tuple(range(count))),))


def _update_features(s: Any, count: int) -> Any:
    updates = tuple(
        s.FeatureUpdateKey(feature=f"f.{n}", max_version_level=1, allow_downgrade=False) for n in range(count)
    )
    return s.request(timeout=_PATIENCE, feature_updates=updates)


def _create_one_topic(s: Any, count: int) -> Any:
    return _of_one_topic(s, count, ())


def _create_one_topic_by_hand(s: Any, count: int) -> Any:
    assigned = (s.CreatableReplicaAssignment(partition_index=n, broker_ids=(1,)) for n in range(count))
    return _of_one_topic(s, -1, tuple(assigned))


def _settings_of_one_topic(s: Any, count: int) -> Any:
    configs = tuple(s.AlterableConfig(name=f"c.{n}", value="1", config_operation=0) for n in range(count))
    resource = s.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=TOPIC, configs=configs)
    return s.request(resources=(resource,), validate_only=True)


def _one_list(s: Any, count: int, operation: int) -> Any:
    values = ",".join(f"{n}:1" for n in range(count))
    if len(values) > _STRING_BYTES:
        values = values[:_STRING_BYTES].rpartition(",")[0]
    name = "leader.replication.throttled.replicas"
    config = s.AlterableConfig(name=name, value=values, config_operation=operation)
    resource = s.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=TOPIC, configs=(config,))
    return s.request(resources=(resource,), validate_only=True)


def _append_to_a_list(s: Any, count: int) -> Any:
    return _one_list(s, count, 2)


def _subtract_from_a_list(s: Any, count: int) -> Any:
    return _one_list(s, count, 3)


def _keys_of_one_topic(s: Any, count: int) -> Any:
    keys = tuple(f"c.{n}" for n in range(count))
    resource = s.DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name=TOPIC, configuration_keys=keys
    )
    return s.request(resources=(resource,), include_synonyms=True)


def _all_topics(s: Any, _count: int) -> Any:
    return _metadata(s, 0)


_ACL_CODES = {"operation": 3, "permission_type": 3}


def _create_acls(s: Any, count: int) -> Any:
    acls = (
        s.AclCreation(
            resource_type=2,
            # Of one resource: 100,000 resources would be as many writes to ZooKeeper, one after the other.
            resource_name=f"{TOPIC}-acls",
            resource_pattern_type=3,
            principal=f"User:{n}",
            host="*",
            **_ACL_CODES,
        )
        for n in range(count)
    )
    return s.request(creations=tuple(acls))


def _delete_acls(s: Any, count: int) -> Any:
    filters = (
        s.DeleteAclsFilter(
            resource_type_filter=2,
            resource_name_filter=f"{TOPIC}-{n}",
            pattern_type_filter=3,
            principal_filter=None,
            host_filter=None,
            **_ACL_CODES,
        )
        for n in range(count)
    )
    return s.request(filters=tuple(filters))


REQUESTS: Mapping[ApiKey, Callable[[Any, int], Any]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _list_partition_reassignments,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: _describe_log_dirs,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_user_scram_credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.UPDATE_FEATURES: _update_features,
    **GROUP_REQUESTS,
}
"""The builders of requests, for each API whose requests have elements."""


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """A kind of request that can have any number of elements.

    Attributes:
        name: The API, and where it is not the obvious array that is large, which part is.
        api: The API.
        build: Builds the body from the API's classes and the number of elements.
        tagged: Whether the elements are unknown tagged fields behind the body.
    """

    name: str
    api: ApiKey
    build: Callable[[Any, int], Any]
    tagged: bool = False


HOSTILE: tuple[HostileRequest, ...] = (
    *(HostileRequest(api.name.lower(), api, build) for api, build in REQUESTS.items()),
    HostileRequest("create_topics: one topic", ApiKey.CREATE_TOPICS, _create_one_topic),
    HostileRequest("create_topics: assigned", ApiKey.CREATE_TOPICS, _create_one_topic_by_hand),
    HostileRequest("describe_configs: keys", ApiKey.DESCRIBE_CONFIGS, _keys_of_one_topic),
    HostileRequest("alter_configs: settings", ApiKey.INCREMENTAL_ALTER_CONFIGS, _settings_of_one_topic),
    HostileRequest("alter_configs: append", ApiKey.INCREMENTAL_ALTER_CONFIGS, _append_to_a_list),
    HostileRequest("alter_configs: subtract", ApiKey.INCREMENTAL_ALTER_CONFIGS, _subtract_from_a_list),
    HostileRequest("metadata: unknown tags", ApiKey.METADATA, _all_topics, tagged=True),
)
"""Every kind of request that the bench sends."""


def hostile_frame(request: HostileRequest, elements: int) -> bytes:
    """Return a request of the API's highest version with ``elements`` elements, with its size in front."""
    body = request.build(_Schema(request.api), elements)
    header = body.__header_schema__(
        request_api_key=request.api,
        request_api_version=body.__version__,
        correlation_id=1,
        client_id=CLIENT_ID,
    )
    written = io.BytesIO()
    for entity in (header, body):
        entity_writer(type(entity))(written, entity)
    if request.tagged:
        _write_unknown_tags(written, elements)
    return _SIZE.pack(len(written.getbuffer())) + written.getvalue()


def _write_unknown_tags(written: io.BytesIO, count: int) -> None:
    """Put empty tagged fields, as many as a broker takes, in the place of the empty tag section."""
    count = min(count, MAX_TAGGED_FIELDS)
    written.seek(-1, io.SEEK_END)
    write_unsigned_varint(written, uvarint(count))
    for tag in range(100, 100 + count):
        write_unsigned_varint(written, uvarint(tag))
        write_unsigned_varint(written, uvarint(0))

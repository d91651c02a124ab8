"""Requests of every API and version, and ways to spoil them, for those who attack a broker."""

from __future__ import annotations

import datetime as dt
import functools
import io
import math
import struct

import crc32c
from kio.serial import entity_writer

from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.schemas import REQUEST, load_payload_module, load_schema

LAST = 0x7A57_1357
"""The correlation id of a request that every broker answers."""

TOPIC = "orders"
PASSING = "passing"
"""Another topic, which comes and goes."""

# Two records without a producer id, built by a client library (KIP-98).
BATCH = bytes.fromhex(
    "000000000000000000000046ffffffff02e7f6ad240000000000010000018bcfe568000000018bcfe56805"
    "ffffffffffffffffffffffffffff0000000218000000026b027602026802310e000a0201027700"
)
LAST_API_VERSIONS = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, LAST, -1)

NO_TIME = dt.timedelta(0)


@functools.cache
def schema(key, version):
    """The classes of one request version by name."""
    return Schema(key, version)


class Schema:
    """The classes of one request version by name."""

    def __init__(self, key, version):
        self.version = version
        self.request = load_schema(key, version, REQUEST)
        self._module = load_payload_module(key, version, REQUEST)

    def __getattr__(self, name):
        return getattr(self._module, name)

    def since(self, version, **fields):
        return fields if self.version >= version else {}


def produce(s, rng):
    batch = bytearray(BATCH)
    if rng.random() < 0.7:  # a batch that is wrong inside and yet has the right checksum
        for _ in range(rng.randint(1, 3)):
            batch[rng.randrange(8, len(batch))] = rng.randrange(256)
        batch[17:21] = struct.pack(">I", crc32c.crc32c(bytes(batch[21:])))
    data = s.PartitionProduceData(index=0, records=bytes(batch))
    topic = s.TopicProduceData(name=TOPIC, partition_data=(data,))
    return s.request(transactional_id=None, acks=rng.choice((-1, 0, 1)), timeout=NO_TIME, topic_data=(topic,))


def fetch(s, _rng):
    partition = s.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    return s.request(
        max_wait=NO_TIME,
        min_bytes=1,
        max_bytes=1000,
        isolation_level=0,
        topics=(s.FetchTopic(topic=TOPIC, partitions=(partition,)),),
        **s.since(7, forgotten_topics_data=()),
    )


def list_offsets(s, rng):
    old = {"max_num_offsets": rng.choice((-1, 1, 2**31 - 1))} if s.version == 0 else {}
    time = rng.choice((-3, -1, -2, 1_700_000_000_000))
    partition = s.ListOffsetsPartition(partition_index=0, timestamp=time, **old)
    return s.request(
        replica_id=-1,
        topics=(s.ListOffsetsTopic(name=TOPIC, partitions=(partition,)),),
        **s.since(2, isolation_level=0),
    )


def metadata(s, _rng):
    operations = s.since(8, include_topic_authorized_operations=False)
    if s.version in {8, 9, 10}:
        operations["include_cluster_authorized_operations"] = False
    topic = s.MetadataRequestTopic(name=TOPIC, **s.since(10, topic_id=None))
    return s.request(topics=(topic,), **operations)


def api_versions(s, _rng):
    return s.request(**s.since(3, client_software_name="hostile", client_software_version="1"))


def create_topics(s, rng):
    name = rng.choice((TOPIC, PASSING))
    topic = s.CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
    return s.request(topics=(topic,), timeout=NO_TIME, **s.since(1, validate_only=False))


def find_coordinator(s, rng):
    return s.request(key="g", **s.since(1, key_type=rng.randint(0, 1)))


def join_group(s, _rng):
    protocol = s.JoinGroupRequestProtocol(name="range", metadata=b"")
    return s.request(
        group_id="g",
        session_timeout=NO_TIME,
        member_id="",
        protocol_type="consumer",
        protocols=(protocol,),
        **s.since(1, rebalance_timeout=NO_TIME),
    )


def member(s, instance_since):
    """The sender of a request that members send."""
    return {"group_id": "g", "member_id": "m", **s.since(instance_since, group_instance_id=None)}


def sync_group(s, _rng):
    assignment = s.SyncGroupRequestAssignment(member_id="m", assignment=b"")
    names = s.since(5, protocol_type="consumer", protocol_name="range")
    return s.request(generation_id=1, assignments=(assignment,), **member(s, 3), **names)


def heartbeat(s, _rng):
    return s.request(generation_id=1, **member(s, 3))


def leave_group(s, _rng):
    if s.version < 3:
        return s.request(group_id="g", member_id="m")
    return s.request(group_id="g", members=(s.MemberIdentity(member_id="m", group_instance_id=None),))


def offset_commit(s, rng):
    partition = s.OffsetCommitRequestPartition(
        partition_index=0,
        committed_offset=rng.randint(0, 9),
        committed_metadata="",
        **({"commit_timestamp": 1} if s.version == 1 else {}),
    )
    topic = s.OffsetCommitRequestTopic(name=TOPIC, partitions=(partition,))
    if s.version == 0:
        return s.request(group_id="g", topics=(topic,))
    generation = {"generation_id_or_member_epoch": rng.choice((-1, 1))}
    return s.request(topics=(topic,), **generation, **member(s, 7))


def offset_fetch(s, rng):
    topic = s.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=(0, 1))
    everything = s.version >= 2 and rng.random() < 0.5
    return s.request(group_id="g", topics=None if everything else (topic,), **s.since(7, require_stable=True))


def describe_groups(s, _rng):
    return s.request(groups=("g", "h"), **s.since(3, include_authorized_operations=True))


def list_groups(s, _rng):
    return s.request(**s.since(4, states_filter=("Stable", "Empty")))


def delete_groups(s, _rng):
    return s.request(groups_names=("g", "h"))


def offset_delete(s, _rng):
    partition = s.OffsetDeleteRequestPartition(partition_index=0)
    return s.request(group_id="g", topics=(s.OffsetDeleteRequestTopic(name=TOPIC, partitions=(partition,)),))


def init_producer_id(s, _rng):
    return s.request(transactional_id=None, transaction_timeout=NO_TIME)


def offset_for_leader_epoch(s, _rng):
    partition = s.OffsetForLeaderPartition(partition=0, leader_epoch=0, **s.since(2, current_leader_epoch=0))
    return s.request(topics=(s.OffsetForLeaderTopic(topic=TOPIC, partitions=(partition,)),))


def describe_configs(s, rng):
    kinds_and_names = [(2, TOPIC), (4, "1"), (4, ""), (8, "1")]
    resources = tuple(
        s.DescribeConfigsResource(
            resource_type=kind,
            resource_name=name,
            configuration_keys=rng.choice((None, (), ("retention.ms", "broker.id"))),
        )
        for kind, name in rng.sample(kinds_and_names, rng.randint(1, 4))
    )
    return s.request(resources=resources, **s.since(1, include_synonyms=rng.random() < 0.5))


def delete_topics(s, _rng):
    if s.version < 6:
        return s.request(topic_names=(PASSING,), timeout=NO_TIME)
    return s.request(topics=(s.DeleteTopicState(name=PASSING, topic_id=None),), timeout=NO_TIME)


def create_partitions(s, rng):
    by_hand = (s.CreatePartitionsAssignment(broker_ids=(1,)),)
    topic = s.CreatePartitionsTopic(name=PASSING, count=2, assignments=rng.choice((None, by_hand)))
    return s.request(topics=(topic,), timeout=NO_TIME, validate_only=rng.random() < 0.5)


def elect_leaders(s, rng):
    partitions = (s.TopicPartitions(topic=TOPIC, partitions=(0,)),)
    return s.request(
        topic_partitions=rng.choice((None, partitions)),
        timeout=NO_TIME,
        **s.since(1, election_type=rng.randint(0, 1)),
    )


def alter_partition_reassignments(s, rng):
    partition = s.ReassignablePartition(partition_index=0, replicas=rng.choice((None, (1,), (1, 2))))
    return s.request(timeout=NO_TIME, topics=(s.ReassignableTopic(name=TOPIC, partitions=(partition,)),))


def list_partition_reassignments(s, rng):
    some = (s.ListPartitionReassignmentsTopics(name=TOPIC, partition_indexes=(0,)),)
    return s.request(timeout=NO_TIME, topics=rng.choice((None, some)))


def configs(s, rng, **operation):
    kind, name = rng.choice(((2, PASSING), (4, "1"), (4, "")))
    config = s.AlterableConfig(name="retention.ms", value=rng.choice((None, "1000000")), **operation)
    resource = s.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(config,))
    return s.request(resources=(resource,), validate_only=rng.random() < 0.5)


def incremental_alter_configs(s, rng):
    return configs(s, rng, config_operation=rng.randint(0, 3))


def delete_records(s, rng):
    partition = s.DeleteRecordsPartition(partition_index=0, offset=rng.choice((-1, 0, 1, 1000)))
    return s.request(topics=(s.DeleteRecordsTopic(name=TOPIC, partitions=(partition,)),), timeout=NO_TIME)


def describe_log_dirs(s, rng):
    some = (s.DescribableLogDirTopic(topic=TOPIC, partitions=(0, -1)),)
    return s.request(topics=rng.choice((None, (), some)))


def alter_replica_log_dirs(s, rng):
    topic = s.AlterReplicaLogDirTopic(name=rng.choice((TOPIC, "", "a/../b")), partitions=(0, -1, 2**31 - 1))
    path = rng.choice(("", "/", "a\0b", "/tmp"))
    return s.request(dirs=rng.choice(((), (s.AlterReplicaLogDir(path=path, topics=(topic, topic)),))))


def describe_cluster(s, rng):
    return s.request(include_cluster_authorized_operations=rng.random() < 0.5)


def describe_producers(s, rng):
    topic = s.TopicRequest(name=rng.choice((TOPIC, PASSING, "a/../b")), partition_indexes=(0, 0, -1))
    return s.request(topics=(topic, topic))


def update_features(s, rng):
    level = rng.choice((-1, 0, 2**15 - 1))
    update = s.FeatureUpdateKey(feature="", max_version_level=level, allow_downgrade=rng.random() < 0.5)
    return s.request(timeout=NO_TIME, feature_updates=rng.choice(((), (update, update))))


def describe_client_quotas(s, rng):
    kind = rng.choice(("user", "client-id", "ip", "what", ""))
    component = s.ComponentData(
        entity_type=kind, match_type=rng.randint(-1, 3), match=rng.choice((None, "a"))
    )
    return s.request(components=rng.choice(((), (component,))), strict=rng.random() < 0.5)


def alter_client_quotas(s, rng):
    kind, name = rng.choice((("user", "a/../b"), ("client-id", ""), ("ip", None), ("what", "x")))
    key = rng.choice(("producer_byte_rate", "connection_creation_rate", "what"))
    op = s.OpData(key=key, value=rng.choice((1e9, -1.0, math.nan, math.inf)), remove=rng.random() < 0.5)
    entry = s.EntryData(entity=(s.EntityData(entity_type=kind, entity_name=name),), ops=(op,))
    return s.request(entries=(entry,), validate_only=True)


def sasl_handshake(s, rng):
    return s.request(mechanism=rng.choice(("PLAIN", "SCRAM-SHA-256", "", "x" * 300)))


def sasl_authenticate(s, rng):
    return s.request(auth_bytes=rng.choice((b"", b"\0a\0b", b"n,,n=a,r=b", b"\xff" * 3000)))


def describe_user_scram_credentials(s, rng):
    user = s.UserName(name=rng.choice(("", "a", "a/../b")))
    return s.request(users=rng.choice((None, (), (user,), (user, user))))


def alter_user_scram_credentials(s, rng):
    name, mechanism = rng.choice(("", "a", "a/../b")), rng.randint(-1, 3)
    deletion = s.ScramCredentialDeletion(name=name, mechanism=mechanism)
    iterations = rng.choice((-1, 4095, 16385))
    upsertion = s.ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"", salted_password=b""
    )
    return s.request(deletions=rng.choice(((), (deletion,))), upsertions=rng.choice(((), (upsertion,))))


def acl_codes(rng):
    return {"operation": rng.randint(1, 12), "permission_type": rng.randint(1, 3)}


def acl_filter(version, rng):
    more = {"pattern_type_filter": rng.randint(1, 4)} if version else {}
    return more | {
        "resource_type_filter": rng.randint(1, 6),
        "resource_name_filter": rng.choice((None, "", "a/../b", "hostile")),
        "principal_filter": rng.choice((None, "User:*", "x")),
        "host_filter": rng.choice((None, "*", "::1")),
        **acl_codes(rng),
    }


def describe_acls(s, rng):
    return s.request(**acl_filter(s.request.__version__, rng))


def create_acls(s, rng):
    more = {"resource_pattern_type": rng.randint(1, 4)} if s.request.__version__ else {}
    acl = s.AclCreation(
        resource_type=rng.randint(1, 6),
        resource_name=rng.choice(("", "a/../b", "*", "kafka-cluster")),
        principal=rng.choice(("User:a", "alice", ":")),
        host="*",
        **more,
        **acl_codes(rng),
    )
    return s.request(creations=(acl,) * rng.randint(0, 3))


def delete_acls(s, rng):
    return s.request(filters=(s.DeleteAclsFilter(**acl_filter(s.request.__version__, rng)),))


REQUESTS = {
    ApiKey.PRODUCE: produce,
    ApiKey.FETCH: fetch,
    ApiKey.LIST_OFFSETS: list_offsets,
    ApiKey.METADATA: metadata,
    ApiKey.FIND_COORDINATOR: find_coordinator,
    ApiKey.JOIN_GROUP: join_group,
    ApiKey.SYNC_GROUP: sync_group,
    ApiKey.HEARTBEAT: heartbeat,
    ApiKey.LEAVE_GROUP: leave_group,
    ApiKey.OFFSET_COMMIT: offset_commit,
    ApiKey.OFFSET_FETCH: offset_fetch,
    ApiKey.DESCRIBE_GROUPS: describe_groups,
    ApiKey.LIST_GROUPS: list_groups,
    ApiKey.DELETE_GROUPS: delete_groups,
    ApiKey.OFFSET_DELETE: offset_delete,
    ApiKey.API_VERSIONS: api_versions,
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.INIT_PRODUCER_ID: init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
    ApiKey.DESCRIBE_ACLS: describe_acls,
    ApiKey.CREATE_ACLS: create_acls,
    ApiKey.DELETE_ACLS: delete_acls,
    ApiKey.DESCRIBE_CONFIGS: describe_configs,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.DELETE_RECORDS: delete_records,
    ApiKey.CREATE_PARTITIONS: create_partitions,
    ApiKey.ELECT_LEADERS: elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
    ApiKey.ALTER_CONFIGS: configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: describe_producers,
    ApiKey.UPDATE_FEATURES: update_features,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    ApiKey.SASL_HANDSHAKE: sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: sasl_authenticate,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
}


def well_formed(rng):
    """A request of a random API and version, as bytes without size."""
    api = rng.choice(list(APIS.values()))
    version = rng.randint(api.min_version, api.max_version)
    body = REQUESTS[api.key](schema(api.key, version), rng)
    header = body.__header_schema__(
        request_api_key=api.key, request_api_version=version, correlation_id=1, client_id="hostile"
    )
    out = io.BytesIO()
    entity_writer(type(header))(out, header)
    entity_writer(type(body))(out, body)
    return out.getvalue()


def mutated(rng, frame):
    changed = bytearray(frame)
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1:
                changed[at:at] = rng.randbytes(rng.randint(1, 5))
            case 2:
                del changed[at : at + rng.randint(1, 5)]
            case 3:
                changed[at : at + 5] = rng.choice((b"\xff\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\xff" * 5))
            case 4:
                changed[at : at + 4] = struct.pack(">i", rng.choice((-1, -2, 2**31 - 1, -(2**31))))
    return bytes(changed)


def sized(frame):
    return struct.pack(">i", len(frame)) + frame

from __future__ import annotations

import pytest

from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.schemas import REQUEST, RESPONSE, load_schema

RELEASE_2_8 = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 8,  # two more than in 2.8
    ApiKey.METADATA: 11,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 7,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 4,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 4,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.API_VERSIONS: 3,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.DESCRIBE_ACLS: 2,
    ApiKey.CREATE_ACLS: 2,
    ApiKey.DELETE_ACLS: 2,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 2,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.UPDATE_FEATURES: 0,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_CLUSTER: 1,  # one more than in 2.8
}


def test_the_highest_versions_are_those_of_release_2_8():
    assert {key: api.max_version for key, api in APIS.items()} == RELEASE_2_8


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_every_served_version_can_be_read_and_answered(api):
    for version in range(api.min_version, api.max_version + 1):
        assert api.serves(version)
        load_schema(api.key, version, REQUEST)
        load_schema(api.key, version, RESPONSE)
    assert not api.serves(api.min_version - 1)
    assert not api.serves(api.max_version + 1)


def test_produce_is_announced_from_0_and_refused_below_3():
    produce = APIS[ApiKey.PRODUCE]
    assert produce.announced_min == 0
    assert not produce.serves(2)
    assert produce.serves(3)


def test_only_produce_is_pipelined_and_announced_below_what_is_served():
    others = [api for api in APIS.values() if api.key is not ApiKey.PRODUCE]
    assert all(api.announced_min == api.min_version and not api.pipelined for api in others)
